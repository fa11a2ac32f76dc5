// SPDX-License-Identifier: Apache-2.0
//
// Convolutions in groups of few channels. A GEMM of each group would fill a part of a vector, and
// spread each element of the input over a vector as often as a tap sees it. Here a vector has the
// output channels of several groups: for each input channel of a group, the input is
// spread over vectors, so that each lane has its own group's element, and then multiplied as a
// depthwise convolution is. Of bytes a lane has two channels, as differences from the zero point in
// 16 bits, whose products are added together. Sums of bytes are exact, and go back to 8 bits as
// numerics/requantize.h says.
//
// The spread input: [line][spatial position][input channels of the group, as many as a lane has]
// [lane]. Weights: [vector of groups][bias, of bytes also the multiplier, then each tap and input
// channels of the group][lane]. Both in words of 32 bits.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "engine/backends/cpu/choice/form_choice.h"
#include "engine/backends/cpu/elementwise/element_forms.h"
#include "engine/backends/cpu/hardware/cpu_tuning.h"
#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/base/status.h"
#include "engine/graph/nodes.h"
#include "engine/numerics/requantize.h"
#include "engine/plan/step_kernel.h"

namespace halyard::engine::cpu {

// Bytes of a word: a lane of the spread input.
inline constexpr int64_t kGroupedWordBytes = 4;

// Input that is spread for one vector of groups.
struct SpreadBlock {
    const void* from = nullptr;  // the vector's first input channel of the first spatial position
    int64_t positions = 0;
    ptrdiff_t apart = 0;     // elements from one to the next
    int64_t channels = 0;    // of the vector: those of its groups
    int64_t groupDepth = 0;  // of one group
    // For each lane, which of the channels its group's first is.
    const int32_t* lanes = nullptr;
    int32_t zeroPoint = 0;  // of bytes
    void* to = nullptr;
};

// A line of the output for one vector of groups.
struct GroupedLine {
    const std::byte* spread = nullptr;  // of the line's first window
    std::span<const ptrdiff_t> runs;    // where each begins, in words from there
    int64_t runLength = 0;              // vectors
    ptrdiff_t row = 0;                  // words from a window to the next
    const std::byte* weights = nullptr;
    void* to = nullptr;
    ptrdiff_t apart = 0;  // elements of the output from one spatial position to the next
    int64_t rows = 0;
    int64_t columns = 0;  // lanes that count
    // Of floats.
    float low = 0.0F;
    float high = 0.0F;
    // Of bytes.
    int32_t zeroPoint = 0;
    QuantizedRange range;
};

// One form of the kernel.
struct GroupedForm {
    void (*spread)(const SpreadBlock& block) = nullptr;
    void (*compute)(const GroupedLine& line) = nullptr;
};
struct GroupedConv {
    int64_t lanes = 1;
    // Input channels of a group that a lane of bytes has: 2, or 0 where bytes have no form.
    int64_t bytesTogether = 0;
    ElementForms<GroupedForm> forms;
};

const GroupedConv& groupedConv(InstructionSet set);

// Of a convolution that chooseGrouped() has chosen it for. The constants are inputs 1 and 2.
Result<std::unique_ptr<const StepKernel>> compileGroupedConv(const Conv2d& node,
                                                             const KernelArguments& arguments,
                                                             const CpuTarget& target);

}  // namespace halyard::engine::cpu
