// SPDX-License-Identifier: Apache-2.0
//
// Launches: what a partition has the device do for one set of shapes, a kernel after the other,
// with tensors by their number in the partition. Where these lie, a run says.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "engine/backends/gpu/programs/programs.h"
#include "engine/plan/partition_layout.h"

namespace halyard::engine::gpu {

// Numbers by which work-groups of a launch tell which of them is the last; 32 bits each.
inline constexpr size_t kCounters = 1024;

// Bytes on the device that a kernel is handed: it gets the number of a block of its launch and the
// offset in it.
struct Operand {
    enum class Place : uint8_t {
        TENSOR,    // `local` of the partition
        TABLE,     // among what the shapes' own constants are: multipliers, tables of functions
        SCRATCH,   // among the memory of the launch's step
        FINDING,   // among what the run's checks have found
        COUNTERS,  // kCounters of the execution's, each 0 between launches
    };
    Place place = Place::TENSOR;
    LocalId local = 0;
    int64_t offset = 0;  // in bytes, from its first

    Operand at(int64_t bytes) const {
        Operand moved = *this;
        moved.offset += bytes;
        return moved;
    }
};

// A number or a struct, as its bytes.
using ByValue = std::vector<std::byte>;

template <typename T>
ByValue byValue(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto bytes = std::as_bytes(std::span(&value, 1));
    return ByValue(bytes.begin(), bytes.end());
}

struct Launch {
    const KernelFamily* family = nullptr;
    std::string defines;
    std::shared_ptr<const Program> program;  // for as many blocks as the arguments may lie in
    std::vector<std::variant<Operand, ByValue>> arguments;
    std::array<size_t, 3> workItems = {1, 1,
                                       1};  // rounded up to whole work-groups when it is enqueued
    uint64_t work = 0;                      // operations of all work-items together, roughly
    size_t step = 0;

    Launch& with(const Operand& operand) {
        arguments.emplace_back(operand);
        return *this;
    }
    template <typename T>
    Launch& with(const T& value) {
        arguments.emplace_back(byValue(value));
        return *this;
    }
    Launch& withAll(const std::vector<std::variant<Operand, ByValue>>& more) {
        arguments.insert(arguments.end(), more.begin(), more.end());
        return *this;
    }
    Launch& withAll(std::span<const int32_t> values) {
        const auto bytes = std::as_bytes(values);
        arguments.emplace_back(ByValue(bytes.begin(), bytes.end()));
        return *this;
    }
};

}  // namespace halyard::engine::gpu
