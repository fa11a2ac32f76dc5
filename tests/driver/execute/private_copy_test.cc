// SPDX-License-Identifier: Apache-2.0
//
// Memory that a client may change after the fact, and memory that it may not: constants there that
// are a node's control inputs are those of the time when the model was prepared. And the parts of
// an execution that count as the device's time.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "driver/execute/prepared_model.h"
#include "tests/driver/device_fixture.h"
#include "tests/driver/model_builder.h"
#include "tests/driver/twice_mapped_memory.h"

namespace halyard::driver {
namespace {

using Floats = std::vector<float>;

// TRANSPOSE of [2, 3] by an order that lies in memory of the client's.
struct Transposing {
    Transposing() {
        ModelBuilder builder;
        const uint32_t x = builder.input(floats({2, 3}));
        const uint32_t axes = builder.pooled<int32_t>({OperandType::TENSOR_INT32, {2}}, {1, 0});
        builder.operation(OperationType::TRANSPOSE, {x, axes}, {builder.output(floats({3, 2}))});
        model = builder.build();
        model.pools.at(model.main.operands[axes].location.poolIndex) = order;
        write(1, 0);
    }
    void write(int32_t first, int32_t second) const {
        auto* const axes = reinterpret_cast<volatile int32_t*>(order->clients().data());
        axes[0] = first;
        axes[1] = second;
    }

    std::shared_ptr<TwiceMappedMemory> order =
            std::make_shared<TwiceMappedMemory>(2 * sizeof(int32_t));
    Model model;
};

Status transpose(const PreparedModel& prepared, Floats* result) {
    RequestBuilder request;
    request.input<float>({1, 2, 3, 4, 5, 6}).output(6 * sizeof(float));
    const Status status = prepared.execute(request.request(), HalVersion::V1_3, {}).status;
    *result = request.result<float>(0, 6);
    return status;
}

TEST(PrivateCopies, KeepControlInputsFromTheClient) {
    const std::unique_ptr<Device> device = makeDevice();
    const Transposing made;
    const auto prepared = device->prepare(made.model, HalVersion::V1_3, {}).value();
    for (const auto& [first, second] : {std::pair{0, 1}, {0, 0}, {7, -9}, {1 << 30, 1 << 30}}) {
        made.write(first, second);
        Floats result;
        EXPECT_TRUE(transpose(*prepared, &result).ok());
        EXPECT_EQ(result, (Floats{1, 4, 2, 5, 3, 6}));
    }
}

TEST(PrivateCopies, AreOfOneMomentWhileTheClientWrites) {
    const std::unique_ptr<Device> device = makeDevice();
    const Transposing made;
    std::atomic<bool> done = false;
    std::thread client([&] {
        for (uint32_t i = 0; !done; ++i) {
            made.write(i % 5 == 0 ? 1 << 30 : 1, i % 7 == 0 ? -1 : 0);
        }
    });
    for (int i = 0; i < 300; ++i) {
        const auto model = device->prepare(made.model, HalVersion::V1_3, {});
        if (!model.ok()) {
            continue;
        }
        Floats result;
        EXPECT_TRUE(transpose(**model, &result).ok());
        EXPECT_EQ(result, (Floats{1, 4, 2, 5, 3, 6})) << "what was found right is what runs";
    }
    done = true;
    client.join();
    made.write(1, 0);
    EXPECT_TRUE(device->prepare(made.model, HalVersion::V1_3, {}).ok());
}

TEST(Timing, CountsWhatTheDriverCopiesAsTheDriversOnly) {
    // 64 MiB that are not aligned, of which the device reads one element.
    constexpr uint32_t kMany = 1 << 24;
    ModelBuilder builder;
    const uint32_t x = builder.input(floats({kMany}));
    const OperandSpec list = {OperandType::TENSOR_INT32, {1}};
    builder.operation(
            OperationType::SLICE,
            {x, builder.constant<int32_t>(list, {0}), builder.constant<int32_t>(list, {1})},
            {builder.output(floats({1}))});
    const std::unique_ptr<Device> device = makeDevice();
    const auto prepared = device->prepare(builder.build(), HalVersion::V1_3, {}).value();
    RequestBuilder request;
    request.input(allocateHeapMemory(size_t{kMany} * sizeof(float) + 1)).output(sizeof(float));
    request.request().inputs[0].location.offset = 1;
    request.request().inputs[0].location.length = kMany * sizeof(float);
    ExecuteOptions options;
    options.measureTiming = true;
    const ExecutionResult result = prepared->execute(request.request(), HalVersion::V1_3, options);
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    EXPECT_LT(result.timing.timeOnDevice, result.timing.timeInDriver);
}

}  // namespace
}  // namespace halyard::driver
