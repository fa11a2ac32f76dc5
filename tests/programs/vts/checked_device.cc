// SPDX-License-Identifier: Apache-2.0

#include "tests/programs/vts/checked_device.h"

#include <cstring>
#include <utility>

#include "hal/aidl/client/connection.h"
#include "hal/aidl/client/device.h"
#include "hal/aidl/device_object.h"
#include "hal/hidl/client/connection.h"
#include "hal/hidl/client/device.h"
#include "harness/device/vts/fixture/context.h"
#include "harness/device/vts/registry.h"
#include "tests/hal/served_device.h"

namespace halyard::vts::testing {

using driver::HalVersion;
using driver::OperandLifeTime;
using driver::OperandType;
using driver::OperationType;
namespace pb = runner::pb;

CheckedDevice::CheckedDevice(HalVersion version)
    : mProcess(std::make_shared<hal::testing::LoopbackProcess>()) {
    hal::testing::ServedDevice served = hal::testing::serveDevice(mProcess).value();
    if (version >= HalVersion::AIDL_V1) {
        mObject = std::make_shared<hal::aidl::DeviceObject>(mProcess, served.driver, nullptr);
        hal::aidl::ServiceConnection connection =
                hal::aidl::connectTo(mProcess, mProcess->remote(mObject), version,
                                     hal::aidl::Release())
                        .value();
        mDevice = hal::aidl::makeClientDevice(connection);
        if (connection.usesConfigs()) {
            connection.prefersConfigs = false;
            mWithoutConfigs = hal::aidl::makeClientDevice(std::move(connection));
        }
        return;
    }
    mObject = std::move(served.object);
    for (const hal::hidl::ClientVersion& client : hal::hidl::clientVersions()) {
        if (client.version == version) {
            mDevice = hal::hidl::makeClientDevice(
                    hal::hidl::connectTo(mProcess, mProcess->remote(mObject), client).value());
        }
    }
}

CheckedDevice::~CheckedDevice() {
    mProcess->stop();
}

std::vector<const Check*> checksOf(std::string_view suite, HalVersion version) {
    std::vector<const Check*> found;
    for (const Check& check : allChecks()) {
        if (check.suite == suite && check.isOf(version)) {
            found.push_back(&check);
        }
    }
    return found;
}

Verdict runCheck(driver::IDevice& device, const std::string& id, driver::IDevice* withoutConfigs) {
    const Check* const check = findCheck(id, device.version());
    if (check == nullptr) {
        return failed("there is no check " + id);
    }
    const pb::TestCase testCase = exampleCase();
    Context context(device, "halyard-loopback", testCase, withoutConfigs);
    return check->run(context);
}

namespace {

constexpr int kElements = 4;

pb::Operand& add(pb::Model& model, OperandType type, OperandLifeTime lifetime) {
    pb::Operand& operand = *model.mutable_main()->add_operands();
    operand.set_type(static_cast<pb::OperandType>(type));
    operand.set_lifetime(static_cast<pb::OperandLifeTime>(lifetime));
    if (type == OperandType::TENSOR_FLOAT32) {
        for (const uint32_t extent : {1, 2, 2}) {
            operand.add_dimensions(extent);
        }
    }
    return operand;
}

void addConstant(pb::Model& model, OperandType type, const void* value, size_t size) {
    pb::DataLocation& place = *add(model, type, OperandLifeTime::CONSTANT_COPY).mutable_location();
    place.set_offset(model.operand_values().size());
    place.set_length(size);
    model.mutable_operand_values()->append(static_cast<const char*>(value), size);
}

void addOperation(pb::Model& model, OperationType type, std::vector<uint32_t> inputs,
                  uint32_t output) {
    pb::Operation& operation = *model.mutable_main()->add_operations();
    operation.set_type(static_cast<int>(type));
    for (const uint32_t input : inputs) {
        operation.add_inputs(input);
    }
    operation.add_outputs(output);
}

}  // namespace

// sum = in + ones; out0 = sum * in; out1 = sum + in.
pb::TestCase exampleCase() {
    pb::TestCase testCase;
    testCase.set_name("example");
    pb::Model& model = *testCase.mutable_model();
    const float ones[kElements] = {1, 1, 1, 1};
    const int32_t none = 0;
    add(model, OperandType::TENSOR_FLOAT32, OperandLifeTime::SUBGRAPH_INPUT);
    addConstant(model, OperandType::TENSOR_FLOAT32, ones, sizeof(ones));
    addConstant(model, OperandType::INT32, &none, sizeof(none));
    add(model, OperandType::TENSOR_FLOAT32, OperandLifeTime::TEMPORARY_VARIABLE);
    add(model, OperandType::TENSOR_FLOAT32, OperandLifeTime::SUBGRAPH_OUTPUT);
    add(model, OperandType::TENSOR_FLOAT32, OperandLifeTime::SUBGRAPH_OUTPUT);
    addOperation(model, OperationType::ADD, {0, 1, 2}, 3);
    addOperation(model, OperationType::MUL, {3, 0, 2}, 4);
    addOperation(model, OperationType::ADD, {3, 0, 2}, 5);
    model.mutable_main()->add_input_indexes(0);
    model.mutable_main()->add_output_indexes(4);
    model.mutable_main()->add_output_indexes(5);
    pb::Example& example = *testCase.add_examples();
    const float in[kElements] = {1, 2, 3, 4};
    example.add_inputs()->set_data(in, sizeof(in));
    for (int i = 0; i < 2; ++i) {
        example.add_outputs()->set_byte_size(sizeof(in));
    }
    return testCase;
}

}  // namespace halyard::vts::testing
