// SPDX-License-Identifier: Apache-2.0
//
// The scalars that place a 2-D window, which convolutions and poolings share.

#pragma once

#include "driver/ops/form.h"
#include "driver/ops/lowering.h"
#include "engine/base/status.h"
#include "engine/graph/nodes.h"

namespace halyard::driver {

// Left, right, top and bottom.
OperandForms explicitPadding();
// NNAPI's scheme code.
OperandForms implicitPadding();
// Width and height.
OperandForms strides();
OperandForms dilations();

// The padding and the strides, by those of the names above that the operation's form has.
// INVALID_ARGUMENT: negative padding, a stride below 1, an unknown scheme.
Result<engine::Window2d> readWindow(const Lowering& lowering);
// The dilations, which are 1 where the form lacks them. For operations that have them in some form.
Status readDilations(const Lowering& lowering, engine::Window2d& window);

}  // namespace halyard::driver
