// SPDX-License-Identifier: Apache-2.0
//
// Bindings of a caller's memory to an execution, checked before anything is read or written.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/reused_buffer.h"
#include "engine/base/status.h"
#include "engine/graph/tensor.h"
#include "engine/plan/program.h"
#include "engine/plan/schedule.h"

namespace halyard::engine {

// Where a graph output goes: to memory of fixed size, or to a buffer that is made to fit.
struct RunOutput {
    std::span<uint8_t> bytes;
    // The shape that the caller expects; the result must agree wherever it is known.
    Shape shape = Shape::unknownRank();
    bool present = true;
    ReusedBuffer* buffer = nullptr;  // not null: instead of `bytes`
    DeviceBytes device = {};         // the same

    size_t size() const { return device.memory == nullptr ? bytes.size() : device.bytes; }
};

// Checks the inputs and writes the shape of each to `shapes`, which has one entry per graph input:
// nothing for an input left out, which is whatever reads it to judge. INVALID_ARGUMENT names the
// input.
// Also where the bytes of a device are not all in their block, or not aligned as its memory asks.
Status checkInputs(const Schedule& schedule, std::span<const InputBinding> inputs,
                   std::span<MaybeShape> shapes);

// INVALID_ARGUMENT as checkInputs() has it.
Status checkOutputs(std::span<const RunOutput> outputs);

// Whether the caller's memory can hold tensors of this element type as they are.
bool isAligned(const void* address, DataType type);

// Memory that was asked for during a run: INVALID_ARGUMENT where it is null or too short, or starts
// at no multiple of `alignment`.
Status checkGiven(std::span<const uint8_t> given, size_t bytes, size_t alignment);
// The same where it shares bytes with what is bound. Takes time linear in the bindings.
Status checkDisjoint(std::span<const uint8_t> given, std::span<const InputBinding> inputs,
                     std::span<const RunOutput> outputs);

// Finds the outputs whose memory, of the host or a device, shares bytes with that of an input or
// another output.
class OverlapFinder {
  public:
    // Allocates for that many bindings; find() then does not.
    OverlapFinder(size_t inputCount, size_t outputCount);

    // Sets overlaps[i] for each output. Takes n log n time.
    void find(std::span<const InputBinding> inputs, std::span<const RunOutput> outputs,
              std::span<uint8_t> overlaps);

  private:
    struct Range {
        const DeviceBuffer* block = nullptr;  // null: of the host
        uintptr_t begin = 0;                  // an address, or an offset in the block
        uintptr_t end = 0;
        size_t output = 0;  // kInput for inputs
    };
    static constexpr size_t kInput = static_cast<size_t>(-1);

    std::vector<Range> mRanges;
};

}  // namespace halyard::engine
