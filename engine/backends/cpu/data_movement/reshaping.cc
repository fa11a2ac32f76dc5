// SPDX-License-Identifier: Apache-2.0
//
// The elements stay as they are; their shape or their order changes.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "engine/backends/cpu/data_movement/filling.h"
#include "engine/backends/cpu/kernels/kernels.h"
#include "engine/backends/cpu/kernels/plain_kernel.h"
#include "engine/backends/cpu/kernels/strided_copy.h"
#include "engine/graph/control_input.h"
#include "engine/numerics/index_walk.h"

namespace halyard::engine::cpu {
namespace {

Status copyAll(KernelCall& call, InstructionSet set) {
    HALYARD_ASSIGN_OR_RETURN(const size_t bytes, call.output(0).type->byteSize());
    StridedCopy copy;
    copy.addAxis(static_cast<int64_t>(bytes), 1, 1);
    return copy.run(call, 1, call.input(0).data, call.output(0).data, set);
}

Result<std::unique_ptr<const StepKernel>> compileCopy(const KernelArguments& arguments,
                                                      InstructionSet set) {
    return plainKernel(arguments, {}, [set](KernelCall& call) { return copyAll(call, set); });
}

// The output, whose axes these are, is dense; along each of them x is read by a stride.
template <size_t N>
Status copyBy(KernelCall& call, const std::array<int64_t, N>& extents, const Strides& strides,
              InstructionSet set) {
    StridedCopy copy;
    int64_t dense = 1;
    for (const int64_t extent : extents) {
        dense *= extent;
    }
    for (size_t axis = 0; axis < N; ++axis) {
        dense = extents[axis] == 0 ? 0 : dense / extents[axis];
        copy.addAxis(extents[axis], strides[axis], dense);
    }
    return copy.run(call, elementSize(call.output(0).type->type), call.input(0).data,
                    call.output(0).data, set);
}

Status transpose(KernelCall& call, InstructionSet set) {
    const Shape& x = call.input(0).shape();
    const Shape& output = call.output(0).shape();
    HALYARD_ASSIGN_OR_RETURN(const Permutation permutation,
                             readPermutation(call.input(1), x.rank()));
    const Strides from = stridesOf(x);
    const Strides to = stridesOf(output);
    StridedCopy copy;
    for (size_t axis = 0; axis < x.rank(); ++axis) {
        copy.addAxis(output[axis], from[permutation[axis]], to[axis]);
    }
    return copy.run(call, elementSize(call.output(0).type->type), call.input(0).data,
                    call.output(0).data, set);
}

Status depthToSpace(const DepthToSpace& node, KernelCall& call, InstructionSet set) {
    const Shape& x = call.input(0).shape();
    const int64_t depth = call.output(0).shape()[3];
    const Strides strides = stridesOf(x);
    return copyBy<6>(call, {x[0], x[1], node.block, x[2], node.block, depth},
                     {strides[0], strides[1], node.block * depth, strides[2], depth, 1}, set);
}

Status spaceToDepth(const SpaceToDepth& node, KernelCall& call, InstructionSet set) {
    const Shape& x = call.input(0).shape();
    const Shape& output = call.output(0).shape();
    const Strides strides = stridesOf(x);
    return copyBy<6>(call, {x[0], output[1], output[2], node.block, node.block, x[3]},
                     {strides[0], node.block * strides[1], node.block * strides[2], strides[1],
                      strides[2], 1},
                     set);
}

Status batchToSpace(KernelCall& call, InstructionSet set) {
    const Shape& x = call.input(0).shape();
    const Shape& output = call.output(0).shape();
    const std::span<const int32_t> block = elementsOf(call.input(1));
    const Strides strides = stridesOf(x);
    const int64_t batches = output[0] * strides[0];  // for one place in the block
    return copyBy<6>(call, {output[0], x[1], block[0], x[2], block[1], x[3]},
                     {strides[0], strides[1], block[1] * batches, strides[2], batches, 1}, set);
}

// Along one axis of a feature map, the spatial positions that come to lie at one place of each
// block: every so many of x.
struct BlockPlace {
    BlockPlace(int64_t padding, int64_t place, int64_t block, int64_t extent)
        : from(((place - padding) % block + block) % block),
          to((from + padding) / block),
          count(from < extent ? (extent - from + block - 1) / block : 0) {}

