// SPDX-License-Identifier: Apache-2.0
//
// Pools that are a caller's pointers: requests and constants use the bytes where they lie.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "driver/execute/prepared_model.h"
#include "driver/execute/request_binding.h"
#include "tests/driver/device_fixture.h"
#include "tests/driver/model_builder.h"
#include "tests/driver/sample_models.h"
#include "tests/engine/allocation_count.h"

namespace halyard::driver {
namespace {

using Floats = std::vector<float>;

std::span<const uint8_t> bytesOf(const Floats& floats) {
    return {reinterpret_cast<const uint8_t*>(floats.data()), floats.size() * sizeof(float)};
}
std::span<uint8_t> roomOf(Floats& floats) {
    return {reinterpret_cast<uint8_t*>(floats.data()), floats.size() * sizeof(float)};
}

const Floats kIn = {1, 2, 3, 4, 5, 6, 7, 8, 9};

Floats convolved(const PreparedModel& model) {
    RequestBuilder request;
    request.input(kIn).output(8 * sizeof(float));
    EXPECT_TRUE(model.execute(request.request(), HalVersion::V1_3, {}).status.ok());
    return request.result<float>(0, 8);
}

TEST(BorrowedMemory, IsReadAndWrittenWhereItLiesAndNothingIsAllocated) {
    const std::unique_ptr<Device> device = makeDevice();
    const auto model = device->prepare(floatConvModel(), HalVersion::V1_3, {}).value();
    Floats in = kIn;
    Floats out(8);
    RequestBuilder request;
    request.input(borrowMemory(bytesOf(in), nullptr)).output(borrowMemory(roomOf(out), nullptr));
    ExecutionResult result;
    for (int run = 0; run < 3; ++run) {
        out.assign(8, 0);
        const size_t before = engine::allocationCount();
        model->execute(request.request(), HalVersion::V1_3, {}, result);
        const size_t allocations = engine::allocationCount() - before;
        ASSERT_TRUE(result.status.ok()) << result.status.toString();
        EXPECT_TRUE(run < 2 || allocations == 0) << allocations;
        EXPECT_EQ(out, convolved(*model));
    }
    const MemoryUse use =
            borrowMemory(bytesOf(in), nullptr)->use({.begin = 4, .end = 12}, nullptr).value();
    EXPECT_EQ(use.bytes(4, 8).value().data(), bytesOf(in).data() + 4);
}

TEST(BorrowedMemory, IsHeldUntilNothingUsesIt) {
    const auto owner = [](auto values) { return std::make_shared<Floats>(std::move(values)); };
    auto in = owner(kIn);
    const std::weak_ptr<Floats> watched = in;
    SharedMemory memory = borrowMemory(bytesOf(*in), in);
    in = nullptr;
    MemoryUse use = memory->use({.begin = 0, .end = 4}, nullptr).value();
    memory = nullptr;
    EXPECT_FALSE(watched.expired());
    use = MemoryUse();
    EXPECT_TRUE(watched.expired());
}

TEST(BorrowedMemory, KeepsTheConstantsOfModels) {
    const std::unique_ptr<Device> device = makeDevice();
    const Floats expected =
            convolved(*device->prepare(floatConvModel(), HalVersion::V1_3, {}).value());
    auto bias = std::make_shared<Floats>(Floats{0.5F, -1.0F});
    const std::weak_ptr<Floats> watched = bias;
    Model model = floatConvModel();
    model.pools.at(0) = borrowMemory(bytesOf(*bias), bias);
    bias = nullptr;
    {
        const auto prepared = device->prepare(std::move(model), HalVersion::V1_3, {}).value();
        EXPECT_EQ(convolved(*prepared), expected);
    }
    model = Model();
    EXPECT_TRUE(watched.expired());
}

TEST(BorrowedMemory, ThatIsReadOnlyTakesNoOutput) {
    const std::unique_ptr<Device> device = makeDevice();
    const auto model = device->prepare(floatConvModel(), HalVersion::V1_3, {}).value();
    const Floats out(8);
    RequestBuilder request;
    request.input(kIn).output(borrowMemory(bytesOf(out), nullptr));
    EXPECT_EQ(model->execute(request.request(), HalVersion::V1_3, {}).status.code(),
              StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(out, Floats(8));
}

// Of memory that others may write to the engine copies control inputs first.
TEST(BorrowedMemory, IsBoundAsItIsAndAsPrivate) {
    const Floats in = kIn;
    for (const bool borrowed : {true, false}) {
        const SharedMemory pool = borrowed ? borrowMemory(bytesOf(in), nullptr)
                                           : allocateHeapMemory(in.size() * sizeof(float));
        RequestBuilder request;
        request.input(pool);
        RequestPools pools;
        ASSERT_TRUE(usePools(request.request(), nullptr, pools).ok());
        RequestBinding binding;
        const RequestShapes shapes = {
                .inputs = {{9}}, .inputBytes = {36}, .outputs = {}, .shortInput = {}};
        ASSERT_TRUE(bindRequest(request.request(), shapes, pools.bound, binding).ok());
        EXPECT_EQ(binding.inputs[0].isPrivate, borrowed);
        EXPECT_EQ(binding.inputs[0].bytes.data() == bytesOf(in).data(), borrowed);
        EXPECT_EQ(binding.inputs[0].bytes.size(), 36U);
    }
}

}  // namespace
}  // namespace halyard::driver
