// SPDX-License-Identifier: Apache-2.0
//
// Nodes that GpuAcc computes together, against CpuRef, which computes them one by one.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/backends/ref/cpu_ref.h"
#include "engine/plan/profile.h"
#include "engine/plan/program.h"
#include "tests/engine/gpu_acc/on_device.h"
#include "tests/engine/plan/running.h"

namespace halyard::engine::gpu_test {
namespace {

// A graph of constants from random numbers, with one input.
class Builder {
  public:
    explicit Builder(DataType type) : mType(type) {}

    TensorId input(Shape shape) {
        const TensorId id = mGraph.addTensor(typed(shape));
        mInputs.push_back(id);
        return id;
    }
    // A layer whose weights have this shape, channel by channel of the output.
    TensorId layer(const NodeDescriptor& node, TensorId x, Shape weights, Shape output) {
        const TensorType weightType = typed(weights);
        const int32_t channels = output[3];
        const TensorId w = constant(mRandom.values(weightType));
        const TensorId b = constant(
                isFloat(mType)
                        ? mRandom.values(typeOf(mType, {channels}))
                        : ref_test::ints({channels},
                                         std::vector<int32_t>(static_cast<size_t>(channels), 300)));
        return add(node, {x, w, b}, output);
    }
    TensorId add(const NodeDescriptor& node, std::vector<TensorId> inputs, Shape output) {
        return addOf(typed(output), node, std::move(inputs));
    }
    // With the steps that its first input has.
    TensorId addInSteps(const NodeDescriptor& node, std::vector<TensorId> inputs, Shape output) {
        TensorType type = mGraph.tensor(inputs[0]).type;
        type.shape = output;
        return addOf(type, node, std::move(inputs));
    }
    TensorId constant(const Values& values) {
        return mGraph.addConstant(values.type, {.owner = nullptr, .bytes = values.bytes}).value();
    }
    TensorId list(const std::vector<int32_t>& elements) {
        return constant(ref_test::ints({static_cast<int32_t>(elements.size())}, elements));
    }
    Graph graph(TensorId output) {
        mGraph.setInputs(mInputs);
        mGraph.setOutputs({output});
        return mGraph;
    }
    RandomValues& random() { return mRandom; }

  private:
    TensorId addOf(const TensorType& type, const NodeDescriptor& node,
                   std::vector<TensorId> inputs) {
        const TensorId id = mGraph.addTensor(type);
        mGraph.addNode({.descriptor = node,
                        .inputs = std::move(inputs),
                        .outputs = {id},
                        .label = "node " + std::to_string(mGraph.nodes().size()),
                        .sources = {0}});
        return id;
    }
    TensorType typed(Shape shape) { return randomType(mRandom, mType, shape, 0.05F); }

