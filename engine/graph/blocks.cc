// SPDX-License-Identifier: Apache-2.0
//
// Blocks of pixels that become channels or batches and back, and images that change their size.

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "engine/graph/control_input.h"
#include "engine/graph/node_rules.h"
#include "engine/graph/shape_inference.h"

namespace halyard::engine {
namespace {

// A node of four axes that moves its elements, and the block of an attribute.
Result<Shape> imageOf(const KnownInput& x, const TensorType& output) {
    HALYARD_RETURN_IF_ERROR(checkMoved(*x.type, output));
    return asRank(x.shape(), 4, "the input");
}

// Elements of a block. An extent that is a multiple of so many has to fit int32, as does the count.
Result<int32_t> areaOf(int32_t height, int32_t width) {
    HALYARD_RETURN_IF_ERROR(checkAtLeast(height, 1, "the block's extent"));
    HALYARD_RETURN_IF_ERROR(checkAtLeast(width, 1, "the block's extent"));
    return multiplyExtents(height, width, "the block's area");
}

Status checkBlock(const KnownInput& block) {
    return checkList(block, "the block", 2);
}

std::array<int32_t, 2> readBlock(const KnownInput& block) {
    const std::span<const int32_t> extents = elementsOf(block);
    return {extents[0], extents[1]};
}

// The extent that an image's extent is resized to. float32, as NNAPI's scales are.
Result<int32_t> resized(int32_t extent, int32_t asked, float scale, const char* what) {
    if (!(scale >= 0.0F) || !std::isfinite(scale)) {
        return invalidArgument(std::string("the scale of the ") + what +
                               " must be finite and not negative, not " + std::to_string(scale));
    }
    if (scale == 0.0F) {
        HALYARD_RETURN_IF_ERROR(checkAtLeast(asked, 1, what));
        return asked;
    }
    if (extent == kUnknownDimension) {
        return kUnknownDimension;
    }
    const float scaled = std::floor(static_cast<float>(extent) * scale);
    if (!(scaled < static_cast<float>(std::numeric_limits<int32_t>::max()))) {
        return invalidArgument(std::string("the scale of the ") + what + " is too large");
    }
    if (scaled < 1.0F && extent > 0) {
        return invalidArgument(std::string("the scale of the ") + what + " leaves nothing of " +
                               std::to_string(extent));
    }
    return static_cast<int32_t>(scaled);
}

}  // namespace

Status inferShapes(const DepthToSpace& node, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    HALYARD_ASSIGN_OR_RETURN(Shape x, imageOf(inputs[0], outputs[0]));
    HALYARD_ASSIGN_OR_RETURN(const int32_t area, areaOf(node.block, node.block));
    HALYARD_ASSIGN_OR_RETURN(x[1], multiplyExtents(x[1], node.block, "the height"));
    HALYARD_ASSIGN_OR_RETURN(x[2], multiplyExtents(x[2], node.block, "the width"));
    HALYARD_ASSIGN_OR_RETURN(x[3], divideExtent(x[3], area, "the depth"));
    outputs[0].shape = x;
    return {};
}

Status inferShapes(const SpaceToDepth& node, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    HALYARD_ASSIGN_OR_RETURN(Shape x, imageOf(inputs[0], outputs[0]));
    HALYARD_ASSIGN_OR_RETURN(const int32_t area, areaOf(node.block, node.block));
    HALYARD_ASSIGN_OR_RETURN(x[1], divideExtent(x[1], node.block, "the height"));
    HALYARD_ASSIGN_OR_RETURN(x[2], divideExtent(x[2], node.block, "the width"));
    HALYARD_ASSIGN_OR_RETURN(x[3], multiplyExtents(x[3], area, "the depth"));
    outputs[0].shape = x;
    return {};
}

Status inferShapes(const BatchToSpace& /*node*/, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    HALYARD_ASSIGN_OR_RETURN(Shape x, imageOf(inputs[0], outputs[0]));
    HALYARD_RETURN_IF_ERROR(checkBlock(inputs[1]));
    if (!isKnown(inputs[1])) {
        outputs[0].shape = {kUnknownDimension, kUnknownDimension, kUnknownDimension, x[3]};
        return {};
    }
    const auto [height, width] = readBlock(inputs[1]);
    HALYARD_ASSIGN_OR_RETURN(const int32_t area, areaOf(height, width));
    HALYARD_ASSIGN_OR_RETURN(x[0], divideExtent(x[0], area, "the number of batches"));
    HALYARD_ASSIGN_OR_RETURN(x[1], multiplyExtents(x[1], height, "the height"));
    HALYARD_ASSIGN_OR_RETURN(x[2], multiplyExtents(x[2], width, "the width"));
    outputs[0].shape = x;
    return {};
}

Status inferShapes(const SpaceToBatch& /*node*/, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    HALYARD_RETURN_IF_ERROR(checkType(*inputs[0].type, "the input", kNumbers));
    HALYARD_ASSIGN_OR_RETURN(Shape x, imageOf(inputs[0], outputs[0]));
    HALYARD_RETURN_IF_ERROR(checkBlock(inputs[1]));
    HALYARD_RETURN_IF_ERROR(checkControlInput(inputs[2], 2, "the paddings"));
    int32_t axes = 2;
    int32_t ends = 2;
    HALYARD_RETURN_IF_ERROR(agree(inputs[2].shape(), "the paddings", {&axes, &ends}));
    if (!isKnown(inputs[1]) || !isKnown(inputs[2])) {
        outputs[0].shape = {kUnknownDimension, kUnknownDimension, kUnknownDimension, x[3]};
        return {};
    }
    const std::array<int32_t, 2> block = readBlock(inputs[1]);
    HALYARD_ASSIGN_OR_RETURN(const int32_t area, areaOf(block[0], block[1]));
    HALYARD_ASSIGN_OR_RETURN(const Paddings paddings, readPaddings(inputs[2], 2));
    for (size_t i = 0; i < 2; ++i) {
        const char* what = i == 0 ? "the padded height" : "the padded width";
        HALYARD_ASSIGN_OR_RETURN(int32_t padded, addExtents(x[i + 1], paddings[i].before, what));
        HALYARD_ASSIGN_OR_RETURN(padded, addExtents(padded, paddings[i].after, what));
        HALYARD_ASSIGN_OR_RETURN(x[i + 1], divideExtent(padded, block[i], what));
    }
    HALYARD_ASSIGN_OR_RETURN(x[0], multiplyExtents(x[0], area, "the number of batches"));
    outputs[0].shape = x;
    return {};
}

Status inferShapes(const Resize& node, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    HALYARD_RETURN_IF_ERROR(checkType(*inputs[0].type, "the input", kReals));
    HALYARD_ASSIGN_OR_RETURN(const Shape x, imageOf(inputs[0], outputs[0]));
    if (node.alignCorners && node.halfPixelCenters) {
        return invalidArgument("corners and half pixel centres can't both be aligned");
    }
    HALYARD_ASSIGN_OR_RETURN(const int32_t height,
                             resized(x[1], node.height, node.heightScale, "height"));
    HALYARD_ASSIGN_OR_RETURN(const int32_t width,
                             resized(x[2], node.width, node.widthScale, "width"));
    const bool isEmpty = x[1] == 0 || x[2] == 0;
    if (isEmpty && x[0] > 0 && x[3] > 0 && height > 0 && width > 0) {
        return invalidArgument("the input " + x.toString() + " has no elements to resize");
    }
    outputs[0].shape = {x[0], height, width, x[3]};
    return {};
}

}  // namespace halyard::engine
