// SPDX-License-Identifier: Apache-2.0
//
// A client's choice where its wire has two ways: which of two methods of AIDL 4 it calls, and when
// a deadline never comes.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "hal/aidl/boot_time.h"
#include "hal/aidl/client/connection.h"
#include "hal/aidl/client/device.h"
#include "hal/aidl/conversion.h"
#include "hal/aidl/device_object.h"
#include "hal/aidl/types.h"
#include "hal/hidl/client/wire_deadline.h"
#include "hal/memory/shared_memory.h"
#include "tests/hal/add_model.h"
#include "tests/hal/loopback.h"
#include "tests/hal/served_device.h"

namespace halyard::hal::testing {
namespace {

using driver::HalVersion;
using Codes = std::vector<uint32_t>;

class ListeningProcess final : public LoopbackProcess {
  public:
    Result<std::unique_ptr<Reply>> transact(const std::shared_ptr<RemoteObject>& target,
                                            uint32_t code, const ParcelWriter& arguments) override {
        mCodes.push_back(code);
        return LoopbackProcess::transact(target, code, arguments);
    }
    // The first since it was asked last: others may ask the object what it is.
    uint32_t called() {
        const Codes codes = std::exchange(mCodes, {});
        return codes.empty() ? 0 : codes.front();
    }

  private:
    Codes mCodes;
};

// prepareModel, executeSynchronously, executeFenced and a burst's executeSynchronously.
Codes callsOf(HalVersion version, bool prefersConfigs) {
    const auto process = std::make_shared<ListeningProcess>();
    const ServedDevice served = serveDevice(process).value();
    const auto object = std::make_shared<aidl::DeviceObject>(process, served.driver, nullptr);
    aidl::ServiceConnection connection =
            aidl::connectTo(process, process->remote(object), version, aidl::Release()).value();
    connection.prefersConfigs = prefersConfigs;
    const auto device = aidl::makeClientDevice(std::move(connection));
    driver::Request request = addRequest();
    request.pools = {createSharedMemory(16).value().memory};
    Codes codes;
    process->called();
    const auto model = device->prepare(addModel(), {}).value();
    codes.push_back(process->called());
    EXPECT_TRUE(model->execute(request, {}).status.ok());
    codes.push_back(process->called());
    EXPECT_TRUE(model->executeFenced(request, {}).ok());
    codes.push_back(process->called());
    const auto burst = model->makeBurst().value();
    process->called();
    EXPECT_TRUE(burst->execute(request, std::vector<int64_t>{-1}, {}).status.ok());
    codes.push_back(process->called());
    process->stop();
    return codes;
}

TEST(AidlClientMethods, TakeConfigsWhereTheVersionHasThem) {
    using namespace aidl;
    const Codes plain = {
            nn::IDevice::PrepareModel::kCode, nn::IPreparedModel::ExecuteSynchronously::kCode,
            nn::IPreparedModel::ExecuteFenced::kCode, nn::IBurst::ExecuteSynchronously::kCode};
    const Codes withConfig = {nn::IDevice::PrepareModelWithConfig::kCode,
                              nn::IPreparedModel::ExecuteSynchronouslyWithConfig::kCode,
                              nn::IPreparedModel::ExecuteFencedWithConfig::kCode,
                              nn::IBurst::ExecuteSynchronouslyWithConfig::kCode};
    EXPECT_EQ(callsOf(HalVersion::AIDL_V4, true), withConfig);
    EXPECT_EQ(callsOf(HalVersion::AIDL_V3, true), plain);
}

TEST(AidlClientMethods, TakeNoneWhereTheyAreNotPreferred) {
    EXPECT_EQ(callsOf(HalVersion::AIDL_V4, false), callsOf(HalVersion::AIDL_V3, false));
}

TEST(Deadlines, ThatNeverComeAreTheLatestOfTheWire) {
    const Deadline never = std::chrono::steady_clock::time_point::max();
    EXPECT_EQ(aidl::encodeDeadline(never), INT64_MAX);
    ParcelWriter writer;
    const auto wire = hidl::wireDeadline(writer, never);
    EXPECT_EQ(wire.member, hidl::nn::v1_3::OptionalTimePoint::Member::nanosecondsSinceEpoch);
    EXPECT_EQ(wire.nanosecondsSinceEpoch, UINT64_MAX);
    EXPECT_EQ(hidl::wireDeadline(writer, std::nullopt).member,
              hidl::nn::v1_3::OptionalTimePoint::Member::none);
}

}  // namespace
}  // namespace halyard::hal::testing
