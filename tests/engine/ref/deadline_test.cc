// SPDX-License-Identifier: Apache-2.0
//
// A node stops at its deadline, however large it is.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "engine/backends/ref/cpu_ref.h"
#include "engine/plan/program.h"
#include "tests/engine/graph_building.h"
#include "tests/engine/plan/running.h"
#include "tests/engine/ref/evaluation.h"

namespace halyard::engine::ref_test {
namespace {

// Enough elements for the deadline to be looked at more than once.
constexpr int32_t kMany = 1 << 19;

// Their bytes come when they are needed.
Values zeros(DataType type, Shape shape) {
    return {.type = typeOf(type, shape, isQuantized(type) ? 1.0F : 0.0F), .bytes = {}};
}

struct Case {
    std::string name;
    NodeDescriptor node;
    std::vector<Values> inputs;
    DataType outputType = DataType::FLOAT32;
};

void PrintTo(const Case& each, std::ostream* stream) {
    *stream << each.name;
}

std::vector<Case> cases() {
    const auto f32 = [](Shape shape) { return zeros(DataType::FLOAT32, shape); };
    const auto q8 = [](Shape shape) { return zeros(DataType::QUANT8_ASYMM, shape); };
    const auto i32 = [](Shape shape) { return zeros(DataType::INT32, shape); };
    const DataType quant8 = DataType::QUANT8_ASYMM;
    const Shape row = {kMany};
    const Shape image = {1, 1024, 512, 1};
    const Pool2d maximum = {.function = Pool2d::Function::MAX, .filterH = 2, .filterW = 2};
    const Pool2d global = {.filterH = 1024, .filterW = 1024};
    Values otherScale = q8(row);
    otherScale.type.quantization.scale = 0.5F;
    return {
            {"Activate", Activate(), {f32(row)}},
            {"ActivateQuantized", Activate(), {q8(row)}, quant8},
            {"Binary", Binary(), {f32(row), f32({1})}},
            {"BinaryInt", Binary(), {i32(row), i32({1})}, DataType::INT32},
            {"BinaryQuantized", Binary(), {q8(row), q8({1})}, quant8},
            {"Concat", Concat{.axis = 0}, {f32(row), f32(row)}},
            {"ConcatOfShortRows", Concat{.axis = 1}, {f32({kMany, 1}), f32({kMany, 1})}},
            {"ConcatRequantized", Concat{.axis = 0}, {otherScale, otherScale}, quant8},
            {"Conv2d", Conv2d(), {f32(image), f32({1, 2, 2, 1}), f32({1})}},
            {"Conv2dQuantized", Conv2d(), {q8(image), q8({1, 2, 2, 1}), i32({1})}, quant8},
            {"Conv2dWithoutDepth", Conv2d(), {f32({1, 1024, 512, 0}), f32({1, 1, 1, 0}), f32({1})}},
            {"DepthwiseConv2d", DepthwiseConv2d(), {f32(image), f32({1, 2, 2, 1}), f32({1})}},
            {"Dequantize", Dequantize(), {q8(row)}},
            {"FullyConnected", FullyConnected(), {f32({1024, 32}), f32({1024, 32}), f32({1024})}},
            {"FullyConnectedWithoutLength",
             FullyConnected(),
             {f32({1024, 0}), f32({1024, 0}), f32({1024})}},
            {"Pad", Pad(), {f32({1}), ints({1, 2}, {0, kMany})}},
            {"PoolMaximum", maximum, {f32(image)}},
            {"PoolQuantized", maximum, {q8(image)}, quant8},
            {"PoolMean", Pool2d{.filterH = 9, .filterW = 9}, {f32({1, 256, 256, 1})}},
            {"PoolGlobal", global, {f32({4, 1024, 1024, 1})}},
            {"Quantize", Quantize(), {f32(row)}, quant8},
            {"Reduce", Reduce(), {f32(row), ints({1}, {0})}},
            {"ReduceOfShortRows", Reduce(), {f32({kMany, 1}), ints({1}, {1})}},
            {"ReduceQuantized", Reduce(), {q8(row), ints({1}, {0})}, quant8},
            {"Reshape", Reshape(), {f32(row), ints({1}, {-1})}},
            {"SoftmaxOfALongRow", Softmax{.axis = 0}, {f32(row)}},
            {"SoftmaxOfShortRows", Softmax{.axis = 1}, {f32({kMany, 1})}},
            {"SoftmaxQuantized", Softmax{.axis = 0}, {q8(row)}, quant8},
            {"Transpose", Transpose{.permutation = {1, 0}}, {f32({1024, 512})}},
    };
}

class EveryKind : public testing::TestWithParam<Case> {
  protected:
    void SetUp() override {
        mInputs = GetParam().inputs;
        for (Values& input : mInputs) {
            input.bytes.resize(*input.type.byteSize());
        }
    }