    const DataType mType;
    RandomValues mRandom;
    Graph mGraph;
    std::vector<TensorId> mInputs;
};

Values run(const Graph& graph, const Backend& backend, const std::vector<Values>& inputs,
           std::vector<std::string>* kernels = nullptr) {
    const auto program = buildOrDie(graph, {&backend});
    Execution execution = Execution::create(program).value();
    std::vector<InputBinding> in;
    for (const Values& input : inputs) {
        in.push_back({.bytes = input.bytes, .shape = input.type.shape});
    }
    Values result = {.type = graph.tensor(graph.outputs()[0]).type, .bytes = {}};
    result.bytes.resize(result.type.byteSize().value());
    const std::vector<OutputBinding> out = {{.bytes = result.bytes}};
    Profile profile(program);
    const Status status =
            execution.run(in, out, {.trace = kernels == nullptr ? nullptr : &profile}, nullptr);
    EXPECT_TRUE(status.ok()) << status.toString();
    if (kernels != nullptr) {
        profile.endRun();
        for (const NodeProfile& node : profile.nodes()) {
            kernels->emplace_back(node.kernel);
        }
    }
    return result;
}

// With the names of the kernels.
void check(Builder& builder, TensorId output, const std::vector<std::string>& expected,
           GemmKind gemm = GemmKind::DIRECT, double halfTolerance = 4e-3, double tolerance = 1e-5) {
    SCOPED_TRACE(builder.random().seedText());
    const Graph graph = builder.graph(output);
    std::vector<Values> inputs;
    for (const TensorId input : graph.inputs()) {
        inputs.push_back(builder.random().values(graph.tensor(input).type));
    }
    std::vector<std::string> kernels;
    const Values actual = run(graph, *backend(gemm), inputs, &kernels);
    EXPECT_EQ(kernels, expected);
    EXPECT_TRUE(cpu_test::sameValues(run(graph, *backend(gemm), inputs), actual, 0))
            << "traced or not";
    EXPECT_TRUE(cpu_test::sameValues(
            actual, run(graph, *makeCpuRef(), inputs),
            actual.type.type == DataType::FLOAT16 ? halfTolerance : tolerance, 1.0));
}

TEST(GpuAccFusion, TakesActivationsAndSumsIntoConvolutions) {
    HALYARD_NEEDS_DEVICE();
    for (const DataType type : kReals) {
        SCOPED_TRACE(toString(type));
        Builder builder(type);
        const Shape shape = {2, 5, 6, 7};
        const TensorId x = builder.input(shape);
        const TensorId conv =
                builder.layer(Conv2d{.activation = Activation::RELU6}, x, {7, 1, 1, 7}, shape);
        const TensorId sum = builder.add(Binary{.activation = Activation::RELU}, {x, conv}, shape);
        const TensorId last =
                builder.add(Activate{.function = Activate::Function::HARD_SWISH}, {sum}, shape);
        check(builder, last, {"gpu::Conv2d + Binary + Activate"});
    }
}

TEST(GpuAccFusion, TakesThemIntoDepthwiseOnes) {
    HALYARD_NEEDS_DEVICE();
    for (const DataType type : kReals) {
        SCOPED_TRACE(toString(type));
        Builder builder(type);
        const Shape shape = {1, 6, 5, 9};
        const TensorId x = builder.input(shape);
        const TensorId conv =
                builder.layer(DepthwiseConv2d{.window = {.padding = PaddingScheme::SAME}}, x,
                              {1, 3, 3, 9}, shape);
        const TensorId active =
                builder.add(Activate{.function = Activate::Function::LOGISTIC}, {conv}, shape);
        const TensorId other = builder.input(shape);
        const TensorId sum = builder.add(Binary(), {active, other}, shape);
        check(builder, sum, {"gpu::DepthwiseConv2d + Activate + Binary"});
    }
}

TEST(GpuAccFusion, TakesWhatSlopesAndBoundsOfTheChannelsDo) {
    HALYARD_NEEDS_DEVICE();
    for (const DataType type : kReals) {
        SCOPED_TRACE(toString(type));
        Builder builder(type);
        const Shape shape = {2, 6, 5, 9};
        const TensorId x = builder.input(shape);
        const TensorId conv =
                builder.layer(DepthwiseConv2d{.window = {.padding = PaddingScheme::SAME}}, x,
                              {1, 3, 3, 9}, shape);
        const TensorId slopes = builder.input({9});
        const TensorId sloped =
                builder.add(Binary{.function = Binary::Function::PRELU}, {conv, slopes}, shape);
        const TensorId least = builder.input({1, 9});
        const TensorId bounded =
                builder.add(Binary{.function = Binary::Function::MAXIMUM}, {least, sloped}, shape);
        const TensorId most = builder.input({1});
        const TensorId last =
                builder.add(Binary{.function = Binary::Function::MINIMUM}, {bounded, most}, shape);
        check(builder, last, {"gpu::DepthwiseConv2d + Binary + Binary + Binary"});
    }
}

// In the forms of tiles, with strides, larger windows, edges that no tile divides and what stands
// between the two. CpuRef rounds each of a window's FLOAT16 pixels.
TEST(GpuAccFusion, TakesDepthwiseConvolutionsOfExpandedPixels) {
    HALYARD_NEEDS_DEVICE();
    struct Case {
        Shape x;
        int32_t channels;
        int32_t size;
        int32_t stride;
        Shape output;
        bool hasActivation;
    };
    const Case cases[] = {
            {{1, 9, 11, 8}, 40, 3, 1, {1, 9, 11, 40}, false},
            {{2, 13, 9, 12}, 20, 3, 2, {2, 7, 5, 20}, false},
            {{1, 14, 14, 16}, 48, 5, 1, {1, 14, 14, 48}, true},
            {{1, 7, 8, 7}, 9, 5, 2, {1, 4, 4, 9}, true},
    };
    for (const DataType type : kReals) {
        for (int form = 0; form < 4; ++form) {
            // With a matrix unit, too: for float32, which is strict here, with its asynchronous
            // copies.
            for (int emulatesMatrixUnit = 0; emulatesMatrixUnit <= form % 2; ++emulatesMatrixUnit) {
                const Case& each = cases[form];
                SCOPED_TRACE(std::string(toString(type)) + " " + each.x.toString() + " form " +
                             std::to_string(form) +
                             (emulatesMatrixUnit != 0 ? " with a matrix unit" : ""));
                Builder builder(type);
                const TensorId x = builder.input(each.x);
                const Shape expanded = {each.x[0], each.x[1], each.x[2], each.channels};
                TensorId result = builder.layer(Conv2d{.activation = Activation::RELU6}, x,
                                                {each.channels, 1, 1, each.x[3]}, expanded);
                if (each.hasActivation) {
                    result = builder.add(Activate{.function = Activate::Function::HARD_SWISH},
                                         {result}, expanded);
                }
                result = builder.layer(DepthwiseConv2d{.window = {.padding = PaddingScheme::SAME,
                                                                  .strideH = each.stride,
                                                                  .strideW = each.stride},
                                                       .activation = Activation::RELU},
                                       result, {1, each.size, each.size, each.channels},
                                       each.output);
                const TensorId other = builder.input(each.output);
                result = builder.add(Binary(), {other, result}, each.output);
                check(builder, result,
                      {each.hasActivation ? "gpu::Conv2d + Activate + DepthwiseConv2d + Binary"
                                          : "gpu::Conv2d + DepthwiseConv2d + Binary"},
                      {.isTiled = true,
                       .form = form,
                       .emulatesMatrixUnit = emulatesMatrixUnit != 0,
                       .isStrict = type == DataType::FLOAT32},
                      2e-2);
            }
        }
    }
}

// Those of a convolution that is fused with its epilogue alone: with the mean behind it, it is
// another choice.
TEST(GpuAccFusion, TellsWhichFormsOfAGemmLost) {
    HALYARD_NEEDS_DEVICE();
    const auto lostOf = [](bool hasMean) {
        Builder builder(DataType::FLOAT32);
        TensorId result = builder.layer(Conv2d(), builder.input({1, 7, 7, 24}), {40, 1, 1, 24},
                                        {1, 7, 7, 40});
        result = builder.add(Activate{.function = Activate::Function::RELU6}, {result},
                             {1, 7, 7, 40});
        if (hasMean) {
            result = builder.add(Pool2d{.filterH = 7, .filterW = 7}, {result}, {1, 1, 1, 40});
        }
        const auto program = buildOrDie(builder.graph(result), {backend(GemmKind::TILED)});
        return program->placement().front().lostForms;
    };
    const std::string lost = lostOf(false);
    EXPECT_NE(lost.find("gemv: M is 49, more than 4"), std::string::npos) << lost;
    EXPECT_NE(lost.find(" cycles, and tile "), std::string::npos) << lost;
    EXPECT_EQ(lostOf(true), "");
}

// As networks for images end, with tiles of several heights. Bytes round as a pooling or a mean
// has them.
TEST(GpuAccFusion, TakesMeansOfFeatureMapsIntoConvolutions) {
    HALYARD_NEEDS_DEVICE();
    const auto product = [](Builder& builder, const Conv2d& conv, Shape x, Shape weights) {
        return builder.layer(conv, builder.input(x), weights, {x[0], x[1], x[2], weights[0]});
    };
    // PoCL takes seconds to compile each: a matrix unit, and form 1, every other time.
    bool emulatesMatrixUnit = false;
    for (const DataType type : kReals) {
        const auto gemm = [&](int form) {
            emulatesMatrixUnit = !emulatesMatrixUnit;
            return GemmKind{.isTiled = true,
                            .form = form,
                            .emulatesMatrixUnit = emulatesMatrixUnit,
                            .isStrict = type == DataType::FLOAT32};
        };
        SCOPED_TRACE(toString(type));
        {
            Builder builder(type);
            const Shape shape = {2, 7, 7, 40};
            TensorId result = product(builder, {}, {2, 7, 7, 24}, {40, 1, 1, 24});
            result = builder.add(Binary{.activation = Activation::RELU},
                                 {builder.input(shape), result}, shape);
            result =
                    builder.add(Pool2d{.filterH = 7, .filterW = 7, .activation = Activation::RELU6},
                                {result}, {2, 1, 1, 40});
            result = builder.addInSteps(Reshape(), {result, builder.list({2, 40})}, {2, 40});
            check(builder, result, {"gpu::Conv2d + Binary + Pool2d + Reshape"}, gemm(1));
        }
        {
            Builder builder(type);
            TensorId result = product(
                    builder,
                    {.window = {.padding = PaddingScheme::SAME}, .activation = Activation::RELU},
                    {2, 5, 6, 16}, {20, 3, 3, 16});
            result = builder.add(Reduce(), {result, builder.list({1, -2})}, {2, 20});
            result = builder.add(Activate{.function = Activate::Function::LOGISTIC}, {result},
                                 {2, 20});
            check(builder, result, {"gpu::Conv2d + Reduce + Activate"}, gemm(0));
        }
        {
            Builder builder(type);
            TensorId result = product(builder, {.groups = 2}, {3, 3, 4, 16}, {18, 1, 1, 8});
            result =
                    builder.addInSteps(Pool2d{.filterH = 3, .filterW = 4}, {result}, {3, 1, 1, 18});
            check(builder, result, {"gpu::Conv2d + Pool2d"}, gemm(1));
        }
        {
            Builder builder(type);
            TensorId result = product(builder, {}, {1, 9, 10, 7}, {9, 1, 1, 7});
            result = builder.add(Reduce{.keepDims = true}, {result, builder.list({2, 1, 2})},
                                 {1, 1, 1, 9});
            check(builder, result, {"gpu::Conv2d + Reduce"}, gemm(1));
        }
        emulatesMatrixUnit = !emulatesMatrixUnit;
    }
}

// Each element as it would be stored: 2049 is not among them, and the even neighbour is 2048.
TEST(GpuAccFusion, RoundsHalvesBeforeTheirMean) {
    HALYARD_NEEDS_DEVICE();
    Builder builder(DataType::FLOAT16);
    const TensorId x = builder.input({1, 4, 4, 2});
    const TensorId w = builder.constant(ref_test::halves({8, 1, 1, 2}, std::vector<float>(16, 1)));
    const TensorId b = builder.constant(ref_test::halves({8}, std::vector<float>(8, 0)));
    const TensorId conv = builder.add(Conv2d(), {x, w, b}, {1, 4, 4, 8});
    const TensorId pool = builder.add(Pool2d{.filterH = 4, .filterW = 4}, {conv}, {1, 1, 1, 8});
    std::vector<float> elements;
    for (int pair = 0; pair < 8; ++pair) {
        elements.insert(elements.end(), {2048, 1, -2048, 0});
    }
    const Values input = ref_test::halves({1, 4, 4, 2}, elements);
    std::vector<std::string> kernels;
    const Values actual = run(builder.graph(pool), *backend(GemmKind::TILED), {input}, &kernels);
    EXPECT_EQ(kernels, std::vector<std::string>{"gpu::Conv2d + Pool2d"});
    EXPECT_TRUE(cpu_test::sameValues(actual,
                                     ref_test::halves({1, 1, 1, 8}, std::vector<float>(8, 0)), 0));
}

// Of rows so long that groups share a tile, the last one of them has the means. Thousands of
// products differ by their order.
TEST(GpuAccFusion, TakesMeansIntoConvolutionsOfLongRows) {
    HALYARD_NEEDS_DEVICE();
    for (const DataType type : kReals) {
        SCOPED_TRACE(toString(type));
        Builder builder(type);
        TensorId result =
                builder.layer(Conv2d{.window = {.padding = PaddingScheme::SAME}},
                              builder.input({1, 4, 4, 512}), {16, 3, 3, 512}, {1, 4, 4, 16});
        result = builder.add(Reduce(), {result, builder.list({1, 2})}, {1, 16});
        check(builder, result, {"gpu::Conv2d + Reduce"},
              {.isTiled = true,
               .form = type == DataType::FLOAT32 ? 3 : 1,
               .emulatesMatrixUnit = true,
               .isStrict = type == DataType::FLOAT32},
              4e-3, 1e-4);
    }
}

TEST(GpuAccFusion, LeavesAloneWhatOthersRead) {
    HALYARD_NEEDS_DEVICE();
    Builder builder(DataType::FLOAT32);
    const Shape shape = {1, 3, 4, 5};
    const TensorId x = builder.input(shape);
    const TensorId conv = builder.layer(Conv2d(), x, {5, 1, 1, 5}, shape);
    const TensorId active = builder.add(Activate(), {conv}, shape);
    const TensorId sum = builder.add(Binary(), {active, conv}, shape);
    check(builder, sum, {"gpu::Conv2d", "gpu::Activate", "gpu::Binary"});
}

}  // namespace
}  // namespace halyard::engine::gpu_test
