// SPDX-License-Identifier: Apache-2.0
//
// Moving elements from one place of memory to another, each with strides of its own: all that
// concatenations, slices, transposes and the like consist of.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/base/status.h"
#include "engine/graph/tensor.h"
#include "engine/plan/kernel_call.h"

namespace halyard::engine::cpu {

// The axes of a copy, outermost first. Neighbouring axes that can be one become one. No heap.
class StridedCopy {
  public:
    // Strides count elements.
    void addAxis(int64_t extent, int64_t fromStride, int64_t toStride);

    // Copies elements of `elementBytes` bytes (1, 2, 4 or 8) on the threads of the call. `from` and
    // `to` are the places of the first element.
    Status run(KernelCall& call, size_t elementBytes, const void* from, void* to,
               InstructionSet set) const;

  private:
    struct Axis {
        int64_t extent = 1;
        int64_t from = 0;
        int64_t to = 0;
    };
    struct Offsets {
        int64_t from = 0;
        int64_t to = 0;
    };
    class Walk;

    // The same copy with the last axis, which is dense on both sides, as one element of so many
    // bytes; nothing where there is no such element.
    std::optional<StridedCopy> ofRows(size_t rowBytes, const void* from, void* to) const;
    Status copyRows(KernelCall& call, size_t elementBytes, const std::byte* from,
                    std::byte* to) const;
    template <typename T>
    Status transpose(KernelCall& call, size_t along, const T* from, T* to,
                     InstructionSet set) const;
    template <typename T>
    Status copyElements(KernelCall& call, const T* from, T* to, InstructionSet set) const;
    template <typename T>
    Status copyOf(KernelCall& call, const void* from, void* to, InstructionSet set) const;

    std::array<Axis, 2 * kMaxRank> mAxes;
    size_t mRank = 0;
    bool mEmpty = false;
};

}  // namespace halyard::engine::cpu
