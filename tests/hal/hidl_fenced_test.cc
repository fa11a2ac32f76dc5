// SPDX-License-Identifier: Apache-2.0
//
// executeFenced of 1.3: what is invalid is said first, and what is given is over.

#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "engine/base/file_descriptor.h"
#include "hal/hidl/types.h"
#include "hal/hidl/v1_3.h"
#include "hal/hidl/version_delta.h"
#include "tests/hal/add_model.h"
#include "tests/hal/hidl_objects_fixture.h"

namespace halyard::hal {
namespace {

using driver::Account;
using driver::ErrorStatus;
using driver::HalVersion;
using hidl::nn::v1_3::IFencedExecutionCallback;
using hidl::nn::v1_3::IPreparedModel;
using testing::addRequest;
using testing::callMethod;
using testing::HidlObjects;

class FencedExecutions : public HidlObjects {
  protected:
    struct Asked {
        driver::Request request = addRequest();
        std::vector<hidl::HidlHandle> (*fences)(ParcelWriter& writer) = nullptr;
        bool measured = false;
        Deadline deadline = {};
        std::optional<std::chrono::nanoseconds> duration = {};
    };
    struct Answer {
        ErrorStatus status = ErrorStatus::NONE;
        bool hasFence = false;
        ObjectRef callback;
    };

    Answer execute(const Asked& asked) {
        if (mModel == nullptr) {
            mModel = served(*mProcess, prepared(newest()));
        }
        const Result<std::unique_ptr<Reply>> reply = callMethod(
                *mProcess, mModel, IPreparedModel::layout(), IPreparedModel::executeFenced,
                [&](ParcelWriter& writer) {
                    std::vector<hidl::HidlMemory> memories;
                    for (const ExportedMemory& pool : mPools) {
                        memories.push_back(hidl::makeMemory(writer, pool.memory->name(),
                                                            pool.handle, pool.memory->size()));
                    }
                    hidl::versionDelta(HalVersion::V1_3)
                            .writeRequest(writer, asked.request, memories);
                    std::vector<hidl::HidlHandle> fences;
                    if (asked.fences != nullptr) {
                        fences = asked.fences(writer);
                    }
                    hidl::writeValue(writer, hidl::makeVec(writer, fences));
                    writer.writeInt32(asked.measured ? 1 : 0);
                    hidl::nn::v1_3::OptionalTimePoint time;
                    hidl::nn::v1_3::encode(writer, asked.deadline, time);
                    hidl::writeValue(writer, time);
                    hidl::writeValue(writer, hidl::nn::v1_3::OptionalTimeoutDuration());
                    hidl::nn::v1_3::OptionalTimeoutDuration duration;
                    if (asked.duration.has_value()) {
                        hidl::nn::v1_3::encode(writer, *asked.duration, duration);
                    }
                    hidl::writeValue(writer, duration);
                });
        EXPECT_TRUE(reply.ok()) << reply.status().toString();
        Answer answer;
        answer.status = *hidl::readEnum<ErrorStatus>((*reply)->reader());
        answer.hasFence = hidl::readNativeHandle((*reply)->reader())->valid;
        answer.callback = *(*reply)->reader().readObject();
        return answer;
    }
    void expectRefused(const Asked& asked, ErrorStatus status) {
        const Answer answer = execute(asked);
        EXPECT_EQ(answer.status, status);
        EXPECT_FALSE(answer.hasFence);
        EXPECT_TRUE(isNull(answer.callback));
    }

    std::shared_ptr<LocalObject> mModel;
};

TEST_F(FencedExecutions, AreOverWhenTheyAreGiven) {
    const Answer answer = execute({.measured = true});
    ASSERT_EQ(answer.status, ErrorStatus::NONE);
    EXPECT_FALSE(answer.hasFence);
    const Result<std::unique_ptr<Reply>> info = callMethod(
            *mProcess, served(*mProcess, answer.callback), IFencedExecutionCallback::layout(),
            IFencedExecutionCallback::getExecutionInfo, [](ParcelWriter&) {});
    ASSERT_TRUE(info.ok()) << info.status().toString();
    EXPECT_EQ(*hidl::readEnum<ErrorStatus>((*info)->reader()), ErrorStatus::NONE);
    for (int timing = 0; timing < 2; ++timing) {
        const auto times = hidl::readValue<hidl::nn::v1_2::Timing>((*info)->reader());
        ASSERT_TRUE(times.ok());
        const driver::Timing known = hidl::nn::v1_2::decode(**times);
        ASSERT_TRUE(known.timeOnDevice.has_value() && known.timeInDriver.has_value());
        EXPECT_LE(*known.timeOnDevice, *known.timeInDriver);
    }
}

TEST_F(FencedExecutions, AreChargedForAsLongAsTheirCallbackIsKept) {
    ASSERT_EQ(execute({}).status, ErrorStatus::NONE);  // what executions need stays
    const Account& account = mDriver->client({.pid = 4711, .uid = 1000}).value()->account();
    const size_t before = account.memory->reserved();
    Answer kept = execute({});
    EXPECT_GE(account.memory->reserved(), before + 1024);
    kept.callback = {};
    mProcess->stop();
    EXPECT_LE(account.memory->reserved(), before);
}

TEST_F(FencedExecutions, SayWhatIsInvalidFirst) {
    const Deadline passed = std::chrono::steady_clock::time_point();
    const auto null = [](ParcelWriter&) { return std::vector<hidl::HidlHandle>(1); };
    expectRefused({.request = {}}, ErrorStatus::INVALID_ARGUMENT);
    expectRefused({.fences = null}, ErrorStatus::INVALID_ARGUMENT);
    expectRefused({.deadline = passed}, ErrorStatus::MISSED_DEADLINE_PERSISTENT);
    expectRefused({.request = {}, .deadline = passed}, ErrorStatus::INVALID_ARGUMENT);
    expectRefused({.duration = std::chrono::nanoseconds(0)},
                  ErrorStatus::MISSED_DEADLINE_PERSISTENT);
}

TEST_F(FencedExecutions, HaveFencesOfOneDescriptorEach) {
    const auto pair = [](ParcelWriter& writer) {
        return std::vector<hidl::HidlHandle>{hidl::makeHandle(writer, {.fds = {0, 0}, .ints = {}})};
    };
    const auto none = [](ParcelWriter& writer) {
        return std::vector<hidl::HidlHandle>{hidl::makeHandle(writer, {.fds = {}, .ints = {7}})};
    };
    expectRefused({.fences = pair}, ErrorStatus::INVALID_ARGUMENT);
    expectRefused({.fences = none}, ErrorStatus::INVALID_ARGUMENT);
}

TEST_F(FencedExecutions, WaitForNothingButFences) {
    const auto eventOf = [](ParcelWriter& writer) {
        static const FileDescriptor kEvent(eventfd(1, EFD_CLOEXEC));
        return std::vector{hidl::makeHandle(writer, {.fds = {kEvent.get()}, .ints = {}})};
    };
    expectRefused({.fences = eventOf}, ErrorStatus::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace halyard::hal
