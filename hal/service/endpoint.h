// SPDX-License-Identifier: Apache-2.0
//
// Endpoint: a wire on which clients reach the device, and the name by which they find it there. A
// service has any number of them; each is opened while there are files to be opened, and then
// announced.

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "driver/device/device.h"
#include "engine/base/status.h"
#include "hal/service/process_watch.h"

namespace halyard::hal {

// The device that all endpoints lead to.
struct Served {
    std::shared_ptr<driver::Device> device;
    std::shared_ptr<ProcessWatch> processes;  // null: deaths are told by callbacks
};

// How many threads serve an endpoint's calls: some from the start, and as many more as the kernel
// asks for.
struct EndpointThreads {
    size_t first = 1;
    size_t spawned = 0;
};

// Not thread-safe.
class Endpoint {
  public:
    // Serves no more.
    virtual ~Endpoint() = default;
    // For people: the wire and the name.
    virtual std::string name() const = 0;
    // Opens the wire and serves those that know of it. Opens what files it needs. Once.
    virtual Status open(const Served& served, const EndpointThreads& threads) = 0;
    // Whether the device's manifest has the name on this wire. UNAVAILABLE: as announce().
    virtual Result<bool> isDeclared(std::chrono::milliseconds patience) = 0;
    // Makes the device known on the wire, for as long as the endpoint lives. UNAVAILABLE: there is
    // no manager to be told, and it may be tried again.
    virtual Status announce(std::chrono::milliseconds patience) = 0;
};

using Endpoints = std::vector<std::unique_ptr<Endpoint>>;

// Which of a service's endpoints are meant.
enum class EndpointChoice : uint8_t {
    ALL,       // each has to be there
    DECLARED,  // those that there can be and that the device's manifest has
};

// A failure names the endpoint. Of DECLARED ones those that can't be opened are left out, unless
// none can.
Status openEndpoints(Endpoints& endpoints, EndpointChoice choice, const Served& served,
                     const EndpointThreads& threads);

// Announces each, whichever can be first, for as long as it takes and `wanted()` holds; those that
// are not declared, where that is asked for, stay unknown. False: it held no longer. UNSUPPORTED:
// none is declared.
Result<bool> announceEndpoints(const Endpoints& endpoints, EndpointChoice choice,
                               const std::function<bool()>& wanted);

}  // namespace halyard::hal
