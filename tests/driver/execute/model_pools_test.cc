// SPDX-License-Identifier: Apache-2.0
//
// A prepared model keeps of its pools what it reads, and nothing else.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "driver/execute/device_state.h"
#include "driver/execute/prepared_model.h"
#include "tests/driver/device_fixture.h"
#include "tests/driver/model_builder.h"
#include "tests/engine/base/file_bytes.h"

namespace halyard::driver {
namespace {

constexpr uint32_t kUnits = 64;

// y = x W + b, which CpuAcc packs, and then y + addend, which it reads as it is.
class ModelPools : public testing::Test {
  protected:
    // All constants lie in one pool.
    std::shared_ptr<PreparedModel> prepare(std::string_view backend, uint32_t rows) {
        Options options;
        options.backends = {std::string(backend)};
        options.threads = 1;
        mDevice = Device::create(std::move(options)).value();
        ModelBuilder builder;
        const uint32_t x = builder.input(floats({rows, kUnits}));
        const uint32_t weights = builder.pooled(floats({kUnits, kUnits}),
                                                std::vector<float>(kUnits * kUnits, kWeight));
        const uint32_t bias = builder.pooled(floats({kUnits}), std::vector<float>(kUnits, kBias));
        const uint32_t addend =
                builder.pooled(floats({rows, kUnits}), std::vector<float>(rows * kUnits, kAddend));
        const uint32_t none = builder.int32(0);
        const uint32_t product = builder.temporary(floats({rows, kUnits}));
        const uint32_t y = builder.output(floats({rows, kUnits}));
        builder.operation(OperationType::FULLY_CONNECTED, {x, weights, bias, none}, {product});
        builder.operation(OperationType::ADD, {product, addend, none}, {y});
        Model model = builder.build();
        joinPools(model);
        mRows = rows;
        Result<std::shared_ptr<PreparedModel>> prepared =
                mDevice->prepare(model, HalVersion::V1_3, {});
        EXPECT_TRUE(prepared.ok()) << prepared.status().toString();
        return prepared.ok() ? *prepared : nullptr;
    }

    Status run(const PreparedModel& model) const {
        RequestBuilder request;
        request.input(std::vector<float>(mRows * kUnits, 1.0F))
                .output(mRows * kUnits * sizeof(float));
        const Status status = model.execute(request.request(), HalVersion::V1_3, {}).status;
        if (status.ok()) {
            const std::vector<float> sums = request.result<float>(0, mRows * kUnits);
            EXPECT_EQ(sums, std::vector<float>(sums.size(), kUnits * kWeight + kBias + kAddend));
        }
        return status;
    }

    // Of the pool, which the test itself does not keep.
    bool isKept() const { return !mPool.expired(); }
    void cutShort() const { std::shared_ptr(mPool)->cutShort = true; }

  private:
    static constexpr float kWeight = 0.5F;
    static constexpr float kBias = 0.25F;
    static constexpr float kAddend = 2.0F;

    void joinPools(Model& model) {
        size_t size = 0;
        for (const SharedMemory& pool : model.pools) {
            size += pool->size();
        }
        const auto joined = std::make_shared<FakeMemory>(size);
        std::vector<size_t> offsets;
        size_t end = 0;
        for (const SharedMemory& pool : model.pools) {
            std::ranges::copy(pool->map().value(),
                              joined->map()->begin() + static_cast<ptrdiff_t>(end));
            offsets.push_back(end);
            end += pool->size();
        }
        for (Operand& operand : model.main.operands) {
            if (operand.lifetime == OperandLifeTime::CONSTANT_REFERENCE) {
                operand.location.offset = offsets[operand.location.poolIndex];
                operand.location.poolIndex = 0;
            }
        }
        model.pools = {joined};
        mPool = joined;
    }

    std::unique_ptr<Device> mDevice;
    std::weak_ptr<FakeMemory> mPool;
    uint32_t mRows = 0;
};

TEST_F(ModelPools, GoOnceWhatIsReadIsPackedAndTheRestIsCopied) {
    const std::shared_ptr<PreparedModel> model = prepare("CpuAcc", 1);
    EXPECT_FALSE(isKept());
    EXPECT_TRUE(run(*model).ok());
    VectorSink file;
    EXPECT_TRUE(model->save(file).ok());
}

TEST_F(ModelPools, StayWhereMuchIsReadAsItIs) {
    const std::shared_ptr<PreparedModel> model = prepare("CpuAcc", kUnits);
    ASSERT_TRUE(isKept());
    EXPECT_TRUE(run(*model).ok());
    cutShort();
    EXPECT_EQ(run(*model).message(), "model pool 0 was cut short by its owner while it was in use");
    VectorSink file;
    EXPECT_FALSE(model->save(file).ok());
}

TEST_F(ModelPools, StayWhereNothingIsPacked) {
    const std::shared_ptr<PreparedModel> model = prepare("CpuRef", 1);
    ASSERT_TRUE(isKept());
    EXPECT_TRUE(run(*model).ok());
    cutShort();
    EXPECT_FALSE(run(*model).ok());
}

}  // namespace
}  // namespace halyard::driver
