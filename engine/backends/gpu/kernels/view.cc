// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/kernels/view.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include "engine/numerics/elements.h"

namespace halyard::engine::gpu {

View View::dense(const Shape& shape) {
    return *grouped({{.extent = countOf(shape), .stride = 1}}, shape);
}

void View::transpose(const Permutation& permutation) {
    std::vector<Parts> axes;
    for (size_t i = 0; i < mAxes.size(); ++i) {
        axes.push_back(mAxes[permutation[i]]);
    }
    mAxes = std::move(axes);
}

bool View::reshape(const Shape& shape) {
    std::optional<View> reshaped = grouped(flat(), shape);
    if (reshaped.has_value()) {
        *this = *std::move(reshaped);
    }
    return reshaped.has_value();
}

std::optional<View> View::inverse(const Shape& shape) const {
    struct Both {
        Part from;
        int64_t to = 0;
    };
    std::vector<Both> parts;
    int64_t to = 1;
    for (const Part& part : std::views::reverse(flat())) {
        parts.push_back({.from = part, .to = to});
        to *= part.extent;
    }
    std::ranges::sort(parts, std::ranges::greater(),
                      [](const Both& both) { return both.from.stride; });
    Parts order;
    for (const Both& both : parts) {
        order.push_back({.extent = both.from.extent, .stride = both.to});
    }
    return grouped(std::move(order), shape);
}

std::optional<int64_t> View::stride(size_t axis) const {
    const Parts& parts = mAxes[axis];
    if (parts.empty()) {
        return 0;
    }
    for (size_t i = 1; i < parts.size(); ++i) {
        if (parts[i - 1].stride != parts[i].stride * parts[i].extent) {
            return std::nullopt;
        }
    }
    return parts.back().stride;
}

int64_t View::offset(size_t axis, int64_t index) const {
    int64_t offset = 0;
    for (const Part& part : std::views::reverse(mAxes[axis])) {
        offset += index % part.extent * part.stride;
        index /= part.extent;
    }
    return offset;
}

Extents View::extents() const {
    Extents extents;
    for (const Part& part : flat()) {
        extents.push_back(part.extent);
    }
    return extents;
}

Extents View::strides() const {
    Extents strides;
    for (const Part& part : flat()) {
        strides.push_back(part.stride);
    }
    return strides;
}

View::Parts View::flat() const {
    Parts all;
    for (const Parts& axis : mAxes) {
        for (const Part& part : axis) {
            if (!all.empty() && all.back().stride == part.stride * part.extent) {
                all.back() = {.extent = all.back().extent * part.extent, .stride = part.stride};
            } else {
                all.push_back(part);
            }
        }
    }
    return all;
}

std::optional<View> View::grouped(Parts parts, const Shape& shape) {
    View view;
    view.mAxes.resize(shape.rank());
    for (size_t axis = shape.rank(); axis-- > 0;) {
        int64_t missing = shape[axis];
        while (missing > 1) {
            Part& part = parts.back();
            const int64_t taken = std::min(missing, part.extent);
            if (missing % taken != 0 || part.extent % taken != 0) {
                return std::nullopt;
            }
            Parts& own = view.mAxes[axis];
            if (taken > 1) {
                own.insert(own.begin(), {.extent = taken, .stride = part.stride});
            }
            missing /= taken;
            part = {.extent = part.extent / taken, .stride = part.stride * taken};
            if (part.extent == 1) {
                parts.pop_back();
            }
        }
    }
    return view;
}

}  // namespace halyard::engine::gpu
