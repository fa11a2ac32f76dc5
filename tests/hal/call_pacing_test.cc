// SPDX-License-Identifier: Apache-2.0

#include "hal/binder/call_pacing.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

namespace halyard::hal {
namespace {

constexpr uint32_t kFlooding = 10'001;
constexpr uint32_t kHonest = 10'002;

using ServedCalls = std::vector<std::unique_ptr<CallPacing::ServedCall>>;

// Calls inside one another, which is as good here as side by side.
void enter(CallPacing& pacing, uint32_t uid, size_t count, ServedCalls& calls) {
    for (size_t i = 0; i < count; ++i) {
        calls.push_back(std::make_unique<CallPacing::ServedCall>(pacing, uid));
    }
}

// A call that takes just too much.
void compute(CallPacing& pacing, uint32_t uid) {
    const CallPacing::ServedCall call(pacing, uid);
    const auto end = timeOfThread() + RecentUse::kMuch + std::chrono::milliseconds(20);
    while (timeOfThread() < end) {
    }
}

bool pauses(CallPacing::ServedCall& call) {
    const auto start = std::chrono::steady_clock::now();
    call.pause();
    return std::chrono::steady_clock::now() - start >= CallPacing::kPause;
}

TEST(CallPacing, KeepsAnswersFromAFloodWhileOthersCall) {
    CallPacing pacing(8, false, 0);
    { const CallPacing::ServedCall other(pacing, kHonest); }
    compute(pacing, kFlooding);
    ServedCalls calls;
    enter(pacing, kFlooding, CallPacing::kUnpaced, calls);
    EXPECT_FALSE(pauses(*calls.back())) << "so few at once are no flood";
    enter(pacing, kFlooding, 1, calls);
    EXPECT_TRUE(pauses(*calls.back()));
    CallPacing::ServedCall other(pacing, kHonest);
    EXPECT_FALSE(pauses(other));
    EXPECT_EQ(pacing.pausing(), 0U);
}

TEST(CallPacing, HoldsNoCallerUpThatIsAlone) {
    CallPacing pacing(8, false, 0);
    compute(pacing, kFlooding);
    ServedCalls calls;
    enter(pacing, kFlooding, 10, calls);
    EXPECT_FALSE(pauses(*calls.back()));
}

TEST(CallPacing, HoldsNoMoreThreadsThanItMay) {
    CallPacing pacing(1, false, 0);
    { const CallPacing::ServedCall other(pacing, kHonest); }
    compute(pacing, kFlooding);
    ServedCalls calls;
    enter(pacing, kFlooding, 10, calls);
    std::thread first([&] { calls.front()->pause(); });
    while (pacing.pausing() == 0) {
        std::this_thread::yield();
    }
    // While the first one waits, which it does for 50 ms and more.
    calls.back()->pause();
    EXPECT_LE(pacing.pausing(), 1U);
    first.join();
}

TEST(CallPacing, HasThreadsThatServeAFloodGiveWay) {
    if (!threadsMayGiveWay()) {
        GTEST_SKIP() << "threads of this process get no nice value back";
    }
    std::thread([] {
        const int before = niceOfThread();
        CallPacing pacing(8, true, before);
        { const CallPacing::ServedCall other(pacing, kHonest); }
        compute(pacing, kFlooding);
        {
            const CallPacing::ServedCall call(pacing, kFlooding);
            EXPECT_EQ(niceOfThread(), kGivingWay);
        }
        EXPECT_EQ(niceOfThread(), before);
        const CallPacing::ServedCall other(pacing, kHonest);
        EXPECT_EQ(niceOfThread(), before);
    }).join();
}

}  // namespace
}  // namespace halyard::hal
