// SPDX-License-Identifier: Apache-2.0
//
// Which devices there are, and the feature level: said by the environment, or by a file.
//
//   HALYARD_NNAPI_DEVICES        devices, with semicolons between:
//                                "in-process -c GpuAcc,CpuAcc --number-of-threads 4; hidl:default"
//   HALYARD_NNAPI_FEATURE_LEVEL  1 to 8; of a support library 5 to 8
//   HALYARD_NNAPI_CONFIG         the file, where neither of these says it; without it
//                                /etc/halyard-nnapi.yaml where there is one
//
// The file is YAML of this kind and no other:
//
//   feature-level: 7
//   devices:
//     - in-process --name fast -c CpuAcc   # options are the service's
//     - hidl:default@1.2
//     - aidl:default

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "driver/model/versions.h"
#include "driver/options/options.h"
#include "engine/base/status.h"

namespace halyard::nnapi {

// "in-process", "hidl:INSTANCE" or "aidl:INSTANCE", of a version where one is named.
struct DeviceEntry {
    enum class Door : uint8_t { IN_PROCESS, HIDL, AIDL };

    std::string name;  // as programs see it: that of --name, or the instance's, or "halyard"
    Door door = Door::IN_PROCESS;
    driver::Options options;  // in-process
    std::string instance;
    std::optional<driver::HalVersion> version;
};

struct Configuration {
    std::vector<DeviceEntry> devices;
    std::optional<driver::HalVersion> level;
};

// One entry. INVALID_ARGUMENT says what is wrong.
Result<DeviceEntry> parseDevice(std::string_view text);
// With semicolons between. Two of one name are INVALID_ARGUMENT.
Result<std::vector<DeviceEntry>> parseDevices(std::string_view text);
// "1" to "8".
Result<driver::HalVersion> parseLevel(std::string_view text);
// INVALID_ARGUMENT names the line.
Result<Configuration> parseConfiguration(std::string_view yaml);

// What the environment, or the file, says. Nothing: the driver in this process, with CpuAcc.
Result<Configuration> readConfiguration();

}  // namespace halyard::nnapi
