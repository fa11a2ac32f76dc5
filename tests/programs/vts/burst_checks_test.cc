// SPDX-License-Identifier: Apache-2.0
//
// The checks of HIDL's bursts, against a burst that answers wrongly.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/base/log.h"
#include "hal/hidl/burst_packets.h"
#include "hal/hidl/client/prepared_model.h"
#include "harness/device/cases/canonical_model.h"
#include "harness/device/vts/validation/burst.h"
#include "tests/programs/vts/checked_device.h"

namespace halyard::vts::testing {
namespace {

using hal::hidl::BurstChannel;
using Bytes = std::vector<std::byte>;
using Answer = Result<Bytes>;
using Spoil = std::function<Answer(Answer)>;

class WrongChannel final : public BurstChannel {
  public:
    WrongChannel(std::unique_ptr<BurstChannel> inner, Spoil spoil)
        : mInner(std::move(inner)), mSpoil(std::move(spoil)) {}

    void put(int32_t slot, driver::SharedMemory memory) override {
        mInner->put(slot, std::move(memory));
    }
    Status free(int32_t slot) override { return mInner->free(slot); }
    Status send(std::span<const std::byte> packet) override { return mInner->send(packet); }
    Answer receive(const Deadline& deadline) override { return mSpoil(mInner->receive(deadline)); }

  private:
    const std::unique_ptr<BurstChannel> mInner;
    const Spoil mSpoil;
};

class BurstChecks : public ::testing::Test {
  protected:
    static void SetUpTestSuite() { setLogThreshold(LogLevel::ERROR); }
    static void TearDownTestSuite() { setLogThreshold(LogLevel::INFO); }

    void SetUp() override {
        const runner::pb::TestCase testCase = exampleCase();
        mModel = mDevice.device()
                         ->prepare(runner::toCanonical(testCase.model()).value(), {})
                         .value();
        mRequest = runner::toCanonical(testCase.examples(0)).value();
    }

    // `length`: of the queue of results, whatever the check asks for; 0: as it asks.
    Verdict check(BurstCheck& check, const Spoil& spoil, size_t length = 0) {
        return check(
                [&](const BurstChannel::Lengths& asked) -> Result<std::unique_ptr<BurstChannel>> {
                    BurstChannel::Lengths lengths = asked;
                    lengths.results = length == 0 ? asked.results : length;
                    HALYARD_ASSIGN_OR_RETURN(auto channel,
                                             hal::hidl::openBurstChannel(*mModel, lengths));
                    return std::unique_ptr<BurstChannel>(
                            std::make_unique<WrongChannel>(std::move(channel), spoil));
                },
                mRequest);
    }
    void expectFailed(BurstCheck& one, const Spoil& spoil) {
        EXPECT_EQ(check(one, spoil).outcome, Verdict::Outcome::FAILED);
    }

    CheckedDevice mDevice{driver::HalVersion::V1_3};
    std::shared_ptr<driver::IPreparedModel> mModel;
    driver::Request mRequest;
};

Answer asItIs(Answer answer) {
    return answer;
}

TEST_F(BurstChecks, PassABurstThatIsRight) {
    for (BurstCheck* const one : {removeDatumTest, addDatumTest, mutateDatumTest,
                                  validateBurstFmqLength, validateBurstSanitized}) {
        const Verdict verdict = check(*one, asItIs);
        EXPECT_TRUE(verdict.hasPassed()) << verdict.reason;
    }
}

TEST_F(BurstChecks, FailABurstThatTakesEveryPacketForARequest) {
    const auto fine = [](const Answer&) {
        return hal::hidl::writeBurstResult({.status = {}, .outputShapes = {}, .timing = {}});
    };
    for (BurstCheck* const one : {removeDatumTest, addDatumTest, mutateDatumTest}) {
        expectFailed(*one, fine);
    }
}

TEST_F(BurstChecks, FailABurstThatSaysMoreThanThatItFailed) {
    const auto withShapes = [](const Answer&) {
        return hal::hidl::writeBurstResult({.status = invalidArgument("wrong"),
                                            .outputShapes = {{.dimensions = {1}}},
                                            .timing = {}});
    };
    expectFailed(removeDatumTest, withShapes);
}

TEST_F(BurstChecks, FailABurstThatDoesNotAnswerOrAnswersRubbish) {
    for (BurstCheck* const one : {removeDatumTest, addDatumTest, mutateDatumTest,
                                  validateBurstFmqLength, validateBurstSanitized}) {
        expectFailed(*one, [](const Answer&) -> Answer {
            return Status(StatusCode::DEADLINE_EXCEEDED, "nothing");
        });
    }
    expectFailed(removeDatumTest, [](const Answer&) { return Bytes(7); });
}

TEST_F(BurstChecks, FailABurstWhoseResultsGoIntoAQueueThatIsTooShort) {
    // That of the regular burst is taken for that of the short one.
    EXPECT_EQ(check(validateBurstFmqLength, asItIs, 1024).outcome, Verdict::Outcome::FAILED);
}

TEST_F(BurstChecks, FailABurstThatShowsWhatWasInItsMemory) {
    expectFailed(validateBurstSanitized, [](Answer answer) {
        // The second datum is the first output's: its flag, then padding.
        constexpr size_t kDatum = 24;
        constexpr size_t kPadding = 8 + 1;
        (*answer)[kDatum + kPadding] = std::byte{0xa5};
        return answer;
    });
}

}  // namespace
}  // namespace halyard::vts::testing
