// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "engine/numerics/elements.h"
#include "tests/engine/gpu_acc/on_device.h"

namespace halyard::engine::gpu_test {
namespace {

constexpr uint64_t kConstantWeights = 0b110;

// How x and the weights are stored.
struct Types {
    DataType x = DataType::FLOAT32;
    DataType weights = DataType::FLOAT32;
};

constexpr Types kTypes[] = {
        {DataType::FLOAT32, DataType::FLOAT32},
        {DataType::FLOAT16, DataType::FLOAT16},
        {DataType::QUANT8_ASYMM, DataType::QUANT8_ASYMM},
        {DataType::QUANT8_ASYMM, DataType::QUANT8_SYMM_PER_CHANNEL},
        {DataType::QUANT8_ASYMM_SIGNED, DataType::QUANT8_ASYMM_SIGNED},
        {DataType::QUANT8_ASYMM_SIGNED, DataType::QUANT8_SYMM_PER_CHANNEL},
};

// Whether a node of x, weights and a bias agrees, with weights of the graph and of a run.
// `channelDim`: that of the weights which has a channel of the output each.
void check(RandomValues& random, const NodeDescriptor& node, const Types& types, Shape x,
           Shape weights, uint32_t channelDim, std::optional<Values> last = std::nullopt,
           GemmKind gemm = GemmKind::DIRECT) {
    SCOPED_TRACE(toString(node) + " of " + x.toString() + " " + std::string(toString(types.x)) +
                 " by " + weights.toString() + " " + std::string(toString(types.weights)));
    const int32_t channels = weights[channelDim];
    const TensorType xType = randomType(random, types.x, x);
    TensorType weightType = typeOf(types.weights, weights);
    if (types.weights == DataType::QUANT8_SYMM_PER_CHANNEL) {
        std::vector<float> scales;
        for (int32_t channel = 0; channel < channels; ++channel) {
            scales.push_back(random.real(0.005F, 0.02F));
        }
        weightType.quantization.channelScales = scales;
        weightType.quantization.channelDim = channelDim;
    } else if (isQuantized(types.weights)) {
        weightType = randomType(random, types.weights, weights);
    }
    const Values bias =
            isFloat(types.x)
                    ? random.values(typeOf(types.x, {channels}))
                    : ref_test::ints({channels}, std::vector<int32_t>(static_cast<size_t>(channels),
                                                                      random.integer(-500, 500)));
    const TensorType output = randomType(random, types.x, {}, 0.1F);
    std::vector<std::optional<Values>> inputs = {random.values(xType), random.values(weightType),
                                                 bias};
    if (signatureOf(node).inputs.size() > inputs.size()) {
        inputs.push_back(std::move(last));
    }
    // TF32 has eleven significant bits, where a matrix unit multiplies float32.
    const bool rounds = gemm.emulatesMatrixUnit && !gemm.isStrict;
    // Sums of thousands differ by their order.
    const bool isLong = countOf(weights) / channels > 1000;
    const double exact = isLong ? 5e-5 : 1e-5;
    const double tolerance = types.x == DataType::FLOAT16 ? 2e-3 : rounds ? 1e-2 : exact;
    EXPECT_TRUE(agrees(node, inputs, {output}, tolerance, kConstantWeights, gemm));
    EXPECT_TRUE(agrees(node, inputs, {output}, tolerance, 0, gemm));
}

Activation anyActivation(RandomValues& random) {
    return Activation(random.integer(0, 3));
}

TEST(GpuAccConvolution, ConvolvesAsTheReference) {
    HALYARD_NEEDS_DEVICE();
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const Types& types : kTypes) {
        check(random, Conv2d{.activation = anyActivation(random)}, types, {2, 5, 7, 6},
              {9, 1, 1, 6}, 0);
        check(random,
              Conv2d{.window = {.padding = PaddingScheme::SAME, .strideH = 2, .strideW = 1},
                     .activation = anyActivation(random)},
              types, {1, 9, 8, 3}, {8, 3, 3, 3}, 0);
        check(random,
              Conv2d{.window = {.padding = PaddingScheme::EXPLICIT,
                                .top = 2,
                                .bottom = 1,
                                .left = 0,
                                .right = 3,
                                .dilationH = 2,
                                .dilationW = 3}},
              types, {1, 9, 11, 5}, {3, 3, 2, 5}, 0);
    }
}

TEST(GpuAccConvolution, ConvolvesGroupsAsTheReference) {
    HALYARD_NEEDS_DEVICE();
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const Types& types : kTypes) {
        check(random, Conv2d{.groups = 3, .activation = anyActivation(random)}, types, {1, 4, 5, 6},
              {9, 2, 2, 2}, 0);
        check(random, Conv2d{.groups = 2}, types, {1, 4, 5, 6}, {8, 2, 2, 3}, 0);
    }
}

