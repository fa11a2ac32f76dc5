// SPDX-License-Identifier: Apache-2.0
//
// Shapes as the C API has them.

#pragma once

#include <algorithm>
#include <span>
#include <string>

#include "engine/base/status.h"
#include "engine/graph/tensor.h"
#include "halyard/types.h"

namespace halyard::library {

static_assert(engine::kMaxRank == HALYARD_MAX_RANK);

// Rank -1: not known. Fails as Shape::create() does.
inline Result<engine::Shape> shapeOf(const halyard_shape& shape) {
    if (shape.rank == -1) {
        return engine::Shape::unknownRank();
    }
    if (shape.rank < 0 || shape.rank > HALYARD_MAX_RANK) {
        return invalidArgument("the shape has rank " + std::to_string(shape.rank) +
                               "; it may have 0 to " + std::to_string(HALYARD_MAX_RANK) +
                               ", or -1");
    }
    return engine::Shape::create(std::span(shape.extents).first(static_cast<size_t>(shape.rank)));
}

inline halyard_shape shapeOf(const engine::Shape& shape) {
    halyard_shape plain = {.rank = shape.hasKnownRank() ? static_cast<int32_t>(shape.rank()) : -1,
                           .extents = {}};
    std::ranges::copy(shape.extents(), plain.extents);
    return plain;
}

}  // namespace halyard::library
