// SPDX-License-Identifier: Apache-2.0
//
// Allocations of a request once the model has served one like it: nothing, from the request to the
// result.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "driver/execute/prepared_model.h"
#include "tests/driver/device_fixture.h"
#include "tests/driver/model_builder.h"
#include "tests/driver/sample_models.h"
#include "tests/engine/allocation_count.h"

namespace halyard::driver {
namespace {

// Allocations of the third run, after two that may.
size_t allocationsOfThirdRun(const Model& model, const Request& request, HalVersion version) {
    const std::unique_ptr<Device> device = makeDevice();
    const Result<std::shared_ptr<PreparedModel>> prepared = device->prepare(model, version, {});
    EXPECT_TRUE(prepared.ok()) << prepared.status().toString();
    if (!prepared.ok()) {
        return 1;
    }
    ExecuteOptions options;
    options.measureTiming = true;
    ExecutionResult result;
    size_t allocations = 0;
    for (int run = 0; run < 3; ++run) {
        const size_t before = engine::allocationCount();
        (*prepared)->execute(request, version, options, result);
        allocations = engine::allocationCount() - before;
        EXPECT_TRUE(result.status.ok()) << result.status.toString();
        EXPECT_EQ(result.outputShapes.size(), request.outputs.size());
    }
    return allocations;
}

// A small network of MobileNet's make: a convolution with stride, three depthwise separable blocks,
// an average pool, a fully connected layer and a softmax; all shapes known, or the batch left open.
class Network {
  public:
    explicit Network(uint32_t batch) : mBatch(batch) {
        uint32_t value = mBuilder.input(floats({batch, kSide, kSide, 3}));
        value = convolve(value, 3, 4, 3, 2);
        for (int block = 0; block < 3; ++block) {
            value = convolveDepthwise(value);
            value = convolve(value, 4, 4, 1, 1);
        }
        value = pool(value);
        const uint32_t weights = mBuilder.pooled(floats({5, 4}), std::vector<float>(20, 0.5F));
        const uint32_t bias = mBuilder.pooled(floats({5}), std::vector<float>(5, 0.25F));
        const uint32_t logits = mBuilder.temporary(floats({batch, 5}));
        mBuilder.operation(OperationType::FULLY_CONNECTED,
                           {value, weights, bias, mBuilder.int32(0)}, {logits});
        mBuilder.operation(OperationType::SOFTMAX, {logits, mBuilder.float32(1.0F)},
                           {mBuilder.output(floats({batch, 5}))});
    }
    Model build() { return mBuilder.build(); }

    static Request request(uint32_t batch) {
        RequestBuilder builder;
        builder.input(std::vector<float>(size_t{batch} * kSide * kSide * 3, 0.5F),
                      {batch, kSide, kSide, 3})
                .output(size_t{batch} * 5 * sizeof(float));
        return builder.request();
    }

  private:
    static constexpr uint32_t kSide = 16;

    uint32_t convolve(uint32_t input, uint32_t from, uint32_t to, uint32_t side, int32_t stride) {
        const uint32_t filter =
                mBuilder.pooled(floats({to, side, side, from}),
                                std::vector<float>(size_t{to} * side * side * from, 0.125F));
        return window(OperationType::CONV_2D, {input, filter, bias()}, stride, {3});
    }
    uint32_t convolveDepthwise(uint32_t input) {
        const uint32_t filter =
                mBuilder.pooled(floats({1, 3, 3, 4}), std::vector<float>(36, 0.125F));
        return window(OperationType::DEPTHWISE_CONV_2D, {input, filter, bias()}, 1, {1, 3});
    }
    uint32_t bias() { return mBuilder.pooled(floats({4}), std::vector<float>(4, 0.25F)); }

    // SAME padding. `tail`: the depth multiplier, of depthwise convolutions, and the activation.
    uint32_t window(OperationType type, std::vector<uint32_t> inputs, int32_t stride,
                    const std::vector<int32_t>& tail) {
        mSide = (mSide + static_cast<uint32_t>(stride) - 1) / static_cast<uint32_t>(stride);
        inputs.push_back(mBuilder.int32(1));
        inputs.push_back(mBuilder.int32(stride));
        inputs.push_back(mBuilder.int32(stride));
        for (const int32_t number : tail) {
            inputs.push_back(mBuilder.int32(number));
        }
        const uint32_t output = mBuilder.temporary(floats({mBatch, mSide, mSide, 4}));
        mBuilder.operation(type, inputs, {output});
        return output;
    }
    uint32_t pool(uint32_t input) {
        const auto side = static_cast<int32_t>(mSide);
        std::vector<uint32_t> inputs = {input};
        for (const int32_t number : {2, 1, 1, side, side, 0}) {
            inputs.push_back(mBuilder.int32(number));
        }
        const uint32_t output = mBuilder.temporary(floats({mBatch, 1, 1, 4}));
        mBuilder.operation(OperationType::AVERAGE_POOL_2D, inputs, {output});
        return output;
    }

    ModelBuilder mBuilder;
    uint32_t mBatch;
    uint32_t mSide = kSide;
};

TEST(Allocations, AreNoneOfAConvolution) {
    RequestBuilder request;
    request.input<float>({1, 2, 3, 4, 5, 6, 7, 8, 9}).output(32);
    for (const HalVersion version : kVersions) {
        EXPECT_EQ(allocationsOfThirdRun(floatConvModel(), request.request(), version), 0U);
    }
}

TEST(Allocations, AreNoneOfANetworkWhoseShapesAreKnown) {
    EXPECT_EQ(allocationsOfThirdRun(Network(1).build(), Network::request(1), HalVersion::V1_3), 0U);
}

TEST(Allocations, AreNoneOfANetworkWhoseBatchComesWithTheRequest) {
    EXPECT_EQ(allocationsOfThirdRun(Network(0).build(), Network::request(2), HalVersion::V1_2), 0U);
}

TEST(Allocations, AreNoneWhereAnotherDimensionsRequestWasServedBefore) {
    const std::unique_ptr<Device> device = makeDevice();
    const std::shared_ptr<PreparedModel> model =
            device->prepare(Network(0).build(), HalVersion::V1_2, {}).value();
    const std::vector<Request> requests = {Network::request(3), Network::request(1)};
    ExecutionResult result;
    for (int run = 0; run < 6; ++run) {
        const size_t before = engine::allocationCount();
        model->execute(requests[static_cast<size_t>(run) % 2], HalVersion::V1_2, {}, result);
        ASSERT_TRUE(result.status.ok()) << result.status.toString();
        if (run >= 4) {
            EXPECT_EQ(engine::allocationCount(), before) << "run " << run;
        }
    }
}

}  // namespace
}  // namespace halyard::driver
