// SPDX-License-Identifier: Apache-2.0
//
// HIDL services that refuse, die or keep silent once a call is begun: each caller is told, once.

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hal/hidl/client/connection.h"
#include "hal/hidl/client/device.h"
#include "hal/hidl/client/prepared_model.h"
#include "hal/hidl/client/remote_interface.h"
#include "hal/hidl/codec.h"
#include "hal/hidl/hidl_object.h"
#include "hal/hidl/types.h"
#include "hal/hidl/version_delta.h"
#include "hal/memory/shared_memory.h"
#include "tests/hal/add_model.h"
#include "tests/hal/client_version.h"
#include "tests/hal/loopback.h"

namespace halyard::hal::testing {
namespace {

using driver::HalVersion;

// A service that takes models, gives one answer, and never calls back.
class SilentService : public hidl::HidlObject {
  public:
    explicit SilentService(driver::ErrorStatus answer)
        : HidlObject(hidl::nn::v1_3::IDevice::layout()), mAnswer(answer) {}

  protected:
    Status serve(uint32_t code, Call& call) override {
        if (code != hidl::nn::v1_3::IDevice::prepareModel_1_3) {
            return unsupported("only prepares");
        }
        ParcelReader& arguments = call.arguments;
        HALYARD_RETURN_IF_ERROR(hidl::versionDelta(HalVersion::V1_3).readModel(arguments).status());
        HALYARD_RETURN_IF_ERROR(arguments.readInt32().status());
        HALYARD_RETURN_IF_ERROR(arguments.readInt32().status());
        HALYARD_RETURN_IF_ERROR(
                hidl::readValue<hidl::nn::v1_3::OptionalTimePoint>(arguments).status());
        for (int cache = 0; cache < 2; ++cache) {
            HALYARD_RETURN_IF_ERROR(
                    hidl::readValue<hidl::HidlVec<hidl::HidlHandle>>(arguments).status());
        }
        const Status token = hidl::readValue<std::array<uint8_t, 32>>(arguments).status();
        HALYARD_RETURN_IF_ERROR(token);
        HALYARD_ASSIGN_OR_RETURN(mCallback, arguments.readObject());
        HALYARD_ASSIGN_OR_RETURN(ParcelWriter * results, call.endArguments());
        hidl::writeEnum(*results, mAnswer);
        return {};
    }

  private:
    const driver::ErrorStatus mAnswer;
    ObjectRef mCallback;
};

class SilentServices : public ::testing::Test {
  protected:
    void TearDown() override { mProcess->stop(); }

    // The status of prepareAsync() on a service with that answer.
    Status prepareOn(driver::ErrorStatus answer) {
        mService = std::make_shared<SilentService>(answer);
        HALYARD_ASSIGN_OR_RETURN(
                hidl::ServiceConnection connection,
                hidl::connectTo(mProcess, mProcess->remote(mService), clientOf(HalVersion::V1_3)));
        return hidl::makeClientDevice(std::move(connection))
                ->prepareAsync(addModel(), {}, [this](const Status& status, auto) {
                    mTold.push_back(status.code());
                });
    }

