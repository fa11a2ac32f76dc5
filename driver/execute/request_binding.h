// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <vector>

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
    std::vector<ByteRange> ranges;  // of the pools
};

// Binds a request whose shapes are resolved and whose pools are in use (usePools); they outlive
// what is bound. Allocates nothing where `binding` has served as large a request before.
// INVALID_ARGUMENT: an output in read-only memory. `binding` is undefined then.
Status bindRequest(const Request& request, const RequestShapes& shapes, RequestBinding& binding);

}  // namespace halyard::driver
