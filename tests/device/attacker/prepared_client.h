// SPDX-License-Identifier: Apache-2.0
//
// PreparedClient: a client with a model prepared, and a request that executes it.

#pragma once

#include <cstdint>
#include <memory>

#include "engine/base/status.h"
#include "tests/device/attacker/attack.h"
#include "tests/device/attacker/client.h"
#include "tests/device/attacker/model.h"

namespace halyard::attacker {

// As long as NNAPI lets a loop go on.
inline constexpr Times kLongest = {.deadline = {}, .loopTimeout = 15'000'000'000};
// For a call that may have to wait for others of those.
inline constexpr milliseconds kPatienceWithLongest{120000};

struct PreparedClient {
    std::unique_ptr<Client> client;
    uint32_t model = 0;  // the prepared model's handle
    Pool pool;           // of the request
    std::unique_ptr<RequestBuilder> builder;

    // Its own connection, a model, and a request of as many bytes of input as of output.
    static Result<PreparedClient> connect(const Settings& settings, ModelBuilder& model,
                                          uint32_t bytes, Priority priority = Priority::MEDIUM);
    // The model is one that goes on for as long as the loop timeout allows.
    static Result<PreparedClient> connectEndless(const Settings& settings,
                                                 Priority priority = Priority::MEDIUM);

    const wire::Request& request() const { return builder->request(); }
    // An execution whose callback is not waited for.
    Result<ErrorStatus> launch(const Times& times) const;
};

}  // namespace halyard::attacker
