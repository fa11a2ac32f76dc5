// SPDX-License-Identifier: Apache-2.0

#include "driver/model/pools.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "tests/driver/model_builder.h"

namespace halyard::driver {
namespace {

Operand pooled(uint32_t pool, uint32_t offset, uint32_t length) {
    Operand operand;
    operand.lifetime = OperandLifeTime::CONSTANT_REFERENCE;
    operand.location = {.poolIndex = pool, .offset = offset, .length = length};
    return operand;
}

TEST(UsedPools, CoverTheConstantsOfEverySubgraph) {
    const auto shared = std::make_shared<FakeMemory>(200);
    const auto nested = std::make_shared<FakeMemory>(200);
    Model model;
    model.pools = {shared, nested};
    model.main.operands = {pooled(0, 8, 4)};
    model.referenced.resize(2);
    model.referenced[1].operands = {pooled(0, 100, 4), pooled(1, 16, 8)};
    ASSERT_TRUE(usePools(model, nullptr).ok());
    EXPECT_EQ(shared->used->begin, 8U);
    EXPECT_EQ(shared->used->end, 104U);
    EXPECT_EQ(nested->used->begin, 16U);
    EXPECT_EQ(nested->used->end, 24U);
}

// A pool that refuses to be used.
class RefusingMemory final : public ResidentMemory {
  public:
    explicit RefusingMemory(Status status) : mStatus(std::move(status)) {}
    std::string_view name() const override { return "ashmem"; }
    Status use(const ByteRange& /*range*/, const Account* /*account*/) const override {
        return mStatus;
    }

  private:
    std::span<uint8_t> all() const override { return {}; }
    const Status mStatus;
};

TEST(UsedPools, TellAClientThatTakesTooMuchFromAPoolThatCannotBeMapped) {
    const auto codeFor = [](const Status& refusal) {
        Model model;
        model.pools = {std::make_shared<FakeMemory>(8), std::make_shared<RefusingMemory>(refusal)};
        const Status used = usePools(model, nullptr);
        EXPECT_TRUE(used.message().starts_with("pool 1 can't be mapped: ")) << used.toString();
        return used.code();
    };
    EXPECT_EQ(codeFor({StatusCode::RESOURCE_EXHAUSTED, "too many"}),
              StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(codeFor(invalidArgument("too short")), StatusCode::INTERNAL);
}

TEST(ByteRange, HoldsWhatLiesBetweenItsEnds) {
    const ByteRange range{.begin = 8, .end = 16};
    EXPECT_TRUE(range.holds(8, 8));
    EXPECT_TRUE(range.holds(15, 1));
    EXPECT_FALSE(range.holds(7, 1));
    EXPECT_FALSE(range.holds(4, 12)) << "it begins before";
    EXPECT_FALSE(range.holds(8, 9)) << "it ends behind";
    EXPECT_FALSE(range.holds(16, 1));
    EXPECT_FALSE(range.holds(12, UINT64_MAX));
    EXPECT_TRUE(range.holds(100, 0)) << "no bytes lie anywhere";
}

}  // namespace
}  // namespace halyard::driver
