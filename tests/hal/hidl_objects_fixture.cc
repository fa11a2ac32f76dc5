// SPDX-License-Identifier: Apache-2.0

#include "tests/hal/hidl_objects_fixture.h"

#include <cstring>
#include <utility>

#include "engine/base/log.h"
#include "hal/hidl/types.h"
#include "tests/hal/add_model.h"
#include "tests/hal/served_device.h"

namespace halyard::hal::testing {

using driver::ErrorStatus;
using hidl::nn::v1_3::IDevice;

void HidlObjects::SetUpTestSuite() {
    setLogThreshold(LogLevel::ERROR);
}

void HidlObjects::TearDownTestSuite() {
    setLogThreshold(LogLevel::INFO);
}

void HidlObjects::SetUp() {
    Result<ServedDevice> served = serveDevice(mProcess);
    ASSERT_TRUE(served.ok()) << served.status().toString();
    mDriver = served->driver;
    mDevice = served->object;
    Result<ExportedMemory> memory = createSharedMemory(16);
    ASSERT_TRUE(memory.ok()) << memory.status().toString();
    mPools.push_back(std::move(*memory));
    setInput({1.0F, 2.0F});
}

void HidlObjects::setInput(const std::array<float, 2>& values) {
    std::memcpy(mPools[0].memory->map()->data(), values.data(), sizeof(values));
}

std::array<float, 2> HidlObjects::output() {
    std::array<float, 2> values = {};
    std::memcpy(values.data(), mPools[0].memory->map()->data() + 8, sizeof(values));
    return values;
}

ObjectRef HidlObjects::prepared(const VersionMethods& methods) {
    auto callback = RecordingCallback::forModels();
    Result<ErrorStatus> status = client(methods).prepare(addModel(), callback);
    EXPECT_TRUE(status.ok()) << status.status().toString();
    return callback->wait().model;
}

Result<std::unique_ptr<Reply>> HidlObjects::callDevice(uint32_t code,
                                                       const WriteArguments& arguments) {
    return callMethod(
            *mProcess, mDevice, IDevice::layout(), code,
            arguments ? arguments : [](ParcelWriter&) {});
}

Result<ErrorStatus> HidlObjects::statusOf(uint32_t code, const WriteArguments& arguments) {
    HALYARD_ASSIGN_OR_RETURN(std::unique_ptr<Reply> reply, callDevice(code, arguments));
    return hidl::readEnum<ErrorStatus>(reply->reader());
}

}  // namespace halyard::hal::testing
