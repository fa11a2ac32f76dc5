// SPDX-License-Identifier: Apache-2.0
//
// A device that refuses operations, fails, or says of itself what a test wants.

#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "driver/device/device_interface.h"
#include "engine/base/status.h"
#include "nnapi/device.h"

namespace halyard::nnapi_test {

// Shared by a device and what comes of it; thread-safe.
struct Faults {
    // Whether the device is to take the operation of that place; null: whichever it takes.
    std::function<bool(size_t operation)> takes;
    // Asked once for each call that can fail: how it does, or OK. Null: none does.
    std::function<Status(size_t call)> fault;
    // What executions are asked for; null: nobody wants to know.
    std::function<void(const driver::Request&)> seen;
    // Models whose operations it is asked about; null as above.
    std::function<void(const driver::Model&)> asked;
    // In place of the device's own.
    std::optional<driver::HalVersion> version;
    std::optional<driver::PerformanceInfo> performance;  // with whatever it computes
    std::atomic<size_t> calls = 0;
    std::atomic<size_t> prepared = 0;  // models, other than from a cache

    void look(const driver::Request& request) const {
        if (seen != nullptr) {
            seen(request);
        }
    }
    Status next() {
        const size_t call = calls.fetch_add(1);
        return fault == nullptr ? Status() : fault(call);
    }
};

std::shared_ptr<driver::IDevice> makeFailingDevice(std::shared_ptr<driver::IDevice> device,
                                                   std::shared_ptr<Faults> faults);

// The driver in this process, with one thread.
std::shared_ptr<driver::IDevice> localDevice(std::string_view backend);
std::unique_ptr<ANeuralNetworksDevice> runtimeDevice(std::string name,
                                                     nnapi::RuntimeDevice::Place place,
                                                     std::shared_ptr<driver::IDevice> device);

}  // namespace halyard::nnapi_test
