// SPDX-License-Identifier: Apache-2.0

#include "hal/service/endpoint.h"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/base/log.h"

namespace halyard::hal {
namespace {

// How long an endpoint is given before the others and the end of the service get a look.
constexpr std::chrono::milliseconds kWaitSlice{500};

enum class Fate : uint8_t { ANNOUNCED, UNDECLARED };

// UNAVAILABLE: its manager is not there yet.
Result<Fate> tryToAnnounce(Endpoint& endpoint, EndpointChoice choice) {
    if (choice == EndpointChoice::DECLARED) {
        HALYARD_ASSIGN_OR_RETURN(const bool declared, endpoint.isDeclared(kWaitSlice));
        if (!declared) {
            return Fate::UNDECLARED;
        }
    }
    HALYARD_RETURN_IF_ERROR(endpoint.announce(kWaitSlice));
    return Fate::ANNOUNCED;
}

}  // namespace

Status openEndpoints(Endpoints& endpoints, EndpointChoice choice, const Served& served,
                     const EndpointThreads& threads) {
    Status failure;
    for (auto next = endpoints.begin(); next != endpoints.end();) {
        const Status status = (*next)->open(served, threads).withContext((*next)->name());
        if (status.ok()) {
            ++next;
            continue;
        }
        if (choice == EndpointChoice::ALL) {
            return status;
        }
        log(LogLevel::INFO, "not served there: " + status.toString());
        failure = status;
        next = endpoints.erase(next);
    }
    return endpoints.empty() ? failure : Status();
}

Result<bool> announceEndpoints(const Endpoints& endpoints, EndpointChoice choice,
                               const std::function<bool()>& wanted) {
    struct Waiting {
        Endpoint* endpoint;
        bool told = false;
    };
    std::vector<Waiting> waiting;
    for (const std::unique_ptr<Endpoint>& endpoint : endpoints) {
        waiting.push_back({.endpoint = endpoint.get()});
    }
    size_t announced = 0;
    while (!waiting.empty()) {
        for (Waiting& next : waiting) {
            const Result<Fate> fate = tryToAnnounce(*next.endpoint, choice);
            if (fate.ok()) {
                announced += *fate == Fate::ANNOUNCED ? 1 : 0;
                if (*fate == Fate::UNDECLARED) {
                    log(LogLevel::INFO,
                        next.endpoint->name() + ": the device's manifest does not have it");
                }
                next.endpoint = nullptr;
                continue;
            }
            if (fate.status().code() != StatusCode::UNAVAILABLE) {
                return fate.status().withContext(next.endpoint->name());
            }
            if (!wanted()) {
                return false;
            }
            if (!next.told) {
                log(LogLevel::WARNING, "still waiting: " + std::string(fate.status().message()));
                next.told = true;
            }
        }
        std::erase_if(waiting, [](const Waiting& next) { return next.endpoint == nullptr; });
    }
    if (announced == 0 && !endpoints.empty()) {
        return unsupported(
                "the device's manifest has the service on no wire; --wires says on which it is to "
                "be registered all the same");
    }
    return true;
}

}  // namespace halyard::hal
