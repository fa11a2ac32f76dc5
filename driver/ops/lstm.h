// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "driver/ops/lowering.h"
#include "engine/base/status.h"
#include "engine/graph/nodes.h"

namespace halyard::driver {

// Of an operation with the scalars "activation", "cell_clip" and "projection_clip".
Result<engine::LstmAttributes> readLstmAttributes(const Lowering& lowering);

}  // namespace halyard::driver