    // Runs the node; after so many looks at the deadline it has passed.
    Status run(int looksBefore) {
        const Case& param = GetParam();
        std::vector<ConstTensorView> views;
        for (const Values& input : mInputs) {
            views.push_back({.type = &input.type, .data = input.bytes.data()});
        }
        std::vector<TensorType> outputs = {typeOf(param.outputType, Shape::unknownRank(),
                                                  isQuantized(param.outputType) ? 1.0F : 0.0F)};
        mLooks = 0;
        const std::function<bool()> expired = [&] { return ++mLooks > looksBefore; };
        ref::Progress progress(expired);
        return std::visit(
                [&]<typename Descriptor>(const Descriptor& node) -> Status {
                    if constexpr (std::is_same_v<Descriptor, std::monostate>) {
                        return internalError("the node has no kind");
                    } else {
                        HALYARD_RETURN_IF_ERROR(inferShapes(node, views, outputs));
                        std::vector<uint8_t> bytes(*outputs[0].byteSize());
                        const TensorView view{.type = outputs.data(), .data = bytes.data()};
                        return ref::run(node, views, {&view, 1}, progress);
                    }
                },
                param.node);
    }

    std::vector<Values> mInputs;
    int mLooks = 0;
};

TEST_P(EveryKind, StopsInTheMiddleOfANode) {
    const Status whole = run(1 << 30);
    ASSERT_TRUE(whole.ok()) << whole.toString();
    const int looks = mLooks;
    ASSERT_GT(looks, 1);
    EXPECT_LT(looks, 200) << "looking takes time, too";
    for (const int before : {0, 1, looks - 1}) {
        const Status status = run(before);
        EXPECT_EQ(status.code(), StatusCode::DEADLINE_EXCEEDED) << "after " << before << " looks";
        EXPECT_EQ(mLooks, before + 1) << "it stops at once";
    }
    EXPECT_TRUE(run(looks).ok()) << "the deadline passed when it had ended";
}

INSTANTIATE_TEST_SUITE_P(Deadline, EveryKind, testing::ValuesIn(cases()),
                         [](const auto& param) { return param.param.name; });

TEST(Deadline, IsTriedOnEveryKindOfNode) {
    std::set<size_t> kinds;
    for (const Case& each : cases()) {
        kinds.insert(each.node.index());
    }
    EXPECT_EQ(kinds.size(), std::variant_size_v<NodeDescriptor> - 1) << "all but std::monostate";
}

TEST(Deadline, StopsAHugeNode) {
    // 10^13 products: hours.
    const Shape image = {1, 1000, 1000, 8};
    const Shape filter = {8, 400, 400, 8};
    Graph graph;
    const TensorId x = graph.addTensor(float32(image));
    const TensorId weights =
            addConstant<float>(graph, float32(filter), std::vector<float>(*filter.elementCount()));
    const TensorId bias = addConstant<float>(graph, float32({8}), std::vector<float>(8));
    graph.setInputs({x});
    const Conv2d node = {.window = {.padding = PaddingScheme::SAME}};
    graph.setOutputs({addNode(graph, node, {x, weights, bias}, "operation 7 (CONV_2D)")});
    const std::unique_ptr<const Backend> backend = makeCpuRef();
    Execution execution(buildOrDie(std::move(graph), {backend.get()}));
    const Floats in(static_cast<size_t>(*image.elementCount()));
    Floats out(in.size());
    const std::vector<InputBinding> inputs = {bindInput<float>(in, image)};
    const std::vector<OutputBinding> outputs = {bindOutput(out)};
    const auto soon = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
    const Status status = execution.run(inputs, outputs, soon, nullptr);
    EXPECT_EQ(status.code(), StatusCode::DEADLINE_EXCEEDED);
    EXPECT_EQ(status.message(), "CpuRef: operation 7 (CONV_2D): the deadline passed while it ran");
}

}  // namespace
}  // namespace halyard::engine::ref_test
