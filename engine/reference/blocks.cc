// SPDX-License-Identifier: Apache-2.0
//
// Blocks of spatial positions that become channels or batches, and back. A feature map is seen with
// each blocked axis split in two: the block's number and the place in the block.

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "engine/graph/control_input.h"
#include "engine/numerics/elements.h"
#include "engine/numerics/index_walk.h"
#include "engine/reference/data_movement.h"
#include "engine/reference/kernels.h"

namespace halyard::engine::ref {
namespace {

struct Block {
    int32_t height = 1;
    int32_t width = 1;
};

Block blockOf(const KnownInput& block) {
    const std::span<const int32_t> extents = elementsOf(block);
    return {.height = extents[0], .width = extents[1]};
}

}  // namespace

Status run(const DepthToSpace& node, KernelCall& call) {
    const Shape& x = call.input(0).shape();
    const Shape& output = call.output(0).shape();
    const Strides strides = stridesOf(x);
    const int64_t depth = output[3];
    return copyFrom(call, {x[0], x[1], node.block, x[2], node.block, output[3]},
                    Strides{strides[0], strides[1], node.block * depth, strides[2], depth, 1});
}

Status run(const SpaceToDepth& node, KernelCall& call) {
    const Shape& x = call.input(0).shape();
    const Shape& output = call.output(0).shape();
    const Strides strides = stridesOf(x);
    return copyFrom(call, {x[0], output[1], output[2], node.block, node.block, x[3]},
                    Strides{strides[0], node.block * strides[1], node.block * strides[2],
                            strides[1], strides[2], 1});
}

Status run(const BatchToSpace& /*node*/, KernelCall& call) {
    const Shape& x = call.input(0).shape();
    const Shape& output = call.output(0).shape();
    const Block block = blockOf(call.input(1));
    const Strides strides = stridesOf(x);
    const int64_t batches = output[0] * strides[0];  // for one place in the block
    return copyFrom(call, {output[0], x[1], block.height, x[2], block.width, x[3]},
                    Strides{strides[0], strides[1], block.width * batches, strides[2], batches, 1});
}

Status run(const SpaceToBatch& /*node*/, KernelCall& call) {
    const ConstTensorView& x = call.input(0);
    const TensorView& output = call.output(0);
    const Shape& in = x.shape();
    const Shape& out = output.shape();
    const Block block = blockOf(call.input(1));
    HALYARD_ASSIGN_OR_RETURN(const Paddings paddings, readPaddings(call.input(2), 2));
    if (countOf(out) == 0) {
        return {};
    }
    const int64_t depth = in[3];
    return withMovedElements(output.type->type, [&]<typename T>() -> Status {
        HALYARD_RETURN_IF_ERROR(fillAll(call, zeroOf<T>(*output.type)));
        // Every spatial position of x has its place; the others keep the filling.
        const int64_t pixels = countOf(Shape(in.extents().first(3)));
        return call.forEach(pixels, 1, [&](int64_t pixel) {
            const int64_t batch = pixel / in[2] / in[1];
            const int64_t y = pixel / in[2] % in[1] + paddings[0].before;
            const int64_t column = pixel % in[2] + paddings[1].before;
            const int64_t place = y % block.height * block.width + column % block.width;
            const int64_t to = ((place * in[0] + batch) * out[1] + y / block.height) * out[2] +
                               column / block.width;
            const T* const from = x.as<T>() + pixel * depth;
            return call.inSlices(depth, 1, [&](int64_t begin, int64_t end) {
                std::copy(from + begin, from + end, output.as<T>() + to * depth + begin);
            });
        });
    });
}

}  // namespace halyard::engine::ref