TEST(GpuAccConvolution, ConvolvesDepthwiseAsTheReference) {
    HALYARD_NEEDS_DEVICE();
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const Types& types : kTypes) {
        check(random,
              DepthwiseConv2d{.window = {.padding = PaddingScheme::SAME},
                              .activation = anyActivation(random)},
              types, {2, 7, 6, 33}, {1, 3, 3, 33}, 3);
        check(random,
              DepthwiseConv2d{.window = {.strideH = 2, .strideW = 2, .dilationH = 2},
                              .multiplier = 2},
              types, {1, 9, 8, 5}, {1, 3, 2, 10}, 3);
    }
}

TEST(GpuAccConvolution, ConvolvesTransposedAsTheReference) {
    HALYARD_NEEDS_DEVICE();
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const Types& types : kTypes) {
        check(random,
              TransposeConv2d{.window = {.padding = PaddingScheme::EXPLICIT,
                                         .top = 1,
                                         .left = 1,
                                         .strideH = 2,
                                         .strideW = 3},
                              .activation = anyActivation(random)},
              types, {2, 4, 5, 3}, {5, 3, 4, 3}, 0);
        check(random,
              TransposeConv2d{
                      .window = {.padding = PaddingScheme::SAME, .strideH = 2, .strideW = 2}},
              types, {1, 4, 5, 3}, {6, 3, 3, 3}, 0, ref_test::ints({4}, {1, 8, 10, 6}));
    }
}

TEST(GpuAccConvolution, ConnectsFullyAsTheReference) {
    HALYARD_NEEDS_DEVICE();
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const Types& types : kTypes) {
        check(random, FullyConnected{.activation = anyActivation(random)}, types, {3, 70}, {21, 70},
              0);
        check(random, FullyConnected{}, types, {2, 3, 4}, {5, 12}, 0);
        check(random, FullyConnected{}, types, {1, 1000}, {1, 1000}, 0);
    }
}

TEST(GpuAccConvolution, ConvolvesByTilesOfEachFormAsTheReference) {
    HALYARD_NEEDS_DEVICE();
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (int form = 0; form < kGemmForms; ++form) {
        SCOPED_TRACE(form);
        const auto isTiled = [&](const NodeDescriptor& node, const Types& types, Shape x,
                                 Shape weights) {
            check(random, node, types, x, weights, 0, std::nullopt,
                  {.isTiled = true, .form = form});
        };
        // PoCL takes a second to compile each.
        const Types& types = kTypes[form % 2 == 0 ? 0 : 2 + form / 2];
        isTiled(Conv2d{.activation = anyActivation(random)}, types, {1, 5, 3, 70}, {9, 1, 1, 70});
        isTiled(Conv2d{.window = {.padding = PaddingScheme::SAME}}, types, {1, 5, 4, 16},
                {36, 3, 3, 16});
    }
}

// Where tiles are few and K is long, work-groups share a tile by split-K.
TEST(GpuAccConvolution, ConvolvesByTilesOfLongRowsAsTheReference) {
    HALYARD_NEEDS_DEVICE();
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (int form = 0; form < kGemmForms; ++form) {
        SCOPED_TRACE(form);
        // PoCL takes a second to compile each.
        check(random, Conv2d{.window = {.padding = PaddingScheme::SAME}},
              kTypes[form % 2 == 0 ? 1 : 4], {1, 5, 7, 128}, {40, 3, 3, 128}, 0, std::nullopt,
              {.isTiled = true, .form = form});
    }
}

TEST(GpuAccConvolution, ConvolvesByTilesAsTheReference) {
    HALYARD_NEEDS_DEVICE();
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    const auto isTiled = [&](const NodeDescriptor& node, const Types& types, Shape x,
                             Shape weights) {
        check(random, node, types, x, weights, 0, std::nullopt, GemmKind::TILED);
    };
    for (const Types& types : kTypes) {
        isTiled(Conv2d{.activation = anyActivation(random)}, types, {2, 9, 9, 33}, {130, 1, 1, 33});
        isTiled(Conv2d(), types, {1, 9, 8, 8}, {70, 1, 1, 8});
        isTiled(Conv2d{.window = {.padding = PaddingScheme::SAME, .dilationH = 2}}, types,
                {1, 7, 6, 5}, {7, 3, 2, 5});
        isTiled(Conv2d{.groups = 3, .activation = anyActivation(random)}, types, {1, 4, 5, 6},
                {9, 2, 2, 2});
        isTiled(Conv2d{.window = {.padding = PaddingScheme::SAME}, .groups = 2}, types,
                {1, 4, 5, 16}, {24, 3, 3, 8});
        isTiled(FullyConnected{.activation = anyActivation(random)}, types, {3, 130}, {21, 130});
        isTiled(FullyConnected{.activation = anyActivation(random)}, types, {1, 272}, {21, 272});
        isTiled(FullyConnected{}, types, {9, 32}, {21, 32});
    }
}

