// SPDX-License-Identifier: Apache-2.0
//
// The graphs that models are lowered to, for tests that look at their nodes.

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "driver/ops/model_lowering.h"
#include "engine/base/half.h"
#include "engine/graph/graph.h"
#include "tests/driver/model_builder.h"

namespace halyard::driver {

// Of a model that can be lowered; an empty graph otherwise.
inline engine::Graph graphOf(const Model& model) {
    Result<engine::Graph> graph = lowerModel(model, Constants(model, poolsOf(model)));
    EXPECT_TRUE(graph.ok()) << graph.status().toString();
    return graph.ok() ? std::move(*graph) : engine::Graph();
}

// A tensor's role: "in0", "out1" (of the graph), "-" (left out), "{0, 2}" (an INT32 constant),
// "constant", "temporary".
inline std::string nameOf(const engine::Graph& graph, engine::TensorId id) {
    if (id == engine::kNoTensor) {
        return "-";
    }
    if (const auto in = std::ranges::find(graph.inputs(), id); in != graph.inputs().end()) {
        return "in" + std::to_string(in - graph.inputs().begin());
    }
    if (const auto out = std::ranges::find(graph.outputs(), id); out != graph.outputs().end()) {
        return "out" + std::to_string(out - graph.outputs().begin());
    }
    const engine::Tensor& tensor = graph.tensor(id);
    if (!tensor.isConstant()) {
        return "temporary";
    }
    if (tensor.type.type != engine::DataType::INT32) {
        return "constant";
    }
    std::string list;
    for (size_t i = 0; i < tensor.constant.bytes.size(); i += sizeof(int32_t)) {
        int32_t value = 0;
        std::memcpy(&value, &tensor.constant.bytes[i], sizeof value);
        list += (i == 0 ? "" : ", ") + std::to_string(value);
    }
    return "{" + list + "}";
}

// "in0 - {1}".
inline std::string namesOf(const engine::Graph& graph, const std::vector<engine::TensorId>& ids) {
    std::string names;
    for (const engine::TensorId id : ids) {
        names += (names.empty() ? "" : " ") + nameOf(graph, id);
    }
    return names;
}

// Node `id` of the graph, by what it computes from what to what.
inline void expectNode(const engine::Graph& graph, engine::NodeId id,
                       const engine::NodeDescriptor& descriptor, const std::string& inputs,
                       const std::string& outputs = "out0") {
    ASSERT_LT(id, graph.nodes().size());
    const engine::Node& node = graph.node(id);
    EXPECT_TRUE(node.descriptor == descriptor)
            << toString(node.descriptor) << " instead of " << toString(descriptor);
    EXPECT_EQ(namesOf(graph, node.inputs), inputs);
    EXPECT_EQ(namesOf(graph, node.outputs), outputs);
}

// The attributes of the graph's first node; those of a new one, and a failure, if it is another.
template <typename Descriptor>
Descriptor firstNode(const engine::Graph& graph) {
    const auto* found =
            graph.nodes().empty() ? nullptr : std::get_if<Descriptor>(&graph.node(0).descriptor);
    EXPECT_NE(found, nullptr);
    return found != nullptr ? *found : Descriptor();
}

inline const engine::Graph& inside(const engine::NestedGraph& nested) {
    static const engine::Graph none;
    EXPECT_NE(nested.graph, nullptr);
    return nested.graph != nullptr ? *nested.graph : none;
}

// A model of one operation, written down operand by operand.
class OperationModel {
  public:
    explicit OperationModel(OperationType type) : mType(type) {}

    OperationModel& input(const OperandSpec& spec) { return add(mBuilder.input(spec)); }
    OperationModel& omitted(const OperandSpec& spec) { return add(mBuilder.omitted(spec)); }
    template <typename T>
    OperationModel& constant(const OperandSpec& spec, const std::vector<T>& values) {
        return add(mBuilder.constant(spec, values));
    }
    template <typename T>
    OperationModel& pooled(const OperandSpec& spec, const std::vector<T>& values) {
        return add(mBuilder.pooled(spec, values));
    }
    OperationModel& int32(int32_t value) { return add(mBuilder.int32(value)); }
    OperationModel& int32s(const std::vector<int32_t>& values) {
        for (const int32_t value : values) {
            int32(value);
        }
        return *this;
    }
    OperationModel& float32(float value) { return add(mBuilder.float32(value)); }
    OperationModel& float16(float value) {
        return constant<uint16_t>({OperandType::FLOAT16, {}}, {toHalf(value).bits});
    }
    OperationModel& boolean(bool value) { return add(mBuilder.boolean(value)); }
    OperationModel& subgraph(uint32_t index) { return add(addReference(mBuilder, index)); }
    OperationModel& output(const OperandSpec& spec) {
        mOutputs.push_back(mBuilder.output(spec));
        return *this;
    }
    Model build(std::vector<Subgraph> referenced = {}) {
        mBuilder.operation(mType, mInputs, mOutputs);
        Model model = mBuilder.build();
        model.referenced = std::move(referenced);
        return model;
    }
    engine::Graph graph() { return graphOf(build()); }
    // Why it can't be lowered.
    Status status() {
        const Model model = build();
        return lowerModel(model, Constants(model, poolsOf(model))).status();
    }

    // An operand that stands for a subgraph.
    static uint32_t addReference(ModelBuilder& builder, uint32_t index) {
        const uint32_t operand = builder.temporary({OperandType::SUBGRAPH, {}});
        builder.operand(operand).lifetime = OperandLifeTime::SUBGRAPH;
        builder.operand(operand).location.offset = index;
        return operand;
    }

  private:
    OperationModel& add(uint32_t operand) {
        mInputs.push_back(operand);
        return *this;
    }

    OperationType mType;
    ModelBuilder mBuilder;
    std::vector<uint32_t> mInputs;
    std::vector<uint32_t> mOutputs;
};

inline const OperandSpec kOpen = floats({});  // of any shape

inline void expectRefused(OperationModel model, StatusCode code, const std::string& message) {
    const Status status = model.status();
    EXPECT_EQ(status.code(), code);
    EXPECT_EQ(status.message(), message);
}

inline void expectInvalid(OperationModel model, const std::string& message) {
    expectRefused(std::move(model), StatusCode::INVALID_ARGUMENT, message);
}

}  // namespace halyard::driver
