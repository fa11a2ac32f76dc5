// SPDX-License-Identifier: Apache-2.0
//
// Profile: what each node of a program takes, over several runs, and each copy to and from devices.

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
    std::chrono::nanoseconds medianDeviceTime{0};  // of it, as a device tells; 0: none does
    uint64_t bytes = 0;         // of inputs, constants included, and outputs, per run
    uint64_t multiplyAdds = 0;  // per run
};

// All that goes the same way.
struct CopyProfile {
    std::string_view name;                   // "to Mali", "from Mali"
    std::chrono::nanoseconds medianTime{0};  // per run, as are the next two
    uint64_t count = 0;
    uint64_t bytes = 0;
};

// Give it to the runs of one execution after the other, and say when each ended. One thread.
class Profile : public TraceSink {
  public:
    explicit Profile(std::shared_ptr<const Program> program);

    void record(const Trace& trace) override;
    // Ends a run: all that was recorded since the last end.
    void endRun();
    // Of the nodes that ran, in the order in which they first did.
    std::vector<NodeProfile> nodes() const;
    std::vector<CopyProfile> copies() const;

  private:
    struct KnownNode {
        size_t placement = 0;
        DataType type = DataType::FLOAT32;
        uint64_t multiplyAdds = 0;
    };
    // The times of each run.
    struct Times {
        std::chrono::nanoseconds inThisRun{0};
        std::vector<std::chrono::nanoseconds> runs;

        void endRun();
        std::chrono::nanoseconds median() const;
    };
    // With totals in place of what is per run.
    struct Line {
        NodeProfile profile;
        Times times;
        Times deviceTimes;
    };
    struct CopyLine {
        CopyProfile profile;
        Times times;
    };

    void recordCopy(const Trace& trace);

    const std::shared_ptr<const Program> mProgram;  // whose nodes the traces name
    std::unordered_map<const Node*, KnownNode> mKnown;
    std::unordered_map<const Node*, size_t> mLineOf;
    std::vector<Line> mLines;
    std::vector<CopyLine> mCopies;
    size_t mRuns = 0;
};

}  // namespace halyard::engine