    const std::shared_ptr<LoopbackProcess> mProcess = std::make_shared<LoopbackProcess>();
    std::shared_ptr<SilentService> mService;
    std::vector<StatusCode> mTold;
};

TEST_F(SilentServices, ThatRefuseLeaveNoCallerWaiting) {
    EXPECT_EQ(prepareOn(driver::ErrorStatus::RESOURCE_EXHAUSTED_TRANSIENT).code(),
              StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(mTold, std::vector{StatusCode::RESOURCE_EXHAUSTED});
    mProcess->kill(mService);
    EXPECT_EQ(mTold.size(), 1U);
}

TEST_F(SilentServices, ThatDieLeaveNoCallerWaiting) {
    EXPECT_TRUE(prepareOn(driver::ErrorStatus::NONE).ok());
    EXPECT_EQ(mTold.size(), 0U);
    mProcess->kill(mService);
    EXPECT_EQ(mTold, std::vector{StatusCode::UNAVAILABLE});
}

// A model whose executions get one answer, and never a call back.
class SilentModel : public hidl::HidlObject {
  public:
    explicit SilentModel(driver::ErrorStatus answer)
        : HidlObject(hidl::nn::v1_3::IPreparedModel::layout()), mAnswer(answer) {}

  protected:
    Status serve(uint32_t code, Call& call) override {
        if (code != hidl::nn::v1_3::IPreparedModel::execute_1_3) {
            return unsupported("only executes");
        }
        ParcelReader& arguments = call.arguments;
        HALYARD_RETURN_IF_ERROR(
                hidl::versionDelta(HalVersion::V1_3).readRequest(arguments).status());
        HALYARD_RETURN_IF_ERROR(arguments.readInt32().status());  // whether it is measured
        HALYARD_RETURN_IF_ERROR(
                hidl::readValue<hidl::nn::v1_3::OptionalTimePoint>(arguments).status());
        HALYARD_RETURN_IF_ERROR(
                hidl::readValue<hidl::nn::v1_3::OptionalTimeoutDuration>(arguments).status());
        HALYARD_ASSIGN_OR_RETURN(mCallback, arguments.readObject());
        HALYARD_ASSIGN_OR_RETURN(ParcelWriter * results, call.endArguments());
        hidl::writeEnum(*results, mAnswer);
        return {};
    }

  private:
    const driver::ErrorStatus mAnswer;
    ObjectRef mCallback;
};

// A model that says no to executeFenced, and gives a fence or a callback all the same.
class GenerousModel : public hidl::HidlObject {
  public:
    enum class Gift : uint8_t { NOTHING, FENCE, CALLBACK };
    explicit GenerousModel(Gift gift)
        : HidlObject(hidl::nn::v1_3::IPreparedModel::layout()), mGift(gift) {}

  protected:
    Status serve(uint32_t code, Call& call) override {
        if (code != hidl::nn::v1_3::IPreparedModel::executeFenced) {
            return unsupported("only executes behind fences");
        }
        ParcelReader& arguments = call.arguments;
        HALYARD_RETURN_IF_ERROR(
                hidl::versionDelta(HalVersion::V1_3).readRequest(arguments).status());
        HALYARD_RETURN_IF_ERROR(
                hidl::readValue<hidl::HidlVec<hidl::HidlHandle>>(arguments).status());
        HALYARD_RETURN_IF_ERROR(arguments.readInt32().status());  // whether it is measured
        HALYARD_RETURN_IF_ERROR(
                hidl::readValue<hidl::nn::v1_3::OptionalTimePoint>(arguments).status());
        for (int duration = 0; duration < 2; ++duration) {
            HALYARD_RETURN_IF_ERROR(
                    hidl::readValue<hidl::nn::v1_3::OptionalTimeoutDuration>(arguments).status());
        }
        HALYARD_ASSIGN_OR_RETURN(ParcelWriter * results, call.endArguments());
        hidl::writeEnum(*results, driver::ErrorStatus::INVALID_ARGUMENT);
        const NativeHandle fence = {.fds = {mFence.memory->handle()->descriptors}, .ints = {}};
        hidl::writeNativeHandle(*results, mGift == Gift::FENCE ? &fence : nullptr);
        results->writeObject(mGift == Gift::CALLBACK
                                     ? ObjectRef(std::make_shared<GenerousModel>(Gift::NOTHING))
                                     : ObjectRef());
        return {};
    }

  private:
    const Gift mGift;
    const ExportedMemory mFence = createSharedMemory(1).value();
};

class SilentModels : public SilentServices {
  protected:
    // The status of executeAsync() on a model with that answer.
    Status executeOn(driver::ErrorStatus answer) {
        const hidl::ClientVersion& version = clientOf(HalVersion::V1_3);
        HALYARD_ASSIGN_OR_RETURN(
                hidl::RemoteInterface model,
                hidl::RemoteInterface::cast(mProcess,
                                            mProcess->remote(std::make_shared<SilentModel>(answer)),
                                            version.preparedModel()));
        HALYARD_ASSIGN_OR_RETURN(const ExportedMemory memory, createSharedMemory(16));
        driver::Request request = addRequest();
        request.pools = {memory.memory};
        return hidl::makeClientPreparedModel(std::move(model), version, mLiveness)
                ->executeAsync(request, {}, [this](const driver::ExecutionResult& result) {
                    mTold.push_back(result.status.code());
                });
    }

    const std::shared_ptr<Liveness> mLiveness = std::make_shared<Liveness>();
};

TEST_F(SilentModels, ThatRefuseLeaveNoCallerWaiting) {
    EXPECT_EQ(executeOn(driver::ErrorStatus::DEVICE_UNAVAILABLE).code(), StatusCode::UNAVAILABLE);
    EXPECT_EQ(mTold, std::vector{StatusCode::UNAVAILABLE});
    mLiveness->died();
    EXPECT_EQ(mTold.size(), 1U);
}

TEST_F(SilentModels, ThatDieLeaveNoCallerWaiting) {
    EXPECT_TRUE(executeOn(driver::ErrorStatus::NONE).ok());
    EXPECT_EQ(mTold.size(), 0U);
    mLiveness->died();
    EXPECT_EQ(mTold, std::vector{StatusCode::UNAVAILABLE});
}

TEST_F(SilentModels, ThatGiveSomethingBesideAFailureAreWrong) {
    using Gift = GenerousModel::Gift;
    const hidl::ClientVersion& version = clientOf(HalVersion::V1_3);
    const auto statusBeside = [&](Gift gift) {
        const auto served = std::make_shared<GenerousModel>(gift);
        hidl::RemoteInterface model =
                hidl::RemoteInterface::cast(mProcess, mProcess->remote(served),
                                            version.preparedModel())
                        .value();
        driver::Request request = addRequest();
        request.pools = {createSharedMemory(16).value().memory};
        return hidl::makeClientPreparedModel(std::move(model), version, mLiveness)
                ->executeFenced(request, {})
                .status();
    };
    EXPECT_EQ(statusBeside(Gift::NOTHING).code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(statusBeside(Gift::FENCE).code(), StatusCode::INTERNAL);
    EXPECT_EQ(statusBeside(Gift::CALLBACK).code(), StatusCode::INTERNAL);
}

// ---- what is promised to be called back ---------------------------------------------------------

TEST(PendingAnswers, AreToldOfTheFirstEndAlone) {
    const auto service = std::make_shared<Liveness>();
    std::vector<std::string> told;
    const auto tell = [&told](const Result<int>& value) {
        told.push_back(value.ok() ? std::to_string(*value) : std::string(value.status().message()));
    };
    const Status death(StatusCode::UNAVAILABLE, "the service died");
    const auto answered = Pending<int>::create(service, death, tell);
    answered->complete(1);
    answered->complete(2);
    // A waiting thread is told, also when no other keeps the promise.
    static_cast<void>(Pending<int>::create(service, death, tell));
    service->died();
    service->died();
    static_cast<void>(Pending<int>::create(service, death, tell));
    EXPECT_EQ(told, (std::vector<std::string>{"1", "the service died", "the service died"}));
}

}  // namespace
}  // namespace halyard::hal::testing
