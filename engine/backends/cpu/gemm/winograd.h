// SPDX-License-Identifier: Apache-2.0
//
// The kernel that a Conv2d of FLOAT32 or FLOAT16 with filters of 3x3, stride 1 and no dilation is
// compiled to where that is faster than the sums over the taps: winograd_tiles.h's transforms
// around one matrix product of floats for each position of the transformed window. FLOAT16 is
// widened and narrowed by the transforms.
//
// Errors: F(2x2) stays within 1e-5 of the output's root mean square, as the direct product does.
// F(4x4) is some times worse, so it is for fast math and where float16 is allowed.
//
// Infinities and NaNs: a transform spreads an infinity, or a sum that overflows, over its tile, and
// makes NaNs of it. A tile with such a result is computed again without transforms, so that
// results are finite wherever the direct product's are, and where they are not, an infinity or NaN
// as there. Such tiles take many times longer. Filters have to be finite and far from overflow.

#pragma once

#include <cstdint>
#include <memory>

#include "engine/backends/cpu/hardware/cpu_tuning.h"
#include "engine/base/status.h"
#include "engine/graph/nodes.h"
#include "engine/plan/step_kernel.h"

namespace halyard::engine::cpu {

// Whether such a kernel can compute the node, however long it takes.
Result<bool> canUseWinograd(const Conv2d& node, const KernelArguments& arguments);

// canUseWinograd() holds. `side` of the output squares: 2 or 4.
Result<std::unique_ptr<const StepKernel>> compileWinograd(const Conv2d& node, int32_t side,
                                                          const KernelArguments& arguments,
                                                          const CpuTarget& target);

}  // namespace halyard::engine::cpu