// As on a device with a matrix unit, which is emulated here.
TEST(GpuAccConvolution, ConvolvesByMatricesAsTheReference) {
    HALYARD_NEEDS_DEVICE();
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    const auto byMatrices = [&](const NodeDescriptor& node, const Types& types, Shape x,
                                Shape weights, int form = -1) {
        GemmKind gemm = GemmKind::MATRIX_UNIT;
        gemm.form = form;
        check(random, node, types, x, weights, 0, std::nullopt, gemm);
    };
    // PoCL takes seconds to compile each.
    for (const Types& types : {kTypes[0], kTypes[1], kTypes[2], kTypes[5]}) {
        byMatrices(Conv2d{.activation = anyActivation(random)}, types, {1, 9, 5, 48},
                   {72, 1, 1, 48});
        byMatrices(Conv2d{.window = {.padding = PaddingScheme::SAME}}, types, {1, 5, 4, 16},
                   {36, 3, 3, 16});
        byMatrices(Conv2d{.window = {.strideH = 2, .strideW = 2}}, types, {1, 9, 9, 3},
                   {17, 3, 3, 3});
        byMatrices(FullyConnected{}, types, {19, 32}, {21, 32});
    }
    // Rows so long that groups share a tile.
    for (int form = 0; form < 2; ++form) {
        SCOPED_TRACE(form);
        byMatrices(Conv2d{.window = {.padding = PaddingScheme::SAME}},
                   kTypes[form % 2 == 0 ? 1 : 4], {1, 4, 5, 512}, {24, 3, 3, 512}, form);
    }
}

// Rows of exact floats that go to local memory by themselves, for groups that may share a tile.
TEST(GpuAccConvolution, ConvolvesExactFloatsByCopiesAsTheReference) {
    HALYARD_NEEDS_DEVICE();
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    const auto byCopies = [&](const NodeDescriptor& node, Shape x, Shape weights, int form) {
        SCOPED_TRACE(form);
        GemmKind gemm = GemmKind::ASYNC_COPY;
        gemm.form = form;
        check(random, node, kTypes[0], x, weights, 0, std::nullopt, gemm);
    };
    // PoCL takes seconds to compile each.
    for (const int form : {0, 5}) {
        byCopies(Conv2d{.activation = anyActivation(random)}, {1, 9, 5, 48}, {72, 1, 1, 48}, form);
        byCopies(Conv2d{.window = {.strideH = 2, .strideW = 2}}, {1, 9, 9, 3}, {17, 3, 3, 3}, form);
    }
    // Rows so long that groups share a tile.
    for (const int form : {1, 4, 7}) {
        byCopies(Conv2d{.window = {.padding = PaddingScheme::SAME}}, {1, 4, 5, 256},
                 {24, 3, 3, 256}, form);
    }
}

TEST(GpuAccConvolution, MultipliesMatricesAsTheReference) {
    HALYARD_NEEDS_DEVICE();
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const DataType type : {DataType::FLOAT32, DataType::FLOAT16, DataType::INT32,
                                DataType::QUANT8_ASYMM, DataType::QUANT8_ASYMM_SIGNED}) {
        for (int variant = 0; variant < 4; ++variant) {
            const BatchMatmul node = {.transposeA = variant % 2 == 1, .transposeB = variant > 1};
            const TensorType a = randomType(
                    random, type, node.transposeA ? Shape{2, 3, 17, 9} : Shape{2, 3, 9, 17});
            const TensorType b = randomType(
                    random, type, node.transposeB ? Shape{1, 3, 20, 17} : Shape{1, 3, 17, 20});
            ASSERT_TRUE(agrees(node, {randomValues(random, a), randomValues(random, b)},
                               {randomType(random, type, {}, 0.1F)},
                               type == DataType::FLOAT16 ? 4e-3 : 1e-5))
                    << toString(NodeDescriptor(node)) << " of " << a.toString();
        }
    }
}

}  // namespace
}  // namespace halyard::engine::gpu_test
