// SPDX-License-Identifier: Apache-2.0
//
// The delegate in a host that tests can spoil: what it makes of contexts that are none, of kernels
// that were not made, of lives that end in another order, and what a run takes.

#include "litert/delegate/delegate.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "importers/tflite/operators.h"
#include "tests/engine/allocation_count.h"
#include "tests/litert_native/fake_host.h"

namespace halyard::litert {
namespace {

struct EndDelegate {
    void operator()(TfLiteDelegate* delegate) const { endDelegate(delegate); }
};
using OwnedDelegate = std::unique_ptr<TfLiteDelegate, EndDelegate>;

OwnedDelegate newDelegate(size_t minNodes = 1) {
    DelegateOptions options;
    options.runtime.log = std::nullopt;
    options.minNodes = minNodes;
    Result<TfLiteDelegate*> made = makeDelegate(options);
    EXPECT_TRUE(made.ok()) << made.status().toString();
    return OwnedDelegate(made.ok() ? *made : nullptr);
}

// activation, pot_scale_int16
struct AddParams {
    int32_t activation = 0;
    bool isPowerOfTwo = false;
};
struct ConvParams {
    int32_t padding = 2;
    int32_t strideWidth = 1;
    int32_t strideHeight = 1;
    int32_t activation = 0;
    int32_t dilationWidth = 1;
    int32_t dilationHeight = 1;
    int32_t biasType = 0;
};
const AddParams kAdd;

constexpr auto kAddOperator = static_cast<int32_t>(tflite::OperatorCode::ADD);

// x + (1, 2, 3), of rows as many as there are.
struct AddHost {
    AddHost() {
        const std::array<float, 3> numbers = {1.0F, 2.0F, 3.0F};
        input = host.addTensor(kTfLiteFloat32, {2, 3}, "x");
        const int32_t constant =
                host.addConstant(kTfLiteFloat32, {3}, numbers.data(), sizeof numbers);
        output = host.addTensor(kTfLiteFloat32, {2, 3}, "y");
        host.addNode(kAddOperator, 1, {input, constant}, {output}, &kAdd);
    }

    void fill(float value) {
        std::fill_n(host.elements<float>(input), host.tensor(input).bytes / sizeof(float), value);
    }

