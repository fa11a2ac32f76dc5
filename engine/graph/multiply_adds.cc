// SPDX-License-Identifier: Apache-2.0

#include "engine/graph/multiply_adds.h"

#include <cstddef>
#include <initializer_list>
#include <variant>

namespace halyard::engine {
namespace {

// The tensors of one node. What is unknown or left out has no elements, and so counts nothing.
class Tensors {
  public:
    Tensors(const Graph& graph, const Node& node) : mGraph(graph), mNode(node) {}

    uint64_t input(size_t index) const {
        return index < mNode.inputs.size() && mNode.inputs[index] != kNoTensor
                       ? elements(mNode.inputs[index])
                       : 0;
    }
    uint64_t inputs(std::initializer_list<size_t> indexes) const {
        uint64_t sum = 0;
        for (const size_t index : indexes) {
            sum += input(index);
        }
        return sum;
    }
    uint64_t output() const { return mNode.outputs.empty() ? 0 : elements(mNode.outputs[0]); }
    // An extent of an input, 0 where it is not known; from the end, the last axis is 0.
    uint64_t extent(size_t index, size_t axis) const {
        const Shape& shape = mGraph.tensor(mNode.inputs[index]).type.shape;
        return axis < shape.rank() && shape[axis] > 0 ? static_cast<uint64_t>(shape[axis]) : 0;
    }
    uint64_t extentFromEnd(size_t index, size_t axis) const {
        const size_t rank = mGraph.tensor(mNode.inputs[index]).type.shape.rank();
        return axis < rank ? extent(index, rank - 1 - axis) : 0;
    }
    // How many rows an input has, seen as a matrix of its last axis.
    uint64_t rows(size_t index) const {
        const uint64_t columns = extentFromEnd(index, 0);
        return columns == 0 ? 0 : input(index) / columns;
    }

  private:
    uint64_t elements(TensorId id) const {
        const Result<int64_t> count = mGraph.tensor(id).type.shape.elementCount();
        return count.ok() ? static_cast<uint64_t>(*count) : 0;
    }

    const Graph& mGraph;
    const Node& mNode;
};

uint64_t count(const Conv2d&, const Tensors& tensors) {
    const uint64_t channels = tensors.extent(1, 0);
    return channels == 0 ? 0 : tensors.output() * (tensors.input(1) / channels);
}

uint64_t count(const DepthwiseConv2d&, const Tensors& tensors) {
    return tensors.output() * tensors.extent(1, 1) * tensors.extent(1, 2);
}

// Each element of x goes to every element of the filter that has its channel.
uint64_t count(const TransposeConv2d&, const Tensors& tensors) {
    return tensors.input(0) * tensors.extent(1, 0) * tensors.extent(1, 1) * tensors.extent(1, 2);
}

uint64_t count(const FullyConnected&, const Tensors& tensors) {
    return tensors.input(0) * tensors.extent(1, 0);
}

uint64_t count(const BatchMatmul& node, const Tensors& tensors) {
    return tensors.output() * tensors.extentFromEnd(0, node.transposeA ? 1 : 0);
}

uint64_t count(const Rnn&, const Tensors& tensors) {
    return tensors.inputs({1, 2}) * tensors.rows(0);
}

uint64_t count(const RnnSequence&, const Tensors& tensors) {
    return tensors.inputs({1, 2, 6}) * tensors.rows(0);
}

// A row of the gates' weights, and of the projection's, for each step.
uint64_t ofGates(const Tensors& tensors) {
    return tensors.inputs({1, 2, 3, 4, 5, 6, 7, 8}) * tensors.rows(0);
}

uint64_t ofProjection(const Tensors& tensors) {
    return tensors.input(16) * tensors.rows(0);
}

uint64_t count(const Lstm&, const Tensors& tensors) {
    return ofGates(tensors) + ofProjection(tensors);
}

uint64_t count(const LstmSequence&, const Tensors& tensors) {
    return ofGates(tensors) + ofProjection(tensors) +
           tensors.inputs({25, 26, 27, 28}) * tensors.rows(0);
}

uint64_t count(const QuantizedLstm&, const Tensors& tensors) {
    return ofGates(tensors) + ofProjection(tensors);
}

uint64_t count(const Quantized16BitLstm&, const Tensors& tensors) {
    return ofGates(tensors);
}

uint64_t count(const Svdf&, const Tensors& tensors) {
    return tensors.inputs({1, 2}) * tensors.rows(0);
}

// For all other kinds; a template, so that those above are preferred.
template <typename Descriptor>
uint64_t count(const Descriptor&, const Tensors&) {
    return 0;
}

}  // namespace

uint64_t multiplyAdds(const Graph& graph, const Node& node) {
    const Tensors tensors(graph, node);
    return std::visit([&](const auto& descriptor) { return count(descriptor, tensors); },
                      node.descriptor);
}

}  // namespace halyard::engine
