// SPDX-License-Identifier: Apache-2.0
//
// Profile: what each node of a program takes, over several runs.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/plan/backend.h"
#include "engine/plan/program.h"

namespace halyard::engine {

// One node, or several that a kernel computes together.
struct NodeProfile {
    std::vector<size_t> placement;  // their indices in Program::placement(), that of the kernel's
                                    // first node first
    std::string_view kernel;
    DataType type = DataType::FLOAT32;       // of the first input, or output where there is none
    std::chrono::nanoseconds medianTime{0};  // per run; a node in a While may run often in one
    uint64_t bytes = 0;                      // of inputs, constants included, and outputs, per run
    uint64_t multiplyAdds = 0;               // per run
};

// Give it to the runs of one execution after the other, and say when each ended. One thread.
class Profile : public TraceSink {
  public:
    explicit Profile(std::shared_ptr<const Program> program);

    void record(const NodeTrace& trace) override;
    // What was recorded since the last end is one run.
    void endRun();
    // Of the nodes that ran, in the order in which they first did.
    std::vector<NodeProfile> nodes() const;

  private:
    struct KnownNode {
        size_t placement = 0;
        DataType type = DataType::FLOAT32;
        uint64_t multiplyAdds = 0;
    };
    struct Line {
        NodeProfile profile;  // with totals in place of what is per run
        std::chrono::nanoseconds inThisRun{0};
        std::vector<std::chrono::nanoseconds> runs;
    };

    const std::shared_ptr<const Program> mProgram;  // whose nodes the traces name
    std::unordered_map<const Node*, KnownNode> mKnown;
    std::unordered_map<const Node*, size_t> mLineOf;
    std::vector<Line> mLines;
    size_t mRuns = 0;
};

}  // namespace halyard::engine
