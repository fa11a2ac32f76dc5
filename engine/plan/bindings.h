// SPDX-License-Identifier: Apache-2.0
//
// What the caller binds to an execution, checked before anything is read or written.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/status.h"
#include "engine/graph/tensor.h"
#include "engine/plan/program.h"
#include "engine/plan/schedule.h"

namespace halyard::engine {

// Checks the inputs and writes the shape of each to `shapes`, which has one entry per graph input;
// that of an input left out is the graph's. INVALID_ARGUMENT names the input.
Status checkInputs(const Schedule& schedule, std::span<const InputBinding> inputs,
                   std::span<Shape> shapes);

// Whether the caller's memory can hold tensors of this element type as they are.
bool isAligned(const void* address, DataType type);

// Finds the outputs whose memory shares bytes with that of an input or another output.
class OverlapFinder {
  public:
    // Allocates for that many bindings; find() then does not.
    OverlapFinder(size_t inputCount, size_t outputCount);

    // Sets overlaps[i] for each output. Takes n log n time.
    void find(std::span<const InputBinding> inputs, std::span<const OutputBinding> outputs,
              std::span<uint8_t> overlaps);

  private:
    struct Range {
        uintptr_t begin = 0;
        uintptr_t end = 0;
        size_t output = 0;  // kInput for inputs
    };
    static constexpr size_t kInput = static_cast<size_t>(-1);

    std::vector<Range> mRanges;
};

}  // namespace halyard::engine
