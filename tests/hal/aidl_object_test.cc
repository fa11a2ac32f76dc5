// SPDX-License-Identifier: Apache-2.0

#include "hal/aidl/aidl_object.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <string>

#include "engine/base/log.h"
#include "hal/aidl/remote_interface.h"
#include "hal/aidl/types.h"
#include "tests/hal/loopback.h"

namespace halyard::hal::aidl {
namespace {

using testing::LoopbackProcess;

class Buffer final : public AidlObject {
  public:
    explicit Buffer(int32_t version) : AidlObject(nn::IPreparedModel::info(), Release(), version) {}
    int served = 0;

  protected:
    Status serve(uint32_t code, Call& call) override {
        ++served;
        using nn::IPreparedModel;
        if (code == IPreparedModel::ConfigureExecutionBurst::kCode) {
            return call.answer(IPreparedModel::ConfigureExecutionBurst::Results());
        }
        if (code == IPreparedModel::ExecuteSynchronouslyWithConfig::kCode) {
            HALYARD_RETURN_IF_ERROR(
                    call.read<IPreparedModel::ExecuteSynchronouslyWithConfig>().status());
            return call.raise({.serviceSpecific = 4});
        }
        return unsupported("no handler");
    }
    std::string debugText(std::span<const std::string> options) const override {
        std::string text = "text";
        for (const std::string& option : options) {
            text += " " + option;
        }
        return text;
    }
};

class AidlObjects : public ::testing::Test {
  protected:
    static void SetUpTestSuite() { setLogThreshold(LogLevel::ERROR); }
    static void TearDownTestSuite() { setLogThreshold(LogLevel::INFO); }
    void TearDown() override { mProcess->stop(); }

    RemoteInterface connect(int32_t version) {
        mObject = std::make_shared<Buffer>(version);
        return *RemoteInterface::cast(mProcess, ObjectRef(mProcess->remote(mObject)),
                                      nn::IPreparedModel::info(), Release());
    }
    // The object's answer to bytes.
    WireStatus send(uint32_t code, const ParcelWriter& arguments) {
        return mProcess->call(mObject, code, false, testing::capture(arguments))->status;
    }

    const std::shared_ptr<LoopbackProcess> mProcess = std::make_shared<LoopbackProcess>();
    std::shared_ptr<Buffer> mObject;
};

TEST_F(AidlObjects, TellTheirVersionAndItsHash) {
    for (int32_t version = 1; version <= 4; ++version) {
        const RemoteInterface remote = connect(version);
        const auto told = remote.call<nn::IPreparedModel::GetInterfaceVersion>({});
        ASSERT_TRUE(told.ok()) << told.status().toString();
        EXPECT_EQ(told->results.result, version);
        const auto hash = remote.call<nn::IPreparedModel::GetInterfaceHash>({});
        ASSERT_TRUE(hash.ok()) << hash.status().toString();
        EXPECT_EQ(hash->results.result,
                  nn::IPreparedModel::info().hashes[static_cast<size_t>(version) - 1]);
    }
}

TEST_F(AidlObjects, AreAskedWhatTheyAre) {
    connect(4);
    const auto other = RemoteInterface::cast(mProcess, ObjectRef(mProcess->remote(mObject)),
                                             nn::IDevice::info(), Release());
    EXPECT_FALSE(other.ok());
    EXPECT_FALSE(RemoteInterface::cast(mProcess, {}, nn::IDevice::info(), Release()).ok());
}

TEST_F(AidlObjects, HaveNoMethodOfALaterVersion) {
    using Method = nn::IPreparedModel::ExecuteSynchronouslyWithConfig;
    EXPECT_EQ(connect(3).call<Method>({}).status().code(), StatusCode::UNSUPPORTED);
    EXPECT_EQ(mObject->served, 0);
    const auto answer = connect(4).call<Method>({});
    EXPECT_EQ(answer.status().code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(mObject->served, 1);
}

TEST_F(AidlObjects, RefuseHeadsThatAreNotTheirs) {
    connect(4);
    constexpr uint32_t kCode = nn::IPreparedModel::ConfigureExecutionBurst::kCode;
    const auto head = [](int32_t marker, std::string_view descriptor) {
        auto parcel = std::make_unique<ParcelWriter>();
        parcel->writeInt32(0);
        parcel->writeInt32(-1);
        parcel->writeInt32(marker);
        AidlWriter(*parcel, Release()).writeString(descriptor);
        return parcel;
    };
    constexpr int32_t kSystem = 0x53595354;
    constexpr int32_t kVendor = 0x564e4452;
    const std::string_view own = nn::IPreparedModel::info().descriptor;
    EXPECT_EQ(send(kCode, *head(kSystem, own)), WireStatus::OK);
    EXPECT_EQ(send(kCode, *head(kVendor, own)), WireStatus::BAD_TYPE);
    EXPECT_EQ(send(kCode, *head(kSystem, "other")), WireStatus::BAD_TYPE);
    EXPECT_EQ(send(kCode, ParcelWriter()), WireStatus::BAD_TYPE);
    EXPECT_EQ(send(99, *head(kSystem, own)), WireStatus::UNKNOWN_TRANSACTION);
    // Nothing may be left behind the arguments.
    const auto more = head(kSystem, own);
    more->writeInt32(5);
    EXPECT_EQ(send(kCode, *more), WireStatus::BAD_VALUE);
}

TEST_F(AidlObjects, AnswerNoCallerThatDoesNotWait) {
    const RemoteInterface remote = connect(4);
    EXPECT_TRUE(remote.callOneway<nn::IPreparedModel::ConfigureExecutionBurst>({}).ok());
    EXPECT_EQ(mObject->served, 1);
}

TEST_F(AidlObjects, WriteTheirTextWhereADumpWantsIt) {
    connect(4);
    std::array<int, 2> ends = {};
    ASSERT_EQ(pipe(ends.data()), 0);
    ParcelWriter arguments;
    arguments.writeDescriptor(ends[1]);
    arguments.writeInt32(1);
    AidlWriter(arguments, Release()).writeString("--all");
    constexpr auto kDump = static_cast<uint32_t>(MetaCode::DUMP);
    EXPECT_EQ(send(kDump, arguments), WireStatus::OK);
    mProcess->caller.euid = 10001;
    EXPECT_EQ(send(kDump, arguments), WireStatus::PERMISSION_DENIED);
    close(ends[1]);
    std::array<char, 64> text = {};
    const ssize_t size = ::read(ends[0], text.data(), text.size());
    EXPECT_EQ(std::string(text.data(), static_cast<size_t>(size)), "text --all");
    close(ends[0]);
    mProcess->caller.euid = 1000;
    EXPECT_EQ(send(kDump, ParcelWriter()), WireStatus::BAD_VALUE);
}

}  // namespace
}  // namespace halyard::hal::aidl
