// SPDX-License-Identifier: Apache-2.0
//
// The kernel that Conv2d and FullyConnected are compiled to: products of the input's windows with
// weights that were packed when it was made, added to a bias, activated and stored.

#pragma once

#include <cstdint>
#include <memory>

#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/base/status.h"
#include "engine/graph/nodes.h"
#include "engine/graph/tensor.h"
#include "engine/plan/step_kernel.h"

namespace halyard::engine::cpu {

// What distinguishes the nodes. Inputs: x, weights [channels][depth], bias [channels].
struct ConvGemmNode {
    // Null: x is seen as [batch, K], and each batch has one window, which is all of it.
    const Window2d* window = nullptr;
    int64_t groups = 1;
    Activation activation = Activation::NONE;
};

Result<std::unique_ptr<const StepKernel>> compileConvGemm(const ConvGemmNode& node,
                                                          const KernelArguments& arguments,
                                                          InstructionSet set);

}  // namespace halyard::engine::cpu