    FakeHost host;
    int32_t input = 0;
    int32_t output = 0;
};

TEST(Delegate, ComputesWhatItTakes) {
    const OwnedDelegate delegate = newDelegate();
    AddHost add;
    ASSERT_EQ(add.host.apply(delegate.get()), kTfLiteOk) << add.host.errors();
    EXPECT_EQ(add.host.claimed(), std::vector<int32_t>{0});
    add.fill(10.0F);
    ASSERT_EQ(add.host.invoke(), kTfLiteOk) << add.host.errors();
    EXPECT_EQ(add.host.elements<float>(add.output)[5], 13.0F);
}

TEST(Delegate, TakesNothingOfContextsThatMakeNoSense) {
    using Spoil = std::function<void(AddHost&)>;
    const std::vector<std::pair<std::string, Spoil>> spoils = {
            {"no tensors", [](AddHost& add) { add.host.context().tensors_size = 0; }},
            {"no address", [](AddHost& add) { add.host.context().tensors = nullptr; }},
            {"too many tensors",
             [](AddHost& add) {
                 add.host.context().tensors_size = std::numeric_limits<size_t>::max();
             }},
            {"no plan", [](AddHost& add) { add.host.context().GetExecutionPlan = nullptr; }},
            {"no resizing", [](AddHost& add) { add.host.context().ResizeTensor = nullptr; }},
            {"a plan that fails",
             [](AddHost& add) {
                 add.host.context().GetExecutionPlan = [](TfLiteContext*, TfLiteIntArray**) {
                     return kTfLiteError;
                 };
             }},
            {"a plan of other nodes",
             [](AddHost& add) {
                 add.host.context().GetNodeAndRegistration = [](TfLiteContext*, int, TfLiteNode**,
                                                                TfLiteRegistration**) {
                     return kTfLiteError;
                 };
             }},
            {"a wild type",
             [](AddHost& add) { add.host.tensor(0).type = static_cast<TfLiteType>(1 << 20); }},
            {"a wild rank", [](AddHost& add) { add.host.tensor(0).dims->size = 1 << 30; }},
            {"a negative rank", [](AddHost& add) { add.host.tensor(0).dims->size = -3; }},
            {"a negative extent", [](AddHost& add) { add.host.tensor(0).dims->data[0] = -7; }},
            {"a wild operator", [](AddHost& add) { add.host.kindOf(0).builtin_code = 0x7fff0000; }},
            {"a wild number of inputs",
             [](AddHost& add) { add.host.node(0).inputs->size = 1 << 29; }},
            {"an input that there is not",
             [](AddHost& add) { add.host.node(0).inputs->data[0] = 77; }},
            {"an output that there is not",
             [](AddHost& add) { add.host.node(0).outputs->data[0] = -5; }},
    };
    const OwnedDelegate delegate = newDelegate();
    for (const auto& [name, spoil] : spoils) {
        SCOPED_TRACE(name);
        AddHost add;
        TfLiteTensor* const tensors = add.host.context().tensors;
        const size_t count = add.host.context().tensors_size;
        spoil(add);
        EXPECT_EQ(add.host.apply(delegate.get()), kTfLiteOk);
        EXPECT_EQ(add.host.claimed(), std::vector<int32_t>());
        add.host.context().tensors = tensors;
        add.host.context().tensors_size = count;
    }
}

TEST(Delegate, LeavesTensorsThatItCannotRead) {
    using Spoil = std::function<void(TfLiteTensor&)>;
    const TfLiteSparsity sparsity = {};
    const std::vector<std::pair<std::string, Spoil>> spoils = {
            {"strings", [](TfLiteTensor& tensor) { tensor.type = kTfLiteString; }},
            {"a type of the future",
             [](TfLiteTensor& tensor) { tensor.type = static_cast<TfLiteType>(40); }},
            {"blocks",
             [](TfLiteTensor& tensor) { tensor.quantization.type = kTfLiteBlockwiseQuantization; }},
            {"a quantisation of the future",
             [](TfLiteTensor& tensor) {
                 tensor.quantization.type = static_cast<TfLiteQuantizationType>(9);
             }},
            {"sparsity", [&](TfLiteTensor& tensor) { tensor.sparsity = &sparsity; }},
            {"another memory",
             [](TfLiteTensor& tensor) { tensor.allocation_type = kTfLiteNonCpu; }},
    };
    const OwnedDelegate delegate = newDelegate();
    for (const auto& [name, spoil] : spoils) {
        SCOPED_TRACE(name);
        AddHost add;
        spoil(add.host.tensor(add.input));
        EXPECT_EQ(add.host.apply(delegate.get()), kTfLiteOk);
        EXPECT_EQ(add.host.claimed(), std::vector<int32_t>());
    }
}

TEST(Delegate, LeavesOperatorsWithoutOptions) {
    const OwnedDelegate delegate = newDelegate();
    AddHost add;
    add.host.node(0).builtin_data = nullptr;
    EXPECT_EQ(add.host.apply(delegate.get()), kTfLiteOk);
    EXPECT_EQ(add.host.claimed(), std::vector<int32_t>());
}

// One zero point for all scales, as newer hosts store them; and behind the options of an older host
// bytes that are no type of a bias.
TEST(Delegate, ReadsQuantisationPerChannelAndOptionsOfOldHosts) {
    const OwnedDelegate delegate = newDelegate();
    FakeHost host;
    const int32_t input = host.addTensor(kTfLiteInt8, {1, 1, 1, 1}, "x");
    const std::array<int8_t, 2> weights = {3, 5};
    const int32_t filter = host.addConstant(kTfLiteInt8, {2, 1, 1, 1}, weights.data(), 2);
    const std::array<int32_t, 2> zeros = {0, 0};
    const int32_t bias = host.addConstant(kTfLiteInt32, {2}, zeros.data(), sizeof zeros);
    const int32_t output = host.addTensor(kTfLiteInt8, {1, 1, 1, 2}, "y");
    struct {
        int32_t size = 2;
        std::array<float, 2> data = {1.0F, 2.0F};
    } scales;
    struct {
        int32_t size = 1;
        std::array<int32_t, 1> data = {0};
    } zeroPoint;
    TfLiteAffineQuantization affine = {.scale = reinterpret_cast<TfLiteFloatArray*>(&scales),
                                       .zero_point = reinterpret_cast<TfLiteIntArray*>(&zeroPoint),
                                       .quantized_dimension = 0};
    host.tensor(filter).quantization = {.type = kTfLiteAffineQuantization, .params = &affine};
    host.tensor(input).params = {.scale = 1.0F, .zero_point = 0};
    host.tensor(output).params = {.scale = 1.0F, .zero_point = 0};
    const ConvParams params = {.biasType = 0x5ca1ab1e};
    host.addNode(static_cast<int32_t>(tflite::OperatorCode::CONV_2D), 3, {input, filter, bias},
                 {output}, &params);
    ASSERT_EQ(host.apply(delegate.get()), kTfLiteOk) << host.errors();
    ASSERT_EQ(host.claimed(), std::vector<int32_t>{0});
    host.elements<int8_t>(input)[0] = 4;
    ASSERT_EQ(host.invoke(), kTfLiteOk) << host.errors();
    EXPECT_EQ(host.elements<int8_t>(output)[0], 12);
    EXPECT_EQ(host.elements<int8_t>(output)[1], 40);
}

TEST(Delegate, SaysThatAKernelWasNotMade) {
    const OwnedDelegate delegate = newDelegate();
    AddHost add;
    ASSERT_EQ(add.host.apply(delegate.get()), kTfLiteOk);
    const TfLiteRegistration& kernel = add.host.kernel();
    TfLiteNode node = {};
    EXPECT_NE(kernel.prepare(&add.host.context(), &node), kTfLiteOk);
    EXPECT_NE(kernel.invoke(&add.host.context(), &node), kTfLiteOk);
    EXPECT_NE(add.host.errors().find("there is no kernel"), std::string::npos);
    kernel.free(&add.host.context(), nullptr);
    // Outside of Delegate.Prepare, and without a partition.
    EXPECT_EQ(kernel.init(&add.host.context(), nullptr, 0), nullptr);
    TfLiteDelegateParams params = {};
    params.delegate = delegate.get();
    EXPECT_EQ(kernel.init(&add.host.context(), reinterpret_cast<const char*>(&params), 0), nullptr);
}

TEST(Delegate, MayEndBeforeItsKernels) {
    OwnedDelegate delegate = newDelegate();
    AddHost add;
    ASSERT_EQ(add.host.apply(delegate.get()), kTfLiteOk);
    delegate.reset();
    add.fill(1.0F);
    ASSERT_EQ(add.host.invoke(), kTfLiteOk) << add.host.errors();
    EXPECT_EQ(add.host.elements<float>(add.output)[0], 2.0F);
    add.host.resize(add.input, {4, 3});
    ASSERT_EQ(add.host.prepare(), kTfLiteOk) << add.host.errors();
    add.fill(5.0F);
    ASSERT_EQ(add.host.invoke(), kTfLiteOk) << add.host.errors();
    EXPECT_EQ(add.host.elements<float>(add.output)[11], 8.0F);
    endDelegate(nullptr);
}

TEST(Delegate, ResizesItsOutputs) {
    const OwnedDelegate delegate = newDelegate();
    AddHost add;
    ASSERT_EQ(add.host.apply(delegate.get()), kTfLiteOk);
    for (const int32_t rows : {1, 5, 0, 3}) {
        add.host.resize(add.input, {rows, 3});
        ASSERT_EQ(add.host.prepare(), kTfLiteOk) << add.host.errors();
        EXPECT_EQ(add.host.tensor(add.output).dims->data[0], rows);
        add.fill(1.0F);
        ASSERT_EQ(add.host.invoke(), kTfLiteOk) << add.host.errors();
    }
    add.host.resize(add.input, {2, 4});
    EXPECT_NE(add.host.prepare(), kTfLiteOk);
    EXPECT_NE(add.host.errors().find("operator 0 (ADD)"), std::string::npos) << add.host.errors();
    // It has no program now.
    EXPECT_NE(add.host.invoke(), kTfLiteOk);
}

TEST(Delegate, NamesTheTensorThatHasNoMemory) {
    const OwnedDelegate delegate = newDelegate();
    AddHost add;
    ASSERT_EQ(add.host.apply(delegate.get()), kTfLiteOk);
    void* const data = add.host.tensor(add.output).data;
    add.host.tensor(add.output).data = nullptr;
    EXPECT_NE(add.host.invoke(), kTfLiteOk);
    EXPECT_NE(add.host.errors().find("'y' has 0 bytes for 24"), std::string::npos);
    add.host.tensor(add.output).data = data;
    add.host.tensor(add.input).bytes = 20;
    EXPECT_NE(add.host.invoke(), kTfLiteOk);
    EXPECT_NE(add.host.errors().find("'x' has 20 bytes for 24"), std::string::npos);
}

TEST(Delegate, LeavesPartitionsThatAreTooSmall) {
    const OwnedDelegate delegate = newDelegate(2);
    AddHost one;
    EXPECT_EQ(one.host.apply(delegate.get()), kTfLiteOk);
    EXPECT_EQ(one.host.claimed(), std::vector<int32_t>());
    AddHost two;
    const int32_t last = two.host.addTensor(kTfLiteFloat32, {2, 3}, "z");
    two.host.addNode(kAddOperator, 1, {two.output, two.input}, {last}, &kAdd);
    EXPECT_EQ(two.host.apply(delegate.get()), kTfLiteOk);
    EXPECT_EQ(two.host.claimed(), (std::vector<int32_t>{0, 1}));
}

TEST(Delegate, WorksWhereTheHostDoesNotTellItsPartitions) {
    const OwnedDelegate delegate = newDelegate(2);
    AddHost add;
    add.host.context().PreviewDelegatePartitioning = nullptr;
    ASSERT_EQ(add.host.apply(delegate.get()), kTfLiteOk) << add.host.errors();
    EXPECT_EQ(add.host.claimed(), std::vector<int32_t>{0});
    add.fill(2.0F);
    ASSERT_EQ(add.host.invoke(), kTfLiteOk) << add.host.errors();
    EXPECT_EQ(add.host.elements<float>(add.output)[2], 5.0F);
}

TEST(Delegate, AllocatesNothingInARun) {
    const OwnedDelegate delegate = newDelegate();
    AddHost add;
    ASSERT_EQ(add.host.apply(delegate.get()), kTfLiteOk);
    add.fill(1.0F);
    for (int run = 0; run < 4; ++run) {
        ASSERT_EQ(add.host.invoke(), kTfLiteOk);
    }
    const size_t before = engine::allocationCount();
    for (int run = 0; run < 100; ++run) {
        ASSERT_EQ(add.host.invoke(), kTfLiteOk);
    }
    EXPECT_EQ(engine::allocationCount() - before, 0U);
}

TEST(Delegate, ServesInterpretersInSeveralThreads) {
    OwnedDelegate delegate = newDelegate();
    std::vector<std::thread> threads;
    std::array<bool, 4> areRight = {};
    for (size_t number = 0; number < areRight.size(); ++number) {
        threads.emplace_back([&, number] {
            bool isRight = true;
            for (int life = 0; life < 5; ++life) {
                AddHost add;
                isRight = isRight && add.host.apply(delegate.get()) == kTfLiteOk;
                for (int32_t run = 1; run <= 10; ++run) {
                    add.host.resize(add.input, {run, 3});
                    add.fill(static_cast<float>(number));
                    isRight = isRight && add.host.prepare() == kTfLiteOk;
                    isRight = isRight && add.host.invoke() == kTfLiteOk;
                    isRight = isRight && add.host.elements<float>(add.output)[run * 3 - 1] ==
                                                 static_cast<float>(number) + 3.0F;
                }
            }
            areRight[number] = isRight;
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(areRight, (std::array<bool, 4>{true, true, true, true}));
}

}  // namespace
}  // namespace halyard::litert
