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
// an output in read-only memory, or an argument in a buffer that does not exist. `binding` is
// undefined then.
Status bindRequest(const Request& request, const RequestShapes& shapes,
                   std::span<const BoundPool> pools, RequestBinding& binding);

}  // namespace halyard::driver
