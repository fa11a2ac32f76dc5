// SPDX-License-Identifier: Apache-2.0
//
// Which executions stand still while others run. Limits of hours stand for ever: who waits too long
// fails by the tests' patience.

#include "driver/clients/precedence.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <thread>

#include "tests/driver/awaited.h"

namespace halyard::driver {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr Precedence::Limits kForEver = {.step = hours(1), .most = hours(1)};

// Asks once, on a thread of its own.
class Asking {
  public:
    explicit Asking(const Precedence::Running& running)
        : mThread([&running, answer = mAnswer] { answer.set(running.holds()); }) {}
    ~Asking() { mThread.join(); }
    bool answer() const { return mAnswer.get(); }
    bool hasAnswered() const { return mAnswer.count() > 0; }

  private:
    Awaited<bool> mAnswer;
    std::thread mThread;
};

bool comesToWait(const Precedence& precedence, size_t count) {
    const auto end = steady_clock::now() + std::chrono::seconds(30);
    while (precedence.waiting() < count && steady_clock::now() < end) {
        std::this_thread::yield();
    }
    return precedence.waiting() == count;
}

TEST(Precedence, LowerOnesStandStillUntilTheHigherOneEnds) {
    Precedence precedence(kForEver);
    std::optional<Precedence::Running> high;
    high.emplace(precedence, Priority::HIGH);
    std::optional<Precedence::Running> medium;
    medium.emplace(precedence, Priority::MEDIUM);
    const Precedence::Running low(precedence, Priority::LOW);
    const Asking first(*medium);
    const Asking second(low);
    EXPECT_TRUE(comesToWait(precedence, 2));
    EXPECT_FALSE(first.hasAnswered());
    high.reset();
    EXPECT_FALSE(first.answer());
    EXPECT_TRUE(comesToWait(precedence, 1));
    EXPECT_FALSE(second.hasAnswered()) << "the medium one still runs";
    medium.reset();
    EXPECT_FALSE(second.answer());
}

TEST(Precedence, HighestAndEqualOnesGoOn) {
    Precedence precedence(kForEver);
    const Precedence::Running high(precedence, Priority::HIGH);
    const Precedence::Running other(precedence, Priority::HIGH);
    const Precedence::Running low(precedence, Priority::LOW);
    EXPECT_FALSE(Asking(high).answer());
    EXPECT_FALSE(Asking(other).answer());
}

TEST(Precedence, TheOnlyOneGoesOnWhateverItsPriority) {
    Precedence precedence(kForEver);
    const Precedence::Running low(precedence, Priority::LOW);
    { const Precedence::Running high(precedence, Priority::HIGH); }
    EXPECT_FALSE(Asking(low).answer());
}

TEST(Precedence, AsksAgainAfterAStep) {
    Precedence precedence({.step = milliseconds(1), .most = hours(1)});
    const Precedence::Running high(precedence, Priority::HIGH);
    const Precedence::Running low(precedence, Priority::LOW);
    EXPECT_FALSE(Asking(low).answer());
    EXPECT_FALSE(Asking(low).answer());
}

TEST(Precedence, NoWorkStandsStillForEver) {
    Precedence precedence({.step = hours(1), .most = milliseconds(1)});
    const Precedence::Running high(precedence, Priority::HIGH);
    const Precedence::Running low(precedence, Priority::LOW);
    EXPECT_FALSE(Asking(low).answer());
    EXPECT_FALSE(Asking(low).answer()) << "nor a second time";
}

}  // namespace
}  // namespace halyard::driver
