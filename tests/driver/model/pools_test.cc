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
    PoolUses uses;
    ASSERT_TRUE(usePools(model, nullptr, uses).ok());
    EXPECT_EQ(shared->used->begin, 8U);
    EXPECT_EQ(shared->used->end, 104U);
    EXPECT_EQ(nested->used->begin, 16U);
    EXPECT_EQ(nested->used->end, 24U);
    ASSERT_EQ(uses.size(), 2U);
    EXPECT_TRUE(uses[0].bytes(100, 4).ok());
    EXPECT_FALSE(uses[0].bytes(100, 5).ok());
    EXPECT_FALSE(uses[1].bytes(8, 4).ok());
}

// A pool that refuses to be used.
class RefusingMemory final : public ResidentMemory {
  public:
    explicit RefusingMemory(Status status) : mStatus(std::move(status)) {}
    std::string_view name() const override { return "ashmem"; }
    Result<MemoryUse> use(const ByteRange& /*range*/, const Account* /*account*/) const override {
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
        PoolUses uses;
        const Status used = usePools(model, nullptr, uses);
        EXPECT_TRUE(used.message().starts_with("pool 1 can't be mapped: ")) << used.toString();
        return used.code();
    };
    EXPECT_EQ(codeFor({StatusCode::RESOURCE_EXHAUSTED, "too many"}),
              StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(codeFor(invalidArgument("too short")), StatusCode::INTERNAL);
}

TEST(UsedPools, OfARequestAreItsMemoriesAndItsTokens) {
    const auto memory = std::make_shared<FakeMemory>(64);
    const std::weak_ptr<const Memory> kept = memory;
    Request request;
    request.pools = {memory, uint32_t{7}};
    request.inputs.push_back({.hasNoValue = false, .location = {0, 8, 4}, .dimensions = {}});
    request.outputs.push_back({.hasNoValue = false, .location = {0, 32, 16}, .dimensions = {}});
    RequestPools pools;
    ASSERT_TRUE(usePools(request, nullptr, pools).ok());
    ASSERT_EQ(pools.bound.size(), 2U);
    const MemoryUse use = std::get<MemoryUse>(pools.bound[0]);
    EXPECT_EQ(use.bytes(8, 40)->data(), memory->map()->data() + 8);
    EXPECT_FALSE(use.bytes(0, 9).ok());
    EXPECT_EQ(std::get<std::shared_ptr<ManagedBuffer>>(pools.bound[1]), nullptr)
            << "until it is looked up";
    pools.release();
    EXPECT_TRUE(pools.bound.empty());
}

TEST(UsedPools, OfARequestAreNoneWhereOneFails) {
    Request request;
    request.pools = {std::make_shared<FakeMemory>(8),
                     std::make_shared<RefusingMemory>(invalidArgument("too short"))};
    RequestPools pools;
    EXPECT_EQ(usePools(request, nullptr, pools).code(), StatusCode::INTERNAL);
    EXPECT_TRUE(pools.bound.empty());
}

TEST(ResidentMemory, IsUsedWithinItself) {
    const SharedMemory memory = allocateHeapMemory(16);
    EXPECT_TRUE(memory->use({.begin = 4, .end = 16}, nullptr).ok());
    for (const ByteRange& range :
         {ByteRange{.begin = 4, .end = 17}, ByteRange{.begin = 8, .end = 4},
          ByteRange{.begin = 17, .end = 16}}) {
        EXPECT_EQ(memory->use(range, nullptr).status().code(), StatusCode::INTERNAL);
    }
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
