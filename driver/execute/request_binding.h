// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <span>
#include <vector>

#include "driver/model/pools.h"
#include "driver/model/request.h"
#include "driver/model/validate_request.h"
#include "engine/base/status.h"
#include "engine/plan/program.h"

namespace halyard::driver {

// A request's arguments as the engine takes them: straight in the client's mapped pools. Reused
// from request to request.
struct RequestBinding {
    std::vector<engine::InputBinding> inputs;
    std::vector<engine::OutputBinding> outputs;
};

// Binds a request whose shapes are resolved to its pools in use (usePools), which outlive what is
// bound. Allocates nothing where `binding` has served as large a request before. INVALID_ARGUMENT:
// an output in read-only memory, or an argument whose buffer has another shape; INTERNAL: an input
// whose buffer has nothing in it. `binding` is undefined then.
Status bindRequest(const Request& request, const RequestShapes& shapes,
                   std::span<const BoundPool> pools, RequestBinding& binding);

// Settles the buffers that an execution which was bound so wrote to, and ended with `status`; the
// result is its status then: INTERNAL where an output has another shape than its buffer.
Status settleBuffers(const Request& request, std::span<const BoundPool> pools,
                     const engine::ExecutionReport& report, Status status);

}  // namespace halyard::driver
