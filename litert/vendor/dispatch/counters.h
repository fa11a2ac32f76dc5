// SPDX-License-Identifier: Apache-2.0
//
// Counters: what invocations have done, of one and of all in the process.

#pragma once

#include <atomic>
#include <cstdint>

namespace halyard::vendor {

// As halyard_litert_dispatch_counts() gives them, in this order.
struct ProcessCounts {
    std::atomic<uint64_t> contexts = 0;            // that were created
    std::atomic<uint64_t> liveContexts = 0;        // and not destroyed yet
    std::atomic<uint64_t> operators = 0;           // of the model, in those that were created
    std::atomic<uint64_t> runs = 0;                // that succeeded
    std::atomic<uint64_t> copiedBytes = 0;         // of inputs and outputs
    std::atomic<uint64_t> packedConstants = 0;     // as models were loaded or compiled
    std::atomic<uint64_t> compiledWhenLoaded = 0;  // contexts
    std::atomic<uint64_t> mappedContexts = 0;      // whose bytecode is used where it lies in a file
};

struct RunCounts {
    uint64_t runs = 0;
    uint64_t failedRuns = 0;
    uint64_t nanoseconds = 0;
    uint64_t copiedBytes = 0;

    RunCounts operator-(const RunCounts& other) const {
        return {.runs = runs - other.runs,
                .failedRuns = failedRuns - other.failedRuns,
                .nanoseconds = nanoseconds - other.nanoseconds,
                .copiedBytes = copiedBytes - other.copiedBytes};
    }
};

}  // namespace halyard::vendor
