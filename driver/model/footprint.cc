// SPDX-License-Identifier: Apache-2.0

#include "driver/model/footprint.h"

#include <vector>

#include "engine/graph/tensor.h"

namespace halyard::driver {
namespace {

// Bytes that the heap adds to a block.
constexpr size_t kBlock = 16;
// Bytes of a tensor and of a node in a graph, in its plan and in the report of its placement,
// beyond their lists. Measured on chains of ADD, and rounded up.
constexpr size_t kTensor = 512;
constexpr size_t kNode = 1024;
constexpr size_t kPrepared = 8192;  // whatever the model is

template <typename T>
size_t bytesOf(const std::vector<T>& elements) {
    return elements.empty() ? 0 : elements.size() * sizeof(T) + kBlock;
}

size_t extraOf(const Operand& operand) {
    if (const auto* channels = std::get_if<SymmPerChannelQuantParams>(&operand.extraParams)) {
        return bytesOf(channels->scales);
    }
    if (const auto* extension = std::get_if<std::vector<uint8_t>>(&operand.extraParams)) {
        return bytesOf(*extension);
    }
    return 0;
}

struct Sizes {
    size_t operands = 0;
    size_t operations = 0;
    size_t lists = 0;  // bytes of what operands and operations refer to
};

void add(const Subgraph& subgraph, Sizes& sizes) {
    sizes.operands += subgraph.operands.size();
    sizes.operations += subgraph.operations.size();
    sizes.lists += bytesOf(subgraph.inputIndexes) + bytesOf(subgraph.outputIndexes);
    for (const Operand& operand : subgraph.operands) {
        sizes.lists += bytesOf(operand.dimensions) + extraOf(operand);
    }
    for (const Operation& operation : subgraph.operations) {
        sizes.lists += bytesOf(operation.inputs) + bytesOf(operation.outputs);
    }
}

Sizes sizesOf(const Model& model) {
    Sizes sizes;
    add(model.main, sizes);
    for (const Subgraph& subgraph : model.referenced) {
        add(subgraph, sizes);
    }
    return sizes;
}

}  // namespace

size_t footprintOf(const Model& model) {
    const Sizes sizes = sizesOf(model);
    size_t bytes = sizes.operands * sizeof(Operand) + sizes.operations * sizeof(Operation) +
                   sizes.lists + model.operandValues->size() +
                   model.referenced.size() * sizeof(Subgraph) +
                   model.pools.size() * (sizeof(Memory) + sizeof(SharedMemory) + kBlock);
    for (const ExtensionNameAndPrefix& extension : model.extensionNameToPrefix) {
        bytes += sizeof(extension) + extension.name.size();
    }
    return bytes;
}

size_t preparedFootprintOf(const Model& model) {
    const Sizes sizes = sizesOf(model);
    return kPrepared + sizes.operands * kTensor + sizes.operations * kNode + sizes.lists +
           model.operandValues->size();
}

size_t footprintOf(const Request& request) {
    size_t bytes = bytesOf(request.inputs) + bytesOf(request.outputs) + bytesOf(request.pools);
    for (const std::vector<RequestArgument>* arguments : {&request.inputs, &request.outputs}) {
        for (const RequestArgument& argument : *arguments) {
            bytes += bytesOf(argument.dimensions);
        }
    }
    return bytes;
}

size_t resultFootprintOf(size_t outputs) {
    return outputs * (sizeof(OutputShape) + engine::kMaxRank * sizeof(uint32_t) + kBlock);
}

}  // namespace halyard::driver
