// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/tuning/tuner.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/backends/gpu/tuning/measuring.h"
#include "engine/base/log.h"
#include "engine/numerics/fingerprint.h"

namespace halyard::engine::gpu {
namespace {

std::string blobOf(std::string_view key) {
    return "tuned/" + std::to_string(fingerprint64(std::as_bytes(std::span(key))));
}

std::optional<size_t> named(std::string_view name, std::span<const Variant> variants) {
    const auto found = std::ranges::find(variants, name, &Variant::name);
    return found == variants.end() ? std::nullopt : std::optional<size_t>(found - variants.begin());
}

}  // namespace

// The key, ended by a zero, and the name: of an identity that the planner has looked at.
std::optional<size_t> Tuner::kept(const std::string& key, std::span<const Variant> variants) const {
    const std::optional<Blob> blob = mAround.blobs.get(blobOf(key));
    if (!blob.has_value()) {
        return std::nullopt;
    }
    const std::string_view bytes(reinterpret_cast<const char*>(blob->bytes.data()),
                                 blob->bytes.size());
    const size_t end = bytes.find('\0');
    return end == std::string_view::npos || bytes.substr(0, end) != key
                   ? std::nullopt
                   : named(bytes.substr(end + 1), variants);
}

Status Tuner::keep(const std::string& key, const std::string& name) const {
    std::vector<uint8_t> bytes(key.begin(), key.end());
    bytes.push_back(0);
    bytes.insert(bytes.end(), name.begin(), name.end());
    return mAround.blobs.put(blobOf(key), bytes);
}

Result<size_t> Tuner::choose(const StepPlan::Environment& environment, size_t step,
                             std::string_view text, std::span<const Variant> variants) const {
    Tuning& tuning = mAround.tuning;
    if (tuning.always().has_value()) {
        return std::min(*tuning.always(), variants.size() - 1);
    }
    const std::string key = Tuning::keyOf(text);
    // Not recorded: it comes from a file of a client's, and the tuning is for all.
    if (const std::optional<size_t> known = kept(key, variants); known.has_value()) {
        return *known;
    }
    const auto tuned = [&]() -> std::optional<size_t> {
        const std::optional<std::string> name = tuning.find(key);
        return name.has_value() ? named(*name, variants) : std::nullopt;
    };
    std::optional<size_t> best = tuned();
    const size_t count = tuning.measuredOf(variants.size());
    if (!best.has_value() && count > 1) {
        HALYARD_ASSIGN_OR_RETURN(const auto alone, tuning.startMeasuring(mAround.checkpoint));
        // Another thread may have measured this meanwhile.
        best = tuned();
        if (!best.has_value()) {
            HALYARD_ASSIGN_OR_RETURN(best, measure(environment, step, key, variants.first(count)));
        }
    }
    if (!best.has_value()) {
        return size_t{0};
    }
    HALYARD_RETURN_IF_ERROR(keep(key, variants[*best].name));
    return *best;
}

Result<std::optional<size_t>> Tuner::measure(const StepPlan::Environment& environment, size_t step,
                                             const std::string& key,
                                             std::span<const Variant> variants) const {
    Measuring measuring({.device = mAround.device,
                         .memory = mAround.memory,
                         .deviceMemory = mAround.deviceMemory,
                         .constant = mAround.constant,
                         .checkpoint = mAround.checkpoint},
                        environment, step);
    const std::vector<Result<RunTime>> times = measuring.time(variants);
    HALYARD_RETURN_IF_ERROR(mAround.checkpoint.check("while kernels were measured"));
    std::optional<size_t> best;
    for (size_t i = 0; i < variants.size(); ++i) {
        if (!times[i].ok()) {
            warn(variants[i], times[i].status());
            continue;
        }
        if (logEnabled(LogLevel::VERBOSE)) {
            log(LogLevel::VERBOSE, "GpuAcc measured " + variants[i].name + " for " + key + ": " +
                                           times[i]->toString());
        }
        if (!best.has_value() || times[i]->isLessThan(*times[*best])) {
            best = i;
        }
    }
    if (!best.has_value()) {
        // Memory may be short for what is measured, and enough for what runs.
        const Status& first = times.front().status();
        return first.code() == StatusCode::RESOURCE_EXHAUSTED
                       ? Result<std::optional<size_t>>(std::nullopt)
                       : first;
    }
    mAround.tuning.record(key, variants[*best].name);
    if (logEnabled(LogLevel::VERBOSE)) {
        log(LogLevel::VERBOSE,
            "GpuAcc tuned " + key + ": " + variants[*best].name + ", " + times[*best]->toString());
    }
    return best;
}

bool Tuner::forgives(const Variant& variant, const Status& failure) const {
    if (mAround.tuning.always().has_value() || mAround.checkpoint.expired()) {
        return false;
    }
    warn(variant, failure);
    return true;
}

void Tuner::warn(const Variant& variant, const Status& failure) const {
    // The compiler's words may name a file of the day; the kernel stands before them.
    const std::string_view why = failure.message();
    std::string subject = variant.name + ": ";
    subject.append(why.substr(0, why.find(':')));
    std::string line = "GpuAcc does without the variant " + variant.name + ": ";
    mAround.tuning.warnOnce(subject, line.append(why));
}

}  // namespace halyard::engine::gpu
