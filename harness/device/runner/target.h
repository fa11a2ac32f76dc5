// SPDX-License-Identifier: Apache-2.0
//
// The target of a case: the driver in this process, or a service, behind one interface; and facts
// about either for the runner alone.

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "driver/device/device.h"
#include "driver/device/device_interface.h"
#include "driver/options/options.h"
#include "engine/base/status.h"

namespace halyard::runner {

struct Target {
    std::shared_ptr<driver::IDevice> device;
    // The same by methods that take no config, of a service of AIDL 4, which has both kinds; else
    // null.
    std::shared_ptr<driver::IDevice> withoutConfigs;
    // The driver behind `device`, or how to learn which process a service is.
    std::shared_ptr<driver::Device> driver;
    std::function<Result<int32_t>()> servicePid;
};

// A service by its name, and what it is spoken to in.
enum class Wire : uint8_t { HIDL, AIDL };
struct ServiceAddress {
    Wire wire = Wire::HIDL;
    std::string instance;  // empty: no service
};

// The driver, linked in. A crash of it is a crash of this process.
using MakeDevice = Result<std::unique_ptr<driver::Device>>(const driver::Options& options);

// `makeDevice`: null for the device that the options describe.
Result<Target> openDriver(const driver::Options& options, MakeDevice* makeDevice,
                          driver::HalVersion version);
Result<Target> openService(const ServiceAddress& address, std::optional<driver::HalVersion> version,
                           std::chrono::milliseconds timeout);

// How a call to the target ended.
struct Outcome {
    driver::ErrorStatus status = driver::ErrorStatus::NONE;
    std::string message;      // for people; empty if the call went well
    bool targetDied = false;  // the service's process is gone

    bool ok() const { return status == driver::ErrorStatus::NONE && !targetDied; }
};
Outcome outcomeOf(const Target& target, const Status& status);

// The most memory that the process with the driver has held; 0: unknown.
uint64_t peakRssBytes(const Target& target);

struct PrepareSettings {
    driver::ExecutionPreference preference = driver::ExecutionPreference::FAST_SINGLE_ANSWER;
    driver::Priority priority = driver::Priority::MEDIUM;
    // Whose model it is to a driver in this process: 0, this process's; else that of a process of
    // this number, which has an account of its own.
    int32_t process = 0;
    // Where the driver may have kept the model, and keeps it otherwise; null: nowhere.
    std::shared_ptr<const driver::CompilationCache> cache = nullptr;
};
struct PreparedModel {
    std::shared_ptr<driver::IPreparedModel> model;
    bool fromCache = false;
};
Result<PreparedModel> prepare(const Target& target, const driver::Model& model,
                              const PrepareSettings& settings);

}  // namespace halyard::runner
