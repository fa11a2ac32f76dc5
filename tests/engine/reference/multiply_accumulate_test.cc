// SPDX-License-Identifier: Apache-2.0

#include "engine/reference/multiply_accumulate.h"

#include <gtest/gtest.h>

#include <bit>
#include <memory>
#include <vector>

#include "tests/engine/reference/evaluation.h"
#include "tests/engine/reference/random_values.h"

namespace halyard::engine::ref_test {
namespace {

const TensorType kHalves = typeOf(DataType::FLOAT16, {});

// The FLOAT32 tensor of the same numbers.
Values widened(const Values& narrow) {
    std::vector<float> elements;
    for (const double element : stored(narrow)) {
        elements.push_back(static_cast<float>(element));
    }
    return floats(narrow.type.shape, elements);
}

// Equal bit for bit: the node on halves, and on the same numbers as floats, rounded at the end.
void compareWithFloats(const NodeDescriptor& node, const std::vector<Values>& inputs) {
    const Result<Values> narrow = evaluate(node, inputs, kHalves);
    ASSERT_TRUE(narrow.ok()) << narrow.status().toString();
    std::vector<Values> wideInputs;
    for (const Values& input : inputs) {
        wideInputs.push_back(widened(input));
    }
    const Result<Values> wide = evaluate(node, wideInputs, typeOf(DataType::FLOAT32, {}));
    ASSERT_TRUE(wide.ok()) << wide.status().toString();
    std::vector<float> expected;
    for (const double element : stored(*wide)) {
        expected.push_back(static_cast<float>(element));
    }
    EXPECT_EQ(narrow->bytes, halves(wide->type.shape, expected).bytes);
}

// Few positions, which aren't worth widening for, and many; blocks of 64 and what is left over.
TEST(Widening, LeavesNoTraceInTheResults) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    const auto halvesOf = [&](Shape shape) {
        return random.values(typeOf(DataType::FLOAT16, shape));
    };
    for (const int32_t extent : {1, 3, 4, 7}) {
        for (const int32_t depth : {1, 5, 150}) {
            const Values x = halvesOf({2, extent, extent, depth});
            const Window2d same = {.padding = PaddingScheme::SAME};
            compareWithFloats(Conv2d{.window = same, .activation = Activation::RELU},
                              {x, halvesOf({3, 3, 2, depth}), halvesOf({3})});
            compareWithFloats(DepthwiseConv2d{.window = same, .multiplier = 1},
                              {x, halvesOf({1, 2, 3, depth}), halvesOf({depth})});
            compareWithFloats(FullyConnected(), {halvesOf({extent * extent, depth}),
                                                 halvesOf({9, depth}), halvesOf({9})});
        }
    }
}

// Runs a fully connected node of FLOAT16 with this much scratch memory.
Status runWithin(uint64_t bytes, int32_t batch) {
    const auto halvesOf = [](Shape shape) {
        return halves(shape, std::vector<float>(static_cast<size_t>(*shape.elementCount())));
    };
    const std::vector<Values> inputs = {halvesOf({batch, 100}), halvesOf({50, 100}),
                                        halvesOf({50})};
    std::vector<ConstTensorView> views;
    for (const Values& input : inputs) {
        views.push_back({.type = &input.type, .data = input.bytes.data()});
    }
    OutputMemory memory(std::vector{typeOf(DataType::FLOAT16, {batch, 50})});
    HALYARD_RETURN_IF_ERROR(memory.prepare());
    KernelCall call({.inputs = views,
                     .outputs = memory.views(),
                     .memory = std::make_shared<Budget>(bytes),
                     .constants = {}});
    return ref::run(FullyConnected(), call);
}

TEST(Widening, IsForWeightsThatAreReadOften) {
    EXPECT_TRUE(runWithin(0, 1).ok());
    EXPECT_EQ(runWithin(0, 100).code(), StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(runWithin(sizeof(float) * (100 * 100 + 50 * 100), 100).code(),
              StatusCode::RESOURCE_EXHAUSTED)
            << "the bias, too";
    EXPECT_TRUE(runWithin(1 << 20, 100).ok());
}

TEST(Widening, ConvertsEveryElement) {
    Values narrow{.type = typeOf(DataType::FLOAT16, {0x10000}), .bytes = {}};
    for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
        narrow.bytes.push_back(static_cast<uint8_t>(bits));
        narrow.bytes.push_back(static_cast<uint8_t>(bits >> 8));
    }
    const ConstTensorView view = {.type = &narrow.type, .data = narrow.bytes.data()};
    KernelCall call({.inputs = {&view, 1}, .outputs = {}, .memory = nullptr, .constants = {}});
    const Result<const float*> wide = ref::widened(call, 0);
    ASSERT_TRUE(wide.ok());
    for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
        ASSERT_EQ(std::bit_cast<uint32_t>((*wide)[bits]),
                  std::bit_cast<uint32_t>(toFloat(Half{static_cast<uint16_t>(bits)})));
    }
}

}  // namespace
}  // namespace halyard::engine::ref_test
