// SPDX-License-Identifier: Apache-2.0
//
// What all objects of the process share: the devices, the feature level, the prefixes of
// extensions. The C interface hands none of it from call to call, so it is the one state that this
// library keeps; it comes with the first call that needs it, and goes with the library.

#pragma once

#include <android/NeuralNetworks.h>

#include <memory>
#include <string>
#include <vector>

#include "nnapi/configuration.h"
#include "nnapi/device.h"
#include "nnapi/extension_prefixes.h"

namespace halyard::nnapi {

// The libraries that this code is linked into.
enum class Form : uint8_t { NEURAL_NETWORKS, SUPPORT_LIBRARY };

// Defined once in each of them.
extern const Form kForm;

// Thread-safe.
class Runtime {
  public:
    using Devices = std::vector<std::unique_ptr<ANeuralNetworksDevice>>;

    // By the environment and the file that configuration.h says. A configuration that is wrong, and
    // a device that is not there, leave no devices.
    static Runtime& instance();

    Runtime(const Configuration& configuration, Form form);

    driver::HalVersion level() const { return mLevel; }
    // What was wrong; OK: the devices are there.
    const Status& status() const { return mStatus; }
    const Devices& devices() const { return mDevices; }
    // Null: this form has none.
    const ANeuralNetworksDevice* reference() const;
    bool has(const ANeuralNetworksDevice* device) const;
    ExtensionPrefixes& prefixes() { return *mPrefixes; }

  private:
    Status open(const Configuration& configuration, Form form);

    driver::HalVersion mLevel = driver::kNewestVersion;
    Devices mDevices;
    std::unique_ptr<ExtensionPrefixes> mPrefixes;
    Status mStatus;
};

}  // namespace halyard::nnapi
