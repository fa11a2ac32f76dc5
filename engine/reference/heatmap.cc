// SPDX-License-Identifier: Apache-2.0
//
// Where the largest score of a heatmap lies, to a part of a spatial position.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/numerics/elements.h"
#include "engine/numerics/reals.h"
#include "engine/reference/box.h"
#include "engine/reference/kernels.h"
#include "engine/reference/ranking.h"

namespace halyard::engine::ref {
namespace {

// The largest spatial position and its neighbours, [row][column].
using Neighbourhood = std::array<std::array<float, 3>, 3>;

// A maximum between spatial positions, as seen from the largest of them.
struct Peak {
    float x = 0.0F;
    float y = 0.0F;
    float score = 0.0F;
};

// The peak of the quadratic surface that has the neighbourhood's first and second differences:
// score(d) = s + g.d + d.H.d / 2 is largest where H.d = -g. NNAPI's own implementation looks for it
// so in place of a bicubic upscaling, and takes the spatial position itself where H is (nearly)
// singular: `tolerance` is what its element type resolves.
Peak peakOf(const Neighbourhood& s, float tolerance) {
    const float gx = (s[1][2] - s[1][0]) / 2;
    const float gy = (s[2][1] - s[0][1]) / 2;
    const float hxx = s[1][0] - 2 * s[1][1] + s[1][2];
    const float hyy = s[0][1] - 2 * s[1][1] + s[2][1];
    const float hxy = (s[2][2] - s[2][0] - s[0][2] + s[0][0]) / 4;
    const float determinant = hxx * hyy - hxy * hxy;
    if (std::abs(determinant) < tolerance + tolerance * (hxx * hyy)) {
        return {.score = s[1][1]};
    }
    float x = (hxy * gy - hyy * gx) / determinant;
    float y = (hxy * gx - hxx * gy) / determinant;
    // No further than the neighbours' outer edge.
    constexpr float kFurthest = 1.5F;
    const float distance = std::max(std::abs(x), std::abs(y));
    if (distance > kFurthest) {
        x *= kFurthest / distance;
        y *= kFurthest / distance;
    }
    const float bend = (hxx * x + hxy * y) * x + (hxy * x + hyy * y) * y;
    return {.x = x, .y = y, .score = s[1][1] + gx * x + gy * y + bend / 2};
}

}  // namespace

Status run(const HeatmapMaxKeypoint& /*node*/, KernelCall& call) {
    const Shape& shape = call.input(0).shape();
    const int64_t size = shape[1];
    const int64_t keypoints = shape[3];
    const RealReader heatmaps(call.input(0));
    const RealReader boxes(call.input(1));
    const RealWriter scores(call.output(0));
    const RealWriter positions(call.output(1));
    const float tolerance = call.input(0).type->type == DataType::FLOAT16 ? 1e-3F : 1e-5F;
    for (int64_t roi = 0; roi < shape[0]; ++roi) {
        const Box box = boxAt(boxes, roi);
        if (!box.isOrdered()) {
            return invalidArgument("region " + std::to_string(roi) + " ends before it begins");
        }
        HALYARD_RETURN_IF_ERROR(call.checkpoint(1));
        for (int64_t keypoint = 0; keypoint < keypoints; ++keypoint) {
            const auto scoreAt = [&](int64_t pixel) {
                return heatmaps[(roi * size * size + pixel) * keypoints + keypoint];
            };
            int64_t largest = 0;
            HALYARD_RETURN_IF_ERROR(call.forEach(size * size, 1, [&](int64_t i) {
                largest = isLarger(scoreAt(i), scoreAt(largest)) ? i : largest;
            }));
            const int64_t row = largest / size;
            const int64_t column = largest % size;
            // Beyond the edge the heatmap is its mirror image.
            const auto mirrored = [&](int64_t i) { return i < 0 ? 1 : i >= size ? size - 2 : i; };
            Neighbourhood neighbours{};
            for (int64_t i = 0; i < 3; ++i) {
                for (int64_t j = 0; j < 3; ++j) {
                    neighbours[static_cast<size_t>(i)][static_cast<size_t>(j)] =
                            scoreAt(mirrored(row + i - 1) * size + mirrored(column + j - 1));
                }
            }
            const Peak peak = peakOf(neighbours, tolerance);
            // The centre of the spatial position, as a part of the region.
            const auto partOf = [&](int64_t pixel, float distance) {
                return (static_cast<float>(pixel) + distance + 0.5F) / static_cast<float>(size);
            };
            const int64_t index = roi * keypoints + keypoint;
            scores.set(index, peak.score);
            positions.set(index * 2, partOf(column, peak.x) * (box.x2 - box.x1) + box.x1);
            positions.set(index * 2 + 1, partOf(row, peak.y) * (box.y2 - box.y1) + box.y1);
        }
    }
    return {};
}

}  // namespace halyard::engine::ref
