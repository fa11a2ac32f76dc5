// SPDX-License-Identifier: Apache-2.0
//
// Several tensors made one, and one made several.

#include <algorithm>
#include <cstdint>

#include "engine/backends/cpu/elementwise/byte_lookup.h"
#include "engine/backends/cpu/kernels/kernels.h"
#include "engine/backends/cpu/kernels/plain_kernel.h"
#include "engine/backends/cpu/kernels/strided_copy.h"
#include "engine/graph/shape_inference.h"
#include "engine/numerics/requantize.h"

namespace halyard::engine::cpu {
namespace {

int64_t countFrom(const Shape& shape, size_t firstAxis) {
    return countOf(Shape(shape.extents().subspan(firstAxis)));
}

// Bytes of one scale as those of another, as the reference requantises when it joins.
ByteTable requantizationTable(const TensorType& input, const TensorType& output) {
    const float m = multiplier(input.quantization.scale, 1.0F, output.quantization.scale);
    const bool isSigned = input.type == DataType::QUANT8_ASYMM_SIGNED;
    ByteTable table{};
    for (size_t byte = 0; byte < table.size(); ++byte) {
        const auto bits = static_cast<uint8_t>(byte);
        const int32_t stored = isSigned ? int32_t{static_cast<int8_t>(bits)} : int32_t{bits};
        const auto steps = static_cast<float>(stored - input.quantization.zeroPoint);
        table[byte] = static_cast<uint8_t>(
                roundAndClamp(steps * m, output.quantization.zeroPoint, rangeOf(output.type)));
    }
    return table;
}

// `rows` rows of `row` bytes, which lie `stride` apart where they go to.
struct Rows {
    const uint8_t* from = nullptr;
    uint8_t* to = nullptr;
    int64_t rows = 0;
    int64_t row = 0;
    int64_t stride = 0;
};

Status lookUpRows(KernelCall& call, const Rows& rows, const ByteTable& table, LookUpBytes lookUp) {
    constexpr int64_t kChunk = 1 << 12;
    const int64_t chunks = (rows.row + kChunk - 1) / kChunk;
    return call.inParallel(rows.rows * chunks, 8 + std::min(rows.row, kChunk) / 4,
                           [&](int64_t begin, int64_t end, size_t /*worker*/) {
                               for (int64_t i = begin; i < end; ++i) {
                                   const int64_t first = i % chunks * kChunk;
                                   lookUp(table, rows.from + i / chunks * rows.row + first,
                                          rows.to + i / chunks * rows.stride + first,
                                          std::min(kChunk, rows.row - first));
                               }
                           });
}

// The output consists of rows, everything below one index of the axes before `axis`; each is one
// row of each input after the other.
Status join(KernelCall& call, int32_t nodeAxis, InstructionSet set) {
    const TensorView& output = call.output(0);
    HALYARD_ASSIGN_OR_RETURN(const size_t axis, resolveAxis(nodeAxis, output.shape().rank()));
    const int64_t outputRow = countFrom(output.shape(), axis);
    if (outputRow == 0) {
        return {};
    }
    const int64_t rows = countOf(output.shape()) / outputRow;
    const size_t size = elementSize(output.type->type);
    int64_t begin = 0;
    for (size_t part = 0; part < call.inputCount(); ++part) {
        const ConstTensorView& input = call.input(part);
        const int64_t row = countFrom(input.shape(), axis);
        auto* const to = output.as<uint8_t>() + begin * static_cast<int64_t>(size);
        if (row > 0 && isOfBytes(output.type->type) &&
            input.type->quantization != output.type->quantization) {
            const ByteTable table = requantizationTable(*input.type, *output.type);
            HALYARD_RETURN_IF_ERROR(lookUpRows(call,
                                               {.from = input.as<uint8_t>(),
                                                .to = to,
                                                .rows = rows,
                                                .row = row,
                                                .stride = outputRow},
                                               table, lookUpBytes(set)));
        } else {
            StridedCopy copy;
            copy.addAxis(rows, row, outputRow);
            copy.addAxis(row, 1, 1);
            HALYARD_RETURN_IF_ERROR(copy.run(call, size, input.data, to, set));
        }
        begin += row;
    }
    return {};
}

Status split(const Split& node, KernelCall& call, InstructionSet set) {
    const ConstTensorView& x = call.input(0);
    HALYARD_ASSIGN_OR_RETURN(const size_t axis, resolveAxis(node.axis, x.shape().rank()));
    const int64_t inputRow = countFrom(x.shape(), axis);
    if (inputRow == 0) {
        return {};
    }
    const int64_t rows = countOf(x.shape()) / inputRow;
    const size_t size = elementSize(x.type->type);
    int64_t begin = 0;
    for (size_t part = 0; part < call.outputCount(); ++part) {
        const int64_t row = countFrom(call.output(part).shape(), axis);
        StridedCopy copy;
        copy.addAxis(rows, inputRow, row);
        copy.addAxis(row, 1, 1);
        HALYARD_RETURN_IF_ERROR(copy.run(call, size,
                                         x.as<std::byte>() + begin * static_cast<int64_t>(size),
                                         call.output(part).data, set));
        begin += row;
    }
    return {};
}

Status supportsJoining(const Graph& graph, const Node& node) {
    const TensorType& output = outputType(graph, node);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (isQuantized(output.type) && !isOfBytes(output.type) &&
            inputType(graph, node, i).quantization != output.quantization) {
            return unsupported("changes the scale of asymmetric 8-bit types only, not of " +
                               output.toString());
        }
    }
    return {};
}

}  // namespace

Status supports(const Concat& /*node*/, const Graph& graph, const Node& whole) {
    return supportsJoining(graph, whole);
}
Result<std::unique_ptr<const StepKernel>> compile(const Concat& node,
                                                  const KernelArguments& arguments,
                                                  const CpuTarget& target) {
    return plainKernel(arguments, {}, [axis = node.axis, set = target.set](KernelCall& call) {
        return join(call, axis, set);
    });
}

Status supports(const Pack& /*node*/, const Graph& graph, const Node& whole) {
    return supportsJoining(graph, whole);
}
Result<std::unique_ptr<const StepKernel>> compile(const Pack& node,
                                                  const KernelArguments& arguments,
                                                  const CpuTarget& target) {
    return plainKernel(arguments, {}, [axis = node.axis, set = target.set](KernelCall& call) {
        return join(call, axis, set);
    });
}

Status supports(const Split& /*node*/, const Graph& /*graph*/, const Node& /*whole*/) {
    return {};
}
Result<std::unique_ptr<const StepKernel>> compile(const Split& node,
                                                  const KernelArguments& arguments,
                                                  const CpuTarget& target) {
    return plainKernel(arguments, {}, [node, set = target.set](KernelCall& call) {
        return split(node, call, set);
    });
}

}  // namespace halyard::engine::cpu