    int64_t from;  // the first one in x
    int64_t to;    // and in the output
    int64_t count;
};

// The spatial positions that lie in the padding get the real 0 first.
Status spaceToBatch(KernelCall& call, InstructionSet set) {
    const ConstTensorView& x = call.input(0);
    const TensorView& output = call.output(0);
    const std::span<const int32_t> block = elementsOf(call.input(1));
    HALYARD_ASSIGN_OR_RETURN(const Paddings paddings, readPaddings(call.input(2), 2));
    HALYARD_RETURN_IF_ERROR(withMovedElements(output.type->type, [&]<typename T>() -> Status {
        return fillOutput(call, zeroElement<T>(*output.type));
    }));
    const Strides from = stridesOf(x.shape());
    const Strides to = stridesOf(output.shape());
    const int64_t batches = x.shape()[0] * to[0];  // of one place in the block
    const auto size = static_cast<int64_t>(elementSize(output.type->type));
    for (int64_t place = 0; place < int64_t{block[0]} * block[1]; ++place) {
        const BlockPlace rows(paddings[0].before, place / block[1], block[0], x.shape()[1]);
        const BlockPlace columns(paddings[1].before, place % block[1], block[1], x.shape()[2]);
        StridedCopy copy;
        copy.addAxis(x.shape()[0], from[0], to[0]);
        copy.addAxis(rows.count, block[0] * from[1], to[1]);
        copy.addAxis(columns.count, block[1] * from[2], to[2]);
        copy.addAxis(x.shape()[3], 1, 1);
        HALYARD_RETURN_IF_ERROR(
                copy.run(call, static_cast<size_t>(size),
                         x.as<std::byte>() + (rows.from * from[1] + columns.from * from[2]) * size,
                         output.as<std::byte>() +
                                 (place * batches + rows.to * to[1] + columns.to * to[2]) * size,
                         set));
    }
    return {};
}

Status tile(KernelCall& call, InstructionSet set) {
    const Shape& x = call.input(0).shape();
    const Shape& output = call.output(0).shape();
    const Strides from = stridesOf(x);
    const Strides to = stridesOf(output);
    StridedCopy copy;
    for (size_t axis = 0; axis < x.rank(); ++axis) {
        copy.addAxis(output[axis] / x[axis], 0, x[axis] * to[axis]);
        copy.addAxis(x[axis], from[axis], to[axis]);
    }
    return copy.run(call, elementSize(call.output(0).type->type), call.input(0).data,
                    call.output(0).data, set);
}

Status reverse(KernelCall& call, InstructionSet set) {
    const Shape& x = call.input(0).shape();
    HALYARD_ASSIGN_OR_RETURN(const size_t reversed, readAxis(call.input(1), x.rank()));
    const Strides strides = stridesOf(x);
    StridedCopy copy;
    for (size_t axis = 0; axis < x.rank(); ++axis) {
        copy.addAxis(x[axis], axis == reversed ? -strides[axis] : strides[axis], strides[axis]);
    }
    const size_t size = elementSize(call.output(0).type->type);
    const int64_t last = std::max(x[reversed] - 1, 0) * strides[reversed];
    return copy.run(call, size, call.input(0).as<std::byte>() + last * static_cast<int64_t>(size),
                    call.output(0).data, set);
}

Status shuffleChannels(const ChannelShuffle& node, KernelCall& call, InstructionSet set) {
    const Shape& x = call.input(0).shape();
    HALYARD_ASSIGN_OR_RETURN(const size_t axis, resolveAxis(node.axis, x.rank()));
    const int64_t inner = countOf(Shape(x.extents().subspan(axis + 1)));
    const int64_t outer = countOf(Shape(x.extents().first(axis)));
    const int64_t each = x[axis] / node.groups;
    return copyBy<4>(call, {outer, each, node.groups, inner},
                     {x[axis] * inner, inner, each * inner, 1}, set);
}

Status gather(const Gather& node, KernelCall& call, InstructionSet set) {
    constexpr int64_t kLongRow = 1 << 15;
    const Shape& x = call.input(0).shape();
    HALYARD_ASSIGN_OR_RETURN(const size_t axis, resolveAxis(node.axis, x.rank()));
    const auto* indices = call.input(1).as<int32_t>();
    const int64_t count = countOf(call.input(1).shape());
    // Inference knows the indices of constants only.
    HALYARD_RETURN_IF_ERROR(
            call.inParallel(count, 1, [&](int64_t begin, int64_t end, size_t /*worker*/) -> Status {
                for (int64_t i = begin; i < end; ++i) {
                    if (indices[i] < 0 || indices[i] >= x[axis]) {
                        return invalidArgument("index " + std::to_string(i) +
                                               " of the indices is " + std::to_string(indices[i]) +
                                               ", but axis " + std::to_string(axis) + " has " +
                                               std::to_string(x[axis]) + " elements");
                    }
                }
                return {};
            }));
    if (countOf(call.output(0).shape()) == 0) {
        return {};
    }
    const auto size = static_cast<int64_t>(elementSize(call.output(0).type->type));
    const int64_t row = countOf(Shape(x.extents().subspan(axis + 1))) * size;
    const int64_t outer = countOf(Shape(x.extents().first(axis)));
    const auto* from = call.input(0).as<std::byte>();
    auto* to = call.output(0).as<std::byte>();
    return call.inParallel(
            outer * count, 8 + std::min(row, kLongRow) / 16,
            [&](int64_t begin, int64_t end, size_t /*worker*/) -> Status {
                for (int64_t i = begin; i < end; ++i) {
                    const std::byte* source =
                            from + (i / count * x[axis] + indices[i % count]) * row;
                    if (row <= kLongRow) {
                        std::memcpy(to + i * row, source, static_cast<size_t>(row));
                        continue;
                    }
                    StridedCopy copy;
                    copy.addAxis(row, 1, 1);
                    HALYARD_RETURN_IF_ERROR(copy.run(call, 1, source, to + i * row, set));
                }
                return {};
            });
}

}  // namespace

Status supports(const Reshape& /*node*/, const Graph& /*graph*/, const Node& /*whole*/) {
    return {};
}
Result<std::unique_ptr<const StepKernel>> compile(const Reshape& /*node*/,
                                                  const KernelArguments& arguments,
                                                  const CpuTarget& target) {
    return compileCopy(arguments, target.set);
}

Status supports(const Squeeze& /*node*/, const Graph& /*graph*/, const Node& /*whole*/) {
    return {};
}
Result<std::unique_ptr<const StepKernel>> compile(const Squeeze& /*node*/,
                                                  const KernelArguments& arguments,
                                                  const CpuTarget& target) {
    return compileCopy(arguments, target.set);
}

Status supports(const ExpandDims& /*node*/, const Graph& /*graph*/, const Node& /*whole*/) {
    return {};
}
Result<std::unique_ptr<const StepKernel>> compile(const ExpandDims& /*node*/,
                                                  const KernelArguments& arguments,
                                                  const CpuTarget& target) {
    return compileCopy(arguments, target.set);
}

Status supports(const Transpose& /*node*/, const Graph& /*graph*/, const Node& /*whole*/) {
    return {};
}
Result<std::unique_ptr<const StepKernel>> compile(const Transpose& /*node*/,
                                                  const KernelArguments& arguments,
                                                  const CpuTarget& target) {
    return plainKernel(arguments, toString(target.set),
                       [set = target.set](KernelCall& call) { return transpose(call, set); });
}

Status supports(const DepthToSpace& /*node*/, const Graph& /*graph*/, const Node& /*whole*/) {
    return {};
}
Result<std::unique_ptr<const StepKernel>> compile(const DepthToSpace& node,
                                                  const KernelArguments& arguments,
                                                  const CpuTarget& target) {
    return plainKernel(arguments, {}, [node, set = target.set](KernelCall& call) {
        return depthToSpace(node, call, set);
    });
}

Status supports(const SpaceToDepth& /*node*/, const Graph& /*graph*/, const Node& /*whole*/) {
    return {};
}
Result<std::unique_ptr<const StepKernel>> compile(const SpaceToDepth& node,
                                                  const KernelArguments& arguments,
                                                  const CpuTarget& target) {
    return plainKernel(arguments, {}, [node, set = target.set](KernelCall& call) {
        return spaceToDepth(node, call, set);
    });
}

Status supports(const BatchToSpace& /*node*/, const Graph& /*graph*/, const Node& /*whole*/) {
    return {};
}
Result<std::unique_ptr<const StepKernel>> compile(const BatchToSpace& /*node*/,
                                                  const KernelArguments& arguments,
                                                  const CpuTarget& target) {
    return plainKernel(arguments, {},
                       [set = target.set](KernelCall& call) { return batchToSpace(call, set); });
}

Status supports(const SpaceToBatch& /*node*/, const Graph& /*graph*/, const Node& /*whole*/) {
    return {};
}
Result<std::unique_ptr<const StepKernel>> compile(const SpaceToBatch& /*node*/,
                                                  const KernelArguments& arguments,
                                                  const CpuTarget& target) {
    return plainKernel(arguments, {},
                       [set = target.set](KernelCall& call) { return spaceToBatch(call, set); });
}

Status supports(const Tile& /*node*/, const Graph& /*graph*/, const Node& /*whole*/) {
    return {};
}
Result<std::unique_ptr<const StepKernel>> compile(const Tile& /*node*/,
                                                  const KernelArguments& arguments,
                                                  const CpuTarget& target) {
    return plainKernel(arguments, {},
                       [set = target.set](KernelCall& call) { return tile(call, set); });
}

Status supports(const Reverse& /*node*/, const Graph& /*graph*/, const Node& /*whole*/) {
    return {};
}
Result<std::unique_ptr<const StepKernel>> compile(const Reverse& /*node*/,
                                                  const KernelArguments& arguments,
                                                  const CpuTarget& target) {
    return plainKernel(arguments, {},
                       [set = target.set](KernelCall& call) { return reverse(call, set); });
}

Status supports(const ChannelShuffle& /*node*/, const Graph& /*graph*/, const Node& /*whole*/) {
    return {};
}
Result<std::unique_ptr<const StepKernel>> compile(const ChannelShuffle& node,
                                                  const KernelArguments& arguments,
                                                  const CpuTarget& target) {
    return plainKernel(arguments, toString(target.set), [node, set = target.set](KernelCall& call) {
        return shuffleChannels(node, call, set);
    });
}

Status supports(const Gather& /*node*/, const Graph& /*graph*/, const Node& /*whole*/) {
    return {};
}
Result<std::unique_ptr<const StepKernel>> compile(const Gather& node,
                                                  const KernelArguments& arguments,
                                                  const CpuTarget& target) {
    return plainKernel(
            arguments, {},
            [node, set = target.set](KernelCall& call) { return gather(node, call, set); },
            /*checks=*/true);
}

}  // namespace halyard::engine::cpu
