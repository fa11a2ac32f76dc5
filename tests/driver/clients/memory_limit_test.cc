// SPDX-License-Identifier: Apache-2.0
//
// Limits of models and executions on a device's memory. The limit is 1 MiB here.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "driver/model/error_status.h"
#include "tests/driver/device_fixture.h"
#include "tests/driver/model_builder.h"

namespace halyard::driver {
namespace {

constexpr size_t kLimit = size_t{1} << 20;
// Floats that take 600 KiB: one such tensor has room, two have not.
constexpr uint32_t kChainElements = 600 * 1024 / sizeof(float);

class MemoryLimit : public testing::Test {
  protected:
    static Options limited() {
        Options options;
        options.maxMemoryMib = 1;
        return options;
    }

    std::vector<bool> supported(const Model& model) {
        Result<std::vector<bool>> flags = mDevice->supportedOperations(model, HalVersion::V1_3);
        EXPECT_TRUE(flags.ok()) << flags.status().toString();
        return flags.ok() ? *flags : std::vector<bool>();
    }
    Result<std::shared_ptr<PreparedModel>> prepare(const Model& model) {
        return mDevice->prepare(model, HalVersion::V1_3, {});
    }
    size_t inUse() {
        const std::string report = mDevice->report();
        return std::stoul(report.substr(report.find("memory\t") + 7));
    }

