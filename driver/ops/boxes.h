// SPDX-License-Identifier: Apache-2.0
//
// Shared by the operations on boxes: their types, and how boxes are quantised.

#pragma once

#include <vector>

#include "driver/ops/form.h"
#include "driver/ops/operation_view.h"
#include "engine/base/status.h"

namespace halyard::driver {

// The columns of boxTypes(): of data or scores, of boxes, of real attributes, and of anchors.
inline constexpr Column kBoxData{0};
inline constexpr Column kBoxes{1};
inline constexpr Column kBoxReal{2};
inline constexpr Column kAnchors{3};
std::vector<TypeRow> boxTypes();

// Of rank 2, in eighths of a pixel where they are quantised. INVALID_ARGUMENT otherwise.
Status requireBoxes(const OperandView& boxes);
// The second of these alone: the positions of keypoints have other ranks.
Status requireCoordinates(const OperandView& coordinates);

}  // namespace halyard::driver
