// SPDX-License-Identifier: Apache-2.0

#include "hal/service/door.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/log.h"

namespace halyard::hal {
namespace {

// What became of a door.
struct Notes {
    int opened = 0;
    int asked = 0;
    bool announced = false;
    bool closed = false;
    std::vector<Notes*>* order = nullptr;  // of all that are announced
};

// A door whose manager is there at the so-manieth look.
class FakeDoor final : public Door {
  public:
    FakeDoor(std::string name, Notes& notes, int looks, Status failure = {})
        : mName(std::move(name)), mNotes(notes), mLooks(looks), mFailure(std::move(failure)) {}
    ~FakeDoor() override { mNotes.closed = true; }
    FakeDoor(const FakeDoor&) = delete;
    FakeDoor& operator=(const FakeDoor&) = delete;

    std::string name() const override { return mName; }
    Status open(const Served& /*served*/, const DoorThreads& threads) override {
        ++mNotes.opened;
        EXPECT_EQ(threads.spawned, 5U);
        return mFailure;
    }
    Status announce(std::chrono::milliseconds /*patience*/) override {
        if (++mNotes.asked < mLooks) {
            return {StatusCode::UNAVAILABLE, "no manager"};
        }
        mNotes.announced = mFailure.ok();
        if (mNotes.order != nullptr) {
            mNotes.order->push_back(&mNotes);
        }
        return mFailure;
    }

  private:
    const std::string mName;
    Notes& mNotes;
    const int mLooks;
    const Status mFailure;
};

class DoorsTest : public ::testing::Test {
  protected:
    static void SetUpTestSuite() { setLogThreshold(LogLevel::ERROR); }
    static void TearDownTestSuite() { setLogThreshold(LogLevel::INFO); }

    void add(Notes& notes, int looks, const Status& failure = {}) {
        mDoors.push_back(std::make_unique<FakeDoor>("door " + std::to_string(mDoors.size()), notes,
                                                    looks, failure));
    }

    static constexpr DoorThreads kThreads = {.first = 1, .spawned = 5};
    Doors mDoors;
};

TEST_F(DoorsTest, AreAllOpenedAndAnnouncedWhicheverCanBeFirst) {
    std::vector<Notes*> order;
    Notes first = {.order = &order};
    Notes second = {.order = &order};
    add(first, 3);
    add(second, 1);
    ASSERT_TRUE(openDoors(mDoors, {}, kThreads).ok());
    EXPECT_EQ(first.opened, 1);
    EXPECT_EQ(second.opened, 1);
    EXPECT_TRUE(announceDoors(mDoors, [] { return true; }).value());
    EXPECT_TRUE(first.announced);
    EXPECT_TRUE(second.announced);
    EXPECT_EQ(first.asked, 3);
    EXPECT_EQ(second.asked, 1) << "once is enough";
    EXPECT_EQ(order, (std::vector<Notes*>{&second, &first}));
}

TEST_F(DoorsTest, AreWaitedForNoLongerThanWanted) {
    Notes notes;
    add(notes, 1000);
    EXPECT_FALSE(announceDoors(mDoors, [&] { return notes.asked < 3; }).value());
    EXPECT_EQ(notes.asked, 3);
    EXPECT_FALSE(notes.announced);
}

TEST_F(DoorsTest, ThatFailAreNamed) {
    Notes good;
    Notes bad;
    add(good, 1);
    add(bad, 1, internalError("jammed"));
    EXPECT_EQ(openDoors(mDoors, {}, kThreads).message(), "door 1: jammed");
    const Result<bool> announced = announceDoors(mDoors, [] { return true; });
    EXPECT_EQ(announced.status().message(), "door 1: jammed");
    mDoors.clear();
    EXPECT_TRUE(good.closed);
}

}  // namespace
}  // namespace halyard::hal