    std::unique_ptr<Device> mDevice = makeDevice(limited());
};

// `count` RELUs, one after another: from two on, count - 1 tensors lie in the arena, of which no
// more than two at a time.
Model reluChain(uint32_t elements, int count) {
    ModelBuilder builder;
    uint32_t value = builder.input(floats({elements}));
    for (int i = 0; i < count; ++i) {
        const uint32_t next = i + 1 == count ? builder.output(floats({elements}))
                                             : builder.temporary(floats({elements}));
        builder.operation(OperationType::RELU, {value}, {next});
        value = next;
    }
    return builder.build();
}

Status run(const PreparedModel& model, uint32_t elements) {
    RequestBuilder request;
    request.input<float>(std::vector<float>(elements, 1.0F), {elements})
            .output(elements * sizeof(float), {elements});
    const Status status = model.execute(request.request(), HalVersion::V1_3, {}).status;
    EXPECT_TRUE(!status.ok() ||
                request.result<float>(0, elements) == std::vector<float>(elements, 1.0F));
    return status;
}

TEST_F(MemoryLimit, MakesAnOperationWithALargerOutputUnsupported) {
    ModelBuilder builder;
    const uint32_t input = builder.input(floats({1}));
    const uint32_t paddings =
            builder.constant<int32_t>({OperandType::TENSOR_INT32, {1, 2}}, {0, 999'999'999});
    const uint32_t padded = builder.output(floats({1'000'000'000}));
    const uint32_t output = builder.output(floats({1}));
    builder.operation(OperationType::PAD, {input, paddings}, {padded})
            .operation(OperationType::RELU, {input}, {output});
    const Model model = builder.build();
    EXPECT_EQ(supported(model), (std::vector<bool>{false, true}));
    const Status status = prepare(model).status();
    EXPECT_EQ(toErrorStatus(status, HalVersion::V1_3), ErrorStatus::RESOURCE_EXHAUSTED_PERSISTENT);
    EXPECT_EQ(status.message(),
              "operation 0 (PAD): its output FLOAT32[1000000000]: 4000000000 bytes are more than "
              "the limit of 1048576");
}

TEST_F(MemoryLimit, RefusesALargerArenaWhenPreparing) {
    const Model model = reluChain(kChainElements, 3);
    EXPECT_EQ(supported(reluChain(kChainElements, 1)), std::vector<bool>{true});
    EXPECT_EQ(supported(model), (std::vector<bool>{false, false, false}))
            << "each would do alone, but not all of them";
    const Status status = prepare(model).status();
    EXPECT_EQ(status.code(), StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_TRUE(status.message().starts_with("the arena of an execution: ")) << status.message();
    EXPECT_TRUE(status.message().ends_with(" bytes are more than the limit of 1048576"))
            << status.message();
    EXPECT_EQ(inUse(), 0U);
}

TEST_F(MemoryLimit, LetsExactlyThoseModelsBeSupportedThatPrepare) {
    int prepared = 0;
    int refused = 0;
    for (uint32_t elements = 100'000; elements < 300'000; elements += 7'777) {
        for (const int operations : {1, 2, 3, 5}) {
            const Model model = reluChain(elements, operations);
            const bool promised = std::ranges::count(supported(model), false) == 0;
            const Status status = prepare(model).status();
            EXPECT_EQ(promised, status.ok()) << operations << " operations on " << elements
                                             << " elements: " << status.toString();
            ++(status.ok() ? prepared : refused);
        }
    }
    EXPECT_GT(prepared, 20);
    EXPECT_GT(refused, 20);
}

TEST_F(MemoryLimit, CoversWhatASingleOperationNeedsInside) {
    // NCHW takes a transposed copy of the input and of the output, 600 KiB each.
    ModelBuilder builder;
    const uint32_t input = builder.input(floats({1, 1, 1, kChainElements}));
    const uint32_t output = builder.output(floats({1, 1, 1, kChainElements}));
    std::vector<uint32_t> inputs = {input};
    for (const int32_t number : {1, 1, 1, 1, 1, 0}) {
        inputs.push_back(builder.int32(number));
    }
    inputs.push_back(builder.boolean(true));
    builder.operation(OperationType::MAX_POOL_2D, inputs, {output});
    const Model model = builder.build();
    EXPECT_EQ(supported(model), std::vector<bool>{false});
    EXPECT_EQ(prepare(model).status().code(), StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(MemoryLimit, CoversWhatAKernelUnpacksWhileItRuns) {
    // CpuRef computes on FLOAT32 copies of FLOAT16 weights, which have no room.
    constexpr uint32_t kUnits = 600;
    constexpr uint32_t kLength = 500;
    constexpr uint32_t kBatch = 16;
    const auto halves = [](std::vector<uint32_t> dimensions) {
        return OperandSpec{OperandType::TENSOR_FLOAT16, std::move(dimensions)};
    };
    ModelBuilder builder;
    const uint32_t input = builder.input(halves({kBatch, kLength}));
    const uint32_t weights = builder.pooled<uint16_t>(
            halves({kUnits, kLength}), std::vector<uint16_t>(size_t{kUnits} * kLength));
    const uint32_t bias = builder.pooled<uint16_t>(halves({kUnits}), std::vector<uint16_t>(kUnits));
    builder.operation(OperationType::FULLY_CONNECTED, {input, weights, bias, builder.int32(0)},
                      {builder.output(halves({kBatch, kUnits}))});
    const Model model = builder.build();
    const Result<std::shared_ptr<PreparedModel>> prepared = prepare(model);
    ASSERT_TRUE(prepared.ok()) << prepared.status().toString();
    RequestBuilder request;
    request.input(std::vector<uint16_t>(size_t{kBatch} * kLength));
    request.output(size_t{kBatch} * kUnits * sizeof(uint16_t));
    const Status status = (*prepared)->execute(request.request(), HalVersion::V1_3, {}).status;
    EXPECT_EQ(status.code(), StatusCode::RESOURCE_EXHAUSTED) << status.toString();
}

// Sums of an INT32 input and as many constants, which are copied because they are not aligned; each
// takes 400 KiB, and begins one element behind the one before in the same pool.
Model sumOfConstants(int count) {
    constexpr uint32_t kLength = 100 * 1024;
    const OperandSpec ints = {OperandType::TENSOR_INT32, {kLength}};
    ModelBuilder builder;
    const uint32_t input = builder.input(ints);
    // No two of them are equal: those would be copied once.
    std::vector<int32_t> values(kLength + 1 + static_cast<size_t>(count));
    std::iota(values.begin(), values.end(), 0);
    const uint32_t constant = builder.pooled<int32_t>(ints, values);
    builder.operand(constant).location.offset = 1;
    builder.operand(constant).location.length = kLength * sizeof(int32_t);
    const uint32_t activation = builder.int32(0);
    for (int i = 0; i < count; ++i) {
        const uint32_t same = builder.pooled<int32_t>(ints, {});
        builder.operand(same) = builder.operand(constant);
        builder.operand(same).numberOfConsumers = 0;
        builder.operand(same).location.offset += static_cast<uint32_t>(i) * sizeof(int32_t);
        builder.operation(OperationType::ADD, {input, same, activation}, {builder.output(ints)});
    }
    return builder.build();
}

TEST_F(MemoryLimit, CountsTheConstantsThatAreCopied) {
    {
        const Result<std::shared_ptr<PreparedModel>> two = prepare(sumOfConstants(2));
        ASSERT_TRUE(two.ok()) << two.status().toString();
        EXPECT_GE(inUse(), 800U * 1024);
        EXPECT_EQ(prepare(sumOfConstants(1)).status().code(), StatusCode::RESOURCE_EXHAUSTED)
                << "the other model holds too much";
    }
    EXPECT_EQ(inUse(), 0U) << "given back with the model";
    EXPECT_TRUE(prepare(sumOfConstants(1)).ok());
    // Nearly the same 400 KiB of the client's, a hundred times.
    const Model many = sumOfConstants(100);
    EXPECT_EQ(std::ranges::count(supported(many), true), 2) << "as many as fit";
    const Status status = prepare(many).status();
    EXPECT_EQ(status.code(), StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_NE(status.message().find("the copy of constant INT32[102400]"), std::string_view::npos)
            << status.message();
    EXPECT_EQ(inUse(), 0U);
}

TEST_F(MemoryLimit, RefusesALargerRunWhereShapesComeWithTheRequest) {
    const Result<std::shared_ptr<PreparedModel>> model = prepare(reluChain(0, 3));
    ASSERT_TRUE(model.ok()) << model.status().toString();
    EXPECT_TRUE(run(**model, 1000).ok());
    const Status status = run(**model, kChainElements);
    EXPECT_EQ(toErrorStatus(status, HalVersion::V1_3), ErrorStatus::RESOURCE_EXHAUSTED_PERSISTENT)
            << "no request of the size will ever fit";
    EXPECT_TRUE(status.message().starts_with("the arena of an execution: ")) << status.message();
    EXPECT_TRUE(run(**model, 1000).ok());
}

TEST_F(MemoryLimit, IsNotUsedUpByExecutionsThatAreIdle) {
    // Three models whose arenas do not fit beside each other, in turn.
    std::vector<std::shared_ptr<PreparedModel>> models;
    for (int i = 0; i < 3; ++i) {
        models.push_back(prepare(reluChain(kChainElements, 2)).value());
    }
    for (int round = 0; round < 6; ++round) {
        const Status status = run(*models[static_cast<size_t>(round) % 3], kChainElements);
        EXPECT_TRUE(status.ok()) << status.toString();
        EXPECT_GE(inUse(), 600U * 1024) << "kept for the next run";
        EXPECT_LE(inUse(), kLimit);
    }
    models.clear();
    EXPECT_EQ(inUse(), 0U) << "given back with the models";
}

TEST_F(MemoryLimit, IsKeptByExecutionsAtTheSameTime) {
    const std::shared_ptr<PreparedModel> model = prepare(reluChain(kChainElements / 2, 3)).value();
    std::atomic<int> done = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 6; ++i) {
        threads.emplace_back([&] {
            for (int round = 0; round < 5; ++round) {
                const Status status = run(*model, kChainElements / 2);
                done += status.ok() ? 1 : 0;
                EXPECT_TRUE(status.ok() || status.code() == StatusCode::RESOURCE_EXHAUSTED)
                        << status.toString();
                EXPECT_LE(inUse(), kLimit);
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_GT(done, 0);
    EXPECT_TRUE(run(*model, kChainElements / 2).ok()) << "what was refused may be tried again";
}

TEST(MemoryOption, IsHalfOfTheMachinesMemoryUnlessGiven) {
    const std::string report = makeDevice()->report();
    const size_t line = report.find("memory\t0\t");
    ASSERT_NE(line, std::string::npos) << report;
    EXPECT_GT(std::stoull(report.substr(line + 9)), 64U << 20) << report;
    Options options;
    options.maxMemoryMib = 77;
    EXPECT_NE(makeDevice(options)->report().find("memory\t0\t80740352\n"), std::string::npos);
}

TEST(DeviceOptions, HaveLimits) {
    const auto codeWith = [](size_t Options::*option, size_t value) {
        Options options;
        options.*option = value;
        return Device::create(options).status().code();
    };
    for (const auto& [option, most] :
         {std::pair(&Options::maxPartitions, kMostPartitionNodes),
          std::pair(&Options::minNodesPerPartition, kMostPartitionNodes),
          std::pair(&Options::maxRunningSeconds, kMostRunningSeconds),
          std::pair(&Options::maxClientMemoryMib, kMostMemoryMib),
          std::pair(&Options::maxDeviceMemoryMib, kMostMemoryMib)}) {
        EXPECT_EQ(codeWith(option, most), StatusCode::OK);
        EXPECT_EQ(codeWith(option, most + 1), StatusCode::INVALID_ARGUMENT);
    }
}

TEST(MemoryOption, HasALimitOfItsOwn) {
    Options options;
    options.maxMemoryMib = kMostMemoryMib;
    EXPECT_TRUE(Device::create(options).ok());
    ++options.maxMemoryMib;
    EXPECT_EQ(Device::create(options).status().code(), StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace halyard::driver
