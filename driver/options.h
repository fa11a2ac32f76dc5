// SPDX-License-Identifier: Apache-2.0
//
// What a driver is started with. Parsed once (by the service or the runner) and passed down.

#pragma once

#include <cstddef>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "driver/model/codes.h"
#include "engine/base/status.h"

namespace halyard::driver {

struct Options {
    // -c: in order of preference. CpuRef is added at the end unless it is there.
    std::vector<std::string> backends = {"CpuAcc", "GpuAcc"};
    // -u: operations the device denies; for experiments and for working round defects.
    std::set<OperationType> unsupportedOperations;
    // --number-of-threads: 1–64; 0: one per core.
    size_t threads = 0;
    // --max-memory: what all executions together may take, in MiB, with the models' constants that
    // are copied; 0: half of the machine's memory.
    size_t maxMemoryMib = 0;
    // -d: a folder that receives the inputs and outputs of every request; empty: none.
    std::string dumpDirectory;
};

// The most that maxMemoryMib may be, so that its bytes can be counted.
inline constexpr size_t kMostMemoryMib = std::numeric_limits<size_t>::max() >> 20;

// Every backend name that -c may take, whether or not this build has it.
std::vector<std::string_view> knownBackends();

}  // namespace halyard::driver
