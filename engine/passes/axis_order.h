// SPDX-License-Identifier: Apache-2.0
//
// Orders of axes: what Transposes do to shapes and to whatever goes by axes.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/graph/tensor.h"

namespace halyard::engine {

// Axis i of the transposed tensor is axis order[i] of the original. As many as the rank.
class AxisOrder {
  public:
    // Of a Transpose whose input's rank is known; nothing where its permutation is not.
    static std::optional<AxisOrder> of(const Graph& graph, const Node& transpose);
    explicit AxisOrder(std::vector<size_t> axes) : mAxes(std::move(axes)) {}

    size_t rank() const { return mAxes.size(); }
    // The original's axis that the transposed tensor's became.
    size_t operator[](size_t axis) const { return mAxes[axis]; }
    bool isIdentity() const;
    // This order of what `first` has put in order.
    AxisOrder after(const AxisOrder& first) const;
    AxisOrder inverse() const;
    // The original's shape, from the transposed tensor's.
    Shape originalOf(const Shape& transposed) const;
    std::vector<int32_t> permutation() const { return {mAxes.begin(), mAxes.end()}; }
    bool operator==(const AxisOrder&) const = default;

  private:
    std::vector<size_t> mAxes;
};

}  // namespace halyard::engine
