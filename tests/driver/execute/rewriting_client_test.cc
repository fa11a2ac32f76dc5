// SPDX-License-Identifier: Apache-2.0
//
// A client that rewrites its request's memory while operations run that are steered by it: what is
// sorted, looked up or suppressed. Results are the client's own trouble; the driver must neither
// read nor write where it should not, which a sanitizer or the guard pages would tell.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "driver/device/device.h"
#include "tests/driver/device_fixture.h"
#include "tests/driver/model_builder.h"
#include "tests/driver/twice_mapped_memory.h"

namespace halyard::driver {
namespace {

constexpr int kExecutions = 300;

class RewritingClient : public testing::Test {
  protected:
    std::shared_ptr<TwiceMappedMemory> input(size_t bytes) {
        pools.push_back(std::make_shared<TwiceMappedMemory>(bytes));
        request.input(pools.back());
        return pools.back();
    }
    void output(size_t bytes) {
        pools.push_back(std::make_shared<TwiceMappedMemory>(bytes));
        request.output(pools.back());
    }

    // Executes again and again while another thread writes small numbers, huge ones and anything
    // else all over the request. Returns how often an execution succeeded.
    int executeWhileRewriting(const Model& model) {
        const unsigned seed = std::random_device()();
        SCOPED_TRACE("seed " + std::to_string(seed));
        const std::unique_ptr<Device> device = makeDevice();
        const auto prepared = device->prepare(model, HalVersion::V1_3, {});
        EXPECT_TRUE(prepared.ok()) << prepared.status().toString();
        if (!prepared.ok()) {
            return 0;
        }
        std::atomic<bool> done = false;
        std::thread client([&] {
            std::mt19937 random(seed);
            while (!done) {
                for (const std::shared_ptr<TwiceMappedMemory>& pool : pools) {
                    const std::span<uint8_t> bytes = pool->clients();
                    for (size_t at = 0; at + 4 <= bytes.size(); at += 4) {
                        const uint32_t choice = random();
                        const uint32_t value = choice % 8 != 0 ? choice >> 30 : random();
                        // Others read this at the same time: a volatile store of the whole word.
                        *reinterpret_cast<volatile uint32_t*>(bytes.data() + at) = value;
                    }
                }
            }
        });
        int succeeded = 0;
        for (int i = 0; i < kExecutions; ++i) {
            const ExecutionResult result =
                    (*prepared)->execute(request.request(), HalVersion::V1_3, {});
            const StatusCode code = result.status.code();
            EXPECT_TRUE(code == StatusCode::OK || code == StatusCode::INVALID_ARGUMENT)
                    << result.status.toString();
            succeeded += result.status.ok() ? 1 : 0;
        }
        done = true;
        client.join();
        return succeeded;
    }

    ModelBuilder builder;
    RequestBuilder request;
    std::vector<std::shared_ptr<TwiceMappedMemory>> pools;
};

TEST_F(RewritingClient, CannotMisleadASortOrALookUpOfWhatWasSorted) {
    const OperandSpec indices = {OperandType::TENSOR_INT32, {8, 16}};
    const uint32_t scores = builder.input(floats({8, 64}));
    const uint32_t data = builder.input(floats({64}));
    const uint32_t values = builder.output(floats({8, 16}));
    const uint32_t order = builder.output(indices);
    const uint32_t found = builder.output(floats({8, 16}));
    builder.operation(OperationType::TOPK_V2, {scores, builder.int32(16)}, {values, order});
    builder.operation(OperationType::GATHER, {data, builder.int32(0), order}, {found});
    input(8 * 64 * sizeof(float));
    input(64 * sizeof(float));
    output(8 * 16 * sizeof(float));
    output(8 * 16 * sizeof(int32_t));
    output(8 * 16 * sizeof(float));
    EXPECT_EQ(executeWhileRewriting(builder.build()), kExecutions)
            << "indices that the driver computed are never out of range";
}

TEST_F(RewritingClient, CannotLookUpWhatIsNotThere) {
    const uint32_t data = builder.input(floats({16, 4}));
    const uint32_t indices = builder.input({OperandType::TENSOR_INT32, {100}});
    const uint32_t found = builder.output(floats({100, 4}));
    builder.operation(OperationType::GATHER, {data, builder.int32(0), indices}, {found});
    input(16 * 4 * sizeof(float));
    input(100 * sizeof(int32_t));
    output(100 * 4 * sizeof(float));
    executeWhileRewriting(builder.build());
}

TEST_F(RewritingClient, CannotMisleadTheSuppressionOfBoxes) {
    constexpr uint32_t kBoxes = 20;
    constexpr uint32_t kClasses = 3;
    const OperandSpec integers = {OperandType::TENSOR_INT32, {0}};
    const uint32_t scores = builder.input(floats({kBoxes, kClasses}));
    const uint32_t boxes = builder.input(floats({kBoxes, kClasses * 4}));
    const uint32_t batches = builder.input({OperandType::TENSOR_INT32, {kBoxes}});
    const uint32_t outScores = builder.output(floats({0}));
    const uint32_t outBoxes = builder.output(floats({0, 4}));
    const uint32_t outClasses = builder.output(integers);
    const uint32_t outBatches = builder.output(integers);
    builder.operation(
            OperationType::BOX_WITH_NMS_LIMIT,
            {scores, boxes, batches, builder.float32(0.1F), builder.int32(-1), builder.int32(0),
             builder.float32(0.5F), builder.float32(1.0F), builder.float32(0.1F)},
            {outScores, outBoxes, outClasses, outBatches});
    input(kBoxes * kClasses * sizeof(float));
    input(kBoxes * kClasses * 4 * sizeof(float));
    input(kBoxes * sizeof(int32_t));
    constexpr size_t kMost = kBoxes * kClasses;
    output(kMost * sizeof(float));
    output(kMost * 4 * sizeof(float));
    output(kMost * sizeof(int32_t));
    output(kMost * sizeof(int32_t));
    executeWhileRewriting(builder.build());
}

}  // namespace
}  // namespace halyard::driver
