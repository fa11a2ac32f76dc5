// SPDX-License-Identifier: Apache-2.0
//
// Convolutions of floats in groups of few channels. A GEMM of each group would fill a part of a
// vector. Here a vector has the output channels of several groups: for each input channel of a
// group, the input is spread over vectors, so that each lane has its own group's element, and then
// multiplied as a depthwise convolution is.
//
// The spread input: [line][spatial position][input channel of the group][lane]. Weights:
// [vector of groups][bias, then each tap and input channel of the group][lane].

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "engine/backends/cpu/choice/form_choice.h"
#include "engine/backends/cpu/hardware/cpu_tuning.h"
#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/base/status.h"
#include "engine/graph/nodes.h"
#include "engine/plan/step_kernel.h"

namespace halyard::engine::cpu {

// Input that is spread for one vector of groups.
struct SpreadBlock {
    const void* from = nullptr;  // the vector's first input channel of the first spatial position
    int64_t positions = 0;
    ptrdiff_t apart = 0;     // elements from one to the next
    int64_t channels = 0;    // of the vector: those of its groups
    int64_t groupDepth = 0;  // of one group
    // For each lane, which of the channels its group's first is.
    const int32_t* lanes = nullptr;
    float* to = nullptr;
};

// A line of the output for one vector of groups.
struct GroupedLine {
    const float* spread = nullptr;    // of the line's first window
    std::span<const ptrdiff_t> runs;  // where each begins, in elements from there
    int64_t runLength = 0;            // vectors
    ptrdiff_t row = 0;                // elements from a window to the next
    const float* weights = nullptr;
    void* to = nullptr;
    ptrdiff_t apart = 0;  // elements of the output from one spatial position to the next
    int64_t rows = 0;
    int64_t columns = 0;  // lanes that count
    float low = 0.0F;
    float high = 0.0F;
};

// One form of the kernel.
struct GroupedConv {
    int64_t lanes = 1;
    void (*spreadFloats)(const SpreadBlock& block) = nullptr;
    void (*spreadHalves)(const SpreadBlock& block) = nullptr;
    void (*computeFloats)(const GroupedLine& line) = nullptr;
    void (*computeHalves)(const GroupedLine& line) = nullptr;
};

const GroupedConv& groupedConv(InstructionSet set);

// Of a convolution that chooseGrouped() has chosen it for. The constants are inputs 1 and 2.
Result<std::unique_ptr<const StepKernel>> compileGroupedConv(const Conv2d& node,
                                                             const KernelArguments& arguments,
                                                             const CpuTarget& target);

}  // namespace halyard::engine::cpu
