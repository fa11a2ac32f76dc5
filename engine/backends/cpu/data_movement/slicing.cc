// SPDX-License-Identifier: Apache-2.0
//
// Parts of a tensor, and tensors with something around them.

#include <array>
#include <cstdint>

#include "engine/backends/cpu/data_movement/padding.h"
#include "engine/backends/cpu/kernels/kernels.h"
#include "engine/backends/cpu/kernels/plain_kernel.h"
#include "engine/backends/cpu/kernels/strided_copy.h"
#include "engine/graph/control_input.h"
#include "engine/numerics/index_walk.h"

namespace halyard::engine::cpu {
namespace {

Status copySlice(KernelCall& call, const SliceRanges& ranges, InstructionSet set) {
    const Shape& x = call.input(0).shape();
    const Strides strides = stridesOf(x);
    Shape extents = x;  // with the axes that go, which have one element
    int64_t origin = 0;
    for (size_t axis = 0; axis < x.rank(); ++axis) {
        extents[axis] = ranges[axis].extent;
        origin += ranges[axis].begin * strides[axis];
    }
    if (countOf(extents) == 0) {
        return {};
    }
    const Strides dense = stridesOf(extents);
    StridedCopy copy;
    for (size_t axis = 0; axis < x.rank(); ++axis) {
        copy.addAxis(extents[axis], ranges[axis].stride * strides[axis], dense[axis]);
    }
    const size_t size = elementSize(call.output(0).type->type);
    return copy.run(call, size, call.input(0).as<std::byte>() + origin * static_cast<int64_t>(size),
                    call.output(0).data, set);
}

}  // namespace

Status supports(const Slice& /*node*/, const Graph& /*graph*/, const Node& /*whole*/) {
    return {};
}
Result<std::unique_ptr<const StepKernel>> compile(const Slice& /*node*/,
                                                  const KernelArguments& arguments,
                                                  const CpuTarget& target) {
    return plainKernel(arguments, {}, [set = target.set](KernelCall& call) -> Status {
        const std::array<ConstTensorView, 3> inputs = {call.input(0), call.input(1), call.input(2)};
        HALYARD_ASSIGN_OR_RETURN(const SliceRanges ranges, readSlice(inputs, inputs[0].shape()));
        return copySlice(call, ranges, set);
    });
}

Status supports(const StridedSlice& /*node*/, const Graph& /*graph*/, const Node& /*whole*/) {
    return {};
}
Result<std::unique_ptr<const StepKernel>> compile(const StridedSlice& node,
                                                  const KernelArguments& arguments,
                                                  const CpuTarget& target) {
    return plainKernel(arguments, {}, [node, set = target.set](KernelCall& call) -> Status {
        const std::array<ConstTensorView, 4> inputs = {call.input(0), call.input(1), call.input(2),
                                                       call.input(3)};
        HALYARD_ASSIGN_OR_RETURN(const SliceRanges ranges,
                                 readStridedSlice(node, inputs, inputs[0].shape()));
        return copySlice(call, ranges, set);
    });
}

Status supports(const Pad& node, const Graph& graph, const Node& whole) {
    if (node.mode == Pad::Mode::CONSTANT && isQuantized(inputType(graph, whole).type) &&
        whole.inputs.size() > 2 && whole.inputs[2] != kNoTensor) {
        return unsupported("pads quantised types with their zero point only");
    }
    return {};
}
Result<std::unique_ptr<const StepKernel>> compile(const Pad& node, const KernelArguments& arguments,
                                                  const CpuTarget& target) {
    return plainKernel(arguments, toString(target.set), [node, set = target.set](KernelCall& call) {
        return padRows(node, call, set);
    });
}

}  // namespace halyard::engine::cpu
