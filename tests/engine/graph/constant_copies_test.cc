// SPDX-License-Identifier: Apache-2.0

#include "engine/graph/constant_copies.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/base/budget.h"
#include "engine/graph/verifier.h"
#include "tests/engine/counting_condition.h"
#include "tests/engine/graph_building.h"

namespace halyard::engine {
namespace {

constexpr size_t kMegabyte = size_t{1} << 20;

using Bytes = std::vector<uint8_t>;

ConstantData sharedBytes(const std::shared_ptr<Bytes>& pool) {
    return {.owner = pool, .bytes = *pool, .shared = true};
}

TEST(ConstantCopies, CopyTheSameBytesOnce) {
    const auto pool = std::make_shared<Bytes>(kMegabyte, uint8_t{7});
    const auto memory = std::make_shared<Budget>(3 * kMegabyte);
    {
        ConstantCopies copies(memory);
        const ConstantData first = copies.of(sharedBytes(pool)).value();
        const ConstantData second = copies.of(sharedBytes(pool)).value();
        EXPECT_EQ(first.bytes.data(), second.bytes.data());
        EXPECT_FALSE(first.shared);
        EXPECT_EQ(memory->reserved(), kMegabyte);
        std::ranges::fill(*pool, uint8_t{9});
        const ConstantData third = copies.of(sharedBytes(pool)).value();
        EXPECT_EQ(third.bytes.front(), 7) << "as it was when it was read";
        const ConstantData half = copies.of({.owner = pool,
                                             .bytes = std::span(*pool).first(kMegabyte / 2),
                                             .shared = true})
                                          .value();
        EXPECT_EQ(half.bytes.front(), 9) << "other bytes";
    }
    EXPECT_EQ(memory->reserved(), 0U);
}

TEST(ConstantCopies, KeepWhatTheyCopiedSoThatNothingElseTakesItsPlace) {
    auto pool = std::make_shared<Bytes>(64);
    const std::weak_ptr<Bytes> alive = pool;
    ConstantCopies copies;
    ASSERT_TRUE(copies.of(sharedBytes(pool)).ok());
    pool = nullptr;
    EXPECT_FALSE(alive.expired());
}

TEST(ConstantCopies, TakeBytesWithoutAnOwnerForNewOnes) {
    Bytes bytes(4, 1);
    ConstantCopies copies;
    EXPECT_EQ(copies.of({.owner = nullptr, .bytes = bytes}).value().bytes.front(), 1);
    bytes.assign(4, 2);
    EXPECT_EQ(copies.of({.owner = nullptr, .bytes = bytes}).value().bytes.front(), 2);
}

TEST(ConstantCopies, AskTheCheckpointForEveryMegabyteAndLeaveNothingBehind) {
    constexpr size_t kMegabytes = 16;
    const auto pool = std::make_shared<Bytes>(kMegabytes * kMegabyte);
    const auto memory = std::make_shared<Budget>(2 * kMegabytes * kMegabyte);
    const CountingCondition never;
    EXPECT_TRUE(ConstantCopies(memory, Checkpoint().unless(&never)).of(sharedBytes(pool)).ok());
    EXPECT_GE(never.asked(), kMegabytes);
    for (const size_t patience : {size_t{0}, size_t{1}, kMegabytes / 2}) {
        const CountingCondition soon(patience);
        ConstantCopies copies(memory, Checkpoint().unless(&soon));
        EXPECT_EQ(copies.of(sharedBytes(pool)).status().code(), StatusCode::UNAVAILABLE);
        EXPECT_EQ(soon.asked(), patience + 1);
        EXPECT_EQ(memory->reserved(), 0U);
    }
}

TEST(Verification, StopsWhileItCopiesControlInputs) {
    const auto pool = std::make_shared<Bytes>(8 * kMegabyte);
    Graph graph;
    const TensorId x = graph.addTensor(float32({4}));
    const TensorId indices =
            graph.addConstant(int32({static_cast<int32_t>(pool->size() / 4)}), sharedBytes(pool))
                    .value();
    graph.setInputs({x});
    graph.setOutputs({addNode(graph, Gather(), {x, indices})});
    const CountingCondition soon(4);
    EXPECT_EQ(verifyAndInfer(graph, nullptr, Checkpoint().unless(&soon)).code(),
              StatusCode::UNAVAILABLE);
    EXPECT_EQ(soon.asked(), 5U);
}

TEST(Verification, CopiesAConstantOnceForEveryGraphThatReadsIt) {
    const auto pool = std::make_shared<Bytes>(kMegabyte);
    const auto memory = std::make_shared<Budget>(kMegabyte);
    ConstantCopies copies(memory);
    for (int i = 0; i < 3; ++i) {
        Graph graph;
        const TensorId x = graph.addTensor(float32({4}));
        const TensorId indices = graph.addConstant(int32({static_cast<int32_t>(pool->size() / 4)}),
                                                   sharedBytes(pool), copies)
                                         .value();
        graph.setInputs({x});
        graph.setOutputs({addNode(graph, Gather(), {x, indices})});
        EXPECT_TRUE(verifyAndInfer(graph, copies, {}).ok());
        EXPECT_FALSE(graph.tensor(indices).constant.shared);
    }
}

}  // namespace
}  // namespace halyard::engine
