// SPDX-License-Identifier: Apache-2.0
//
// A device as programs see it: what it says of itself, asked once.

#pragma once

#include <android/NeuralNetworks.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "driver/device/device_interface.h"
#include "engine/base/status.h"
#include "nnapi/fence_habit.h"

namespace halyard::nnapi {

// Immutable but for what is learned of its fences; thread-safe.
class RuntimeDevice {
  public:
    // IN_PROCESS: pointers can be bound where they are. REFERENCE: the same, and what nothing else
    // computes falls back to it.
    enum class Place : uint8_t { REMOTE, IN_PROCESS, REFERENCE };

    // Asks the device. `level`: the runtime's, above which none is.
    static Result<std::unique_ptr<ANeuralNetworksDevice>> of(
            std::string name, Place place, std::shared_ptr<driver::IDevice> device,
            driver::HalVersion level);

    const std::string& name() const { return mName; }
    const std::string& versionString() const { return mVersionString; }
    driver::DeviceType type() const { return mType; }
    // The version that its models are sliced for: its own, or the runtime's level if that is less.
    driver::HalVersion version() const { return mVersion; }
    const driver::Capabilities& capabilities() const { return mCapabilities; }
    const std::vector<driver::Extension>& extensions() const { return mExtensions; }
    driver::NumberOfCacheFiles cacheFiles() const { return mCacheFiles; }
    driver::IDevice& device() const { return *mDevice; }
    bool isInProcess() const { return mPlace != Place::REMOTE; }
    bool isReference() const { return mPlace == Place::REFERENCE; }
    // Whether it is a service that has executions which wait for fences.
    bool hasFences() const {
        return mPlace == Place::REMOTE && mVersion >= driver::HalVersion::V1_3;
    }
    FenceHabit& fenceHabit() const { return mFenceHabit; }

  protected:
    RuntimeDevice() = default;

  private:
    std::string mName;
    Place mPlace = Place::REMOTE;
    std::shared_ptr<driver::IDevice> mDevice;
    driver::HalVersion mVersion = driver::kNewestVersion;
    std::string mVersionString;
    driver::DeviceType mType = driver::DeviceType::OTHER;
    driver::Capabilities mCapabilities;
    std::vector<driver::Extension> mExtensions;
    driver::NumberOfCacheFiles mCacheFiles;
    mutable FenceHabit mFenceHabit;
};

}  // namespace halyard::nnapi

struct ANeuralNetworksDevice final : halyard::nnapi::RuntimeDevice {};
