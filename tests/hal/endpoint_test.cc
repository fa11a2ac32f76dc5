// SPDX-License-Identifier: Apache-2.0

#include "hal/service/endpoint.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/log.h"

namespace halyard::hal {
namespace {

// Notes on the end of an endpoint.
struct Notes {
    int opened = 0;
    int asked = 0;
    int looked = 0;  // for a declaration
    bool declared = true;
    bool announced = false;
    bool closed = false;
    std::vector<Notes*>* order = nullptr;  // of all that are announced
};

// A endpoint whose manager is there at the so-manieth look.
class FakeEndpoint final : public Endpoint {
  public:
    FakeEndpoint(std::string name, Notes& notes, int looks, Status failure = {})
        : mName(std::move(name)), mNotes(notes), mLooks(looks), mFailure(std::move(failure)) {}
    ~FakeEndpoint() override { mNotes.closed = true; }
    FakeEndpoint(const FakeEndpoint&) = delete;
    FakeEndpoint& operator=(const FakeEndpoint&) = delete;

    std::string name() const override { return mName; }
    Status open(const Served& /*served*/, const EndpointThreads& threads) override {
        ++mNotes.opened;
        EXPECT_EQ(threads.spawned, 5U);
        return mFailure;
    }
    Result<bool> isDeclared(std::chrono::milliseconds /*patience*/) override {
        ++mNotes.looked;
        if (mNotes.asked + mNotes.looked < mLooks) {
            return Status(StatusCode::UNAVAILABLE, "no manager");
        }
        return mNotes.declared;
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

class EndpointsTest : public ::testing::Test {
  protected:
    static void SetUpTestSuite() { setLogThreshold(LogLevel::ERROR); }
    static void TearDownTestSuite() { setLogThreshold(LogLevel::INFO); }

    void add(Notes& notes, int looks, const Status& failure = {}) {
        mEndpoints.push_back(std::make_unique<FakeEndpoint>(
                "endpoint " + std::to_string(mEndpoints.size()), notes, looks, failure));
    }

    static constexpr EndpointThreads kThreads = {.first = 1, .spawned = 5};
    Endpoints mEndpoints;
};

TEST_F(EndpointsTest, AreAllOpenedAndAnnouncedWhicheverCanBeFirst) {
    std::vector<Notes*> order;
    Notes first = {.order = &order};
    Notes second = {.order = &order};
    add(first, 3);
    add(second, 1);
    ASSERT_TRUE(openEndpoints(mEndpoints, EndpointChoice::ALL, {}, kThreads).ok());
    EXPECT_EQ(first.opened, 1);
    EXPECT_EQ(second.opened, 1);
    EXPECT_TRUE(announceEndpoints(mEndpoints, EndpointChoice::ALL, [] { return true; }).value());
    EXPECT_TRUE(first.announced);
    EXPECT_TRUE(second.announced);
    EXPECT_EQ(first.asked, 3);
    EXPECT_EQ(second.asked, 1) << "once is enough";
    EXPECT_EQ(order, (std::vector<Notes*>{&second, &first}));
}

TEST_F(EndpointsTest, AreWaitedForNoLongerThanWanted) {
    Notes notes;
    add(notes, 1000);
    EXPECT_FALSE(announceEndpoints(mEndpoints, EndpointChoice::ALL, [&] {
                     return notes.asked < 3;
                 }).value());
    EXPECT_EQ(notes.asked, 3);
    EXPECT_FALSE(notes.announced);
}

TEST_F(EndpointsTest, ThatFailAreNamed) {
    Notes good;
    Notes bad;
    add(good, 1);
    add(bad, 1, internalError("jammed"));
    EXPECT_EQ(openEndpoints(mEndpoints, EndpointChoice::ALL, {}, kThreads).message(),
              "endpoint 1: jammed");
    const Result<bool> announced =
            announceEndpoints(mEndpoints, EndpointChoice::ALL, [] { return true; });
    EXPECT_EQ(announced.status().message(), "endpoint 1: jammed");
    mEndpoints.clear();
    EXPECT_TRUE(good.closed);
}

TEST_F(EndpointsTest, AreAnnouncedWhereTheyAreDeclared) {
    Notes declared;
    Notes undeclared = {.declared = false};
    add(declared, 3);
    add(undeclared, 1);
    ASSERT_TRUE(openEndpoints(mEndpoints, EndpointChoice::DECLARED, {}, kThreads).ok());
    EXPECT_TRUE(
            announceEndpoints(mEndpoints, EndpointChoice::DECLARED, [] { return true; }).value());
    EXPECT_TRUE(declared.announced);
    EXPECT_FALSE(undeclared.announced);
    EXPECT_EQ(undeclared.asked, 0) << "a manager that is told of what is not declared refuses it";
    EXPECT_EQ(undeclared.looked, 1);
}

TEST_F(EndpointsTest, HaveToBeDeclaredSomewhere) {
    Notes first = {.declared = false};
    Notes second = {.declared = false};
    add(first, 1);
    add(second, 1);
    const Result<bool> announced =
            announceEndpoints(mEndpoints, EndpointChoice::DECLARED, [] { return true; });
    EXPECT_EQ(announced.status().code(), StatusCode::UNSUPPORTED);
    EXPECT_TRUE(announceEndpoints(mEndpoints, EndpointChoice::ALL, [] { return true; }).value());
    EXPECT_EQ(first.looked, 1) << "no name is looked up where all are meant";
}

TEST_F(EndpointsTest, AreLeftOutWhereTheyCanNotBeOpenedAndNeedNotBe) {
    Notes good;
    Notes bad;
    add(good, 1);
    add(bad, 1, internalError("jammed"));
    ASSERT_TRUE(openEndpoints(mEndpoints, EndpointChoice::DECLARED, {}, kThreads).ok());
    ASSERT_EQ(mEndpoints.size(), 1U);
    EXPECT_TRUE(bad.closed);
    EXPECT_FALSE(good.closed);
    mEndpoints.clear();
    add(bad, 1, internalError("jammed"));
    EXPECT_EQ(openEndpoints(mEndpoints, EndpointChoice::DECLARED, {}, kThreads).message(),
              "endpoint 0: jammed");
}

}  // namespace
}  // namespace halyard::hal
