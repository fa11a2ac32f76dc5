// SPDX-License-Identifier: Apache-2.0
//
// Core capacities: the pace of each core of a processor beside the fastest one, as Linux's
// scheduler has it on big.LITTLE and hybrid processors.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace halyard {

// Immutable plain data; a test can have one of a processor that this machine is not.
class CoreCapacities {
  public:
    static constexpr uint32_t kFull = 1024;  // of the fastest core

    // All cores alike.
    CoreCapacities() = default;
    // By the number of the core, each in 1 to kFull; others have kFull.
    explicit CoreCapacities(std::vector<uint32_t> ofCores) : mOfCores(std::move(ofCores)) {}
    // cpuN/cpu_capacity below `root`. A file that is missing or has anything but a number in 1 to
    // kFull says nothing of its core; never fails.
    static CoreCapacities read(const std::string& root = "/sys/devices/system/cpu");

    uint32_t of(int core) const {
        const auto index = static_cast<size_t>(core);
        return core >= 0 && index < mOfCores.size() ? mOfCores[index] : kFull;
    }
    bool areAlike() const;

  private:
    std::vector<uint32_t> mOfCores;
};

}  // namespace halyard
