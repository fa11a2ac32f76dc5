// SPDX-License-Identifier: Apache-2.0
//
// Boxes of objects, by their corners: how far two overlap, and how a network moves one.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "engine/numerics/reals.h"

namespace halyard::engine::ref {

struct Box {
    float x1 = 0.0F;
    float y1 = 0.0F;
    float x2 = 0.0F;
    float y2 = 0.0F;

    float area() const { return (x2 - x1) * (y2 - y1); }
    // Not so with a NaN, either.
    bool isOrdered() const { return x1 <= x2 && y1 <= y2; }
};

inline Box boxAt(const RealReader& boxes, int64_t index) {
    return {boxes[index * 4], boxes[index * 4 + 1], boxes[index * 4 + 2], boxes[index * 4 + 3]};
}

inline void setBox(const RealWriter& boxes, int64_t index, const Box& box) {
    boxes.set(index * 4, box.x1);
    boxes.set(index * 4 + 1, box.y1);
    boxes.set(index * 4 + 2, box.x2);
    boxes.set(index * 4 + 3, box.y2);
}

// The area of the intersection over that of the union; NaN of two boxes without area.
inline float overlapOf(const Box& a, const Box& b) {
    const float width = std::max(std::min(a.x2, b.x2) - std::max(a.x1, b.x1), 0.0F);
    const float height = std::max(std::min(a.y2, b.y2) - std::max(a.y1, b.y1), 0.0F);
    const float intersection = width * height;
    return intersection / (a.area() + b.area() - intersection);
}

// A box along one axis.
struct Side {
    float centre = 0.0F;
    float extent = 0.0F;

    float begin() const { return centre - extent / 2; }
    float end() const { return centre + extent / 2; }
    // Moved by a part of its extent, which then grows e^growth times.
    Side moved(float shift, float growth) const {
        return {.centre = centre + shift * extent, .extent = std::exp(growth) * extent};
    }
};

inline Side sideOf(float begin, float end) {
    return {.centre = (begin + end) / 2, .extent = end - begin};
}

}  // namespace halyard::engine::ref
