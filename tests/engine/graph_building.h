// SPDX-License-Identifier: Apache-2.0
//
// Small graphs in few words, for tests.

#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/graph/graph.h"

namespace halyard::engine {

inline TensorType float32(Shape shape) {
    return {.type = DataType::FLOAT32, .shape = shape, .quantization = {}};
}

inline TensorType int32(Shape shape) {
    return {.type = DataType::INT32, .shape = shape, .quantization = {}};
}

// A constant of the given elements.
template <typename T>
TensorId addConstant(Graph& graph, TensorType type, const std::vector<T>& elements) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(elements.data());
    return graph
            .addConstant(std::move(type),
                         {.owner = nullptr, .bytes = {bytes, elements.size() * sizeof(T)}})
            .value();
}

// A node with one new FLOAT32 output, of unknown shape unless told otherwise. Returns the output.
inline TensorId addNode(Graph& graph, NodeDescriptor descriptor, std::vector<TensorId> inputs,
                        std::string label = "node", Shape shape = Shape::unknownRank()) {
    const TensorId output = graph.addTensor(float32(shape));
    graph.addNode({.descriptor = std::move(descriptor),
                   .inputs = std::move(inputs),
                   .outputs = {output},
                   .label = std::move(label),
                   .sources = {static_cast<uint32_t>(graph.nodes().size())}});
    return output;
}

inline TensorId addActivate(Graph& graph, TensorId input, std::string label = "activate") {
    return addNode(graph, Activate(), {input}, std::move(label));
}

inline TensorId addSum(Graph& graph, TensorId a, TensorId b, std::string label = "sum") {
    return addNode(graph, Binary(), {a, b}, std::move(label));
}

}  // namespace halyard::engine
