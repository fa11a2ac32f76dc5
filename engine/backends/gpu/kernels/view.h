// SPDX-License-Identifier: Apache-2.0
//
// Views: where the elements of a tensor lie that was only moved, Reshapes and Transposes long,
// until a kernel moves them.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/backends/gpu/kernels/map.h"
#include "engine/graph/control_input.h"
#include "engine/graph/tensor.h"

namespace halyard::engine::gpu {

// Of a tensor that has elements.
class View {
  public:
    // A tensor as it lies.
    static View dense(const Shape& shape);

    // Axis i becomes what axis permutation[i] was.
    void transpose(const Permutation& permutation);
    // False, and nothing is done, where no strides tell of an axis where its elements lie.
    bool reshape(const Shape& shape);

    // Of a view of all elements of a tensor: where those of the tensor, as one of this shape, lie
    // in what is viewed, if strides tell.
    std::optional<View> inverse(const Shape& shape) const;

    // Elements from one index of an axis to the next; nothing where that differs.
    std::optional<int64_t> stride(size_t axis) const;
    // Where an index of an axis lies, from its first.
    int64_t offset(size_t axis, int64_t index) const;

    // As a map walks over it, with more axes where one has several strides.
    Extents extents() const;
    Extents strides() const;

  private:
    // Part of an axis. Those with one element are left out.
    struct Part {
        int64_t extent = 1;
        int64_t stride = 0;
    };
    using Parts = std::vector<Part>;  // the innermost is the last

    // All of them, as few as there can be.
    Parts flat() const;
    static std::optional<View> grouped(Parts parts, const Shape& shape);

    std::vector<Parts> mAxes;
};

}  // namespace halyard::engine::gpu
