// SPDX-License-Identifier: Apache-2.0

#include "engine/plan/profile.h"

#include <algorithm>
#include <utility>

#include "engine/graph/multiply_adds.h"

namespace halyard::engine {
namespace {

DataType typeOf(const Graph& graph, const Node& node) {
    for (const std::vector<TensorId>* ids : {&node.inputs, &node.outputs}) {
        for (const TensorId id : *ids) {
            if (id != kNoTensor) {
                return graph.tensor(id).type.type;
            }
        }
    }
    return DataType::FLOAT32;
}

std::chrono::nanoseconds medianOf(std::vector<std::chrono::nanoseconds> times) {
    if (times.empty()) {
        return {};
    }
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::ranges::nth_element(times, middle);
    if (times.size() % 2 == 1) {
        return *middle;
    }
    return (*middle + *std::max_element(times.begin(), middle)) / 2;
}

}  // namespace

Profile::Profile(std::shared_ptr<const Program> program) : mProgram(std::move(program)) {
    mProgram->forEachNode([&](const Graph& graph, const Node& node, size_t placement) {
        mKnown.emplace(&node, KnownNode{.placement = placement,
                                        .type = typeOf(graph, node),
                                        .multiplyAdds = multiplyAdds(graph, node)});
    });
}

void Profile::Times::endRun() {
    runs.push_back(std::exchange(inThisRun, {}));
}

std::chrono::nanoseconds Profile::Times::median() const {
    return medianOf(runs);
}

void Profile::recordCopy(const Trace& trace) {
    auto line = std::ranges::find_if(
            mCopies, [&](const CopyLine& known) { return known.profile.name == trace.name; });
    if (line == mCopies.end()) {
        mCopies.emplace_back().profile.name = trace.name;
        line = mCopies.end() - 1;
        line->times.runs.resize(mRuns);
    }
    line->times.inThisRun += trace.time;
    ++line->profile.count;
    line->profile.bytes += trace.bytes;
}

void Profile::record(const Trace& trace) {
    if (trace.kind == Trace::Kind::COPY) {
        recordCopy(trace);
        return;
    }
    const auto known = mKnown.find(trace.node);
    if (known == mKnown.end()) {
        return;
    }
    const auto [found, isNew] = mLineOf.try_emplace(trace.node, mLines.size());
    if (isNew) {
        Line& line = mLines.emplace_back();
        line.profile.placement = {known->second.placement};
        line.profile.kernel = trace.name;
        line.profile.type = known->second.type;
        // It may have come first in a later run.
        line.times.runs.resize(mRuns);
        line.deviceTimes.runs.resize(mRuns);
    }
    Line& line = mLines[found->second];
    line.times.inThisRun += trace.time;
    line.deviceTimes.inThisRun += trace.deviceTime;
    line.profile.bytes += trace.bytes;
    line.profile.multiplyAdds += known->second.multiplyAdds;
    for (const Node* node : trace.fused) {
        const auto other = mKnown.find(node);
        if (other == mKnown.end()) {
            continue;
        }
        line.profile.multiplyAdds += other->second.multiplyAdds;
        if (isNew) {
            line.profile.placement.push_back(other->second.placement);
        }
    }
}

void Profile::endRun() {
    ++mRuns;
    for (Line& line : mLines) {
        line.times.endRun();
        line.deviceTimes.endRun();
    }
    for (CopyLine& line : mCopies) {
        line.times.endRun();
    }
}

std::vector<NodeProfile> Profile::nodes() const {
    std::vector<NodeProfile> nodes;
    for (const Line& line : mLines) {
        NodeProfile& node = nodes.emplace_back(line.profile);
        node.medianTime = line.times.median();
        node.medianDeviceTime = line.deviceTimes.median();
        node.bytes /= std::max<size_t>(mRuns, 1);
        node.multiplyAdds /= std::max<size_t>(mRuns, 1);
    }
    return nodes;
}

std::vector<CopyProfile> Profile::copies() const {
    std::vector<CopyProfile> copies;
    for (const CopyLine& line : mCopies) {
        CopyProfile& copy = copies.emplace_back(line.profile);
        copy.medianTime = line.times.median();
        copy.count /= std::max<size_t>(mRuns, 1);
        copy.bytes /= std::max<size_t>(mRuns, 1);
    }
    return copies;
}

}  // namespace halyard::engine
