// SPDX-License-Identifier: Apache-2.0

#include "engine/plan/trace_file.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>

#include "engine/base/json_text.h"

namespace halyard::engine {
namespace {

constexpr std::string_view kAroundTrack = "driver";

// With all three decimals: a nanosecond.
std::string microseconds(std::chrono::nanoseconds time) {
    std::array<char, 32> text = {};
    const int64_t count = time.count();
    std::snprintf(text.data(), text.size(), "%lld.%03d", static_cast<long long>(count / 1000),
                  static_cast<int>(count % 1000));
    return text.data();
}

std::string_view categoryOf(Trace::Kind kind) {
    switch (kind) {
        case Trace::Kind::PARTITION:
            return "partition";
        case Trace::Kind::COPY:
            return "copy";
        default:
            return "node";
    }
}

std::string argumentsOf(const Trace& work) {
    std::string text = R"("bytes":)" + std::to_string(work.bytes);
    text += R"(,"kernel":)" + jsonString(work.name);
    if (work.deviceTime.count() > 0) {
        text += R"(,"device_us":)" + microseconds(work.deviceTime);
    }
    if (work.node != nullptr) {
        text += R"(,"node":)" + jsonString(work.node->label);
        text += R"(,"kind":)" + jsonString(toString(work.node->kind()));
        std::string fused;
        for (const Node* node : work.fused) {
            fused.append(fused.empty() ? "" : ",").append(jsonString(node->label));
        }
        text += R"(,"fused":[)" + fused + "]";
    }
    return "{" + text + "}";
}

size_t trackOf(std::string_view name, std::vector<std::string_view>& tracks) {
    const auto found = std::ranges::find(tracks, name);
    const auto track = static_cast<size_t>(found - tracks.begin());
    if (found == tracks.end()) {
        tracks.push_back(name);
    }
    return track;
}

}  // namespace

std::string TraceFile::text(const Place& place) const {
    std::chrono::steady_clock::time_point first = std::chrono::steady_clock::time_point::max();
    for (const Trace& work : mWork) {
        first = std::min(first, work.begin);
    }
    for (const Around& around : mAround) {
        first = std::min(first, around.begin);
    }
    std::vector<std::string_view> tracks;
    std::string events;
    const auto add = [&](std::string_view track, std::string_view category, std::string_view name,
                         std::chrono::steady_clock::time_point begin, std::chrono::nanoseconds time,
                         std::string_view arguments) {
        events += events.empty() ? "\n" : ",\n";
        events += R"({"ph":"X","pid":1,"tid":)" + std::to_string(trackOf(track, tracks));
        events += R"(,"cat":)" + jsonString(category);
        events += R"(,"name":)" + jsonString(name);
        events += R"(,"ts":)" + microseconds(begin - first);
        events += R"(,"dur":)" + microseconds(time);
        events += R"(,"args":)" + std::string(arguments) + "}";
    };
    for (const Around& around : mAround) {
        add(kAroundTrack, "driver", around.name, around.begin, around.time, "{}");
    }
    for (const Trace& work : mWork) {
        add(work.track, categoryOf(work.kind),
            mNameOf == nullptr ? std::string(work.name) : mNameOf(work), work.begin, work.time,
            argumentsOf(work));
    }
    for (size_t i = 0; i < tracks.size(); ++i) {
        events += R"(,
{"ph":"M","pid":1,"tid":)" +
                  std::to_string(i) + R"(,"name":"thread_name","args":{"name":)" +
                  jsonString(tracks[i]) + "}}";
    }
    const int64_t begin = mWork.empty() && mAround.empty()
                                  ? 0
                                  : std::chrono::nanoseconds(first.time_since_epoch()).count();
    return R"({"displayTimeUnit":"ns","otherData":{"left_out":)" + std::to_string(mLeftOut) +
           R"(,"begin_ns":)" + std::to_string(begin) + R"(,"pid":)" +
           std::to_string(place.process) + R"(,"tid":)" + std::to_string(place.thread) +
           R"(},"traceEvents":[)" + events + "\n]}\n";
}

}  // namespace halyard::engine
