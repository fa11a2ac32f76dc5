// SPDX-License-Identifier: Apache-2.0
//
// Which valid models the device can run. Both questions that clients ask, what is supported and
// whether a model prepares, end in the same lowering and the same answers of the backends.

#pragma once

#include <vector>

#include "driver/device_state.h"
#include "driver/model/model.h"
#include "driver/ops/constants.h"
#include "engine/base/status.h"
#include "engine/graph/graph.h"

namespace halyard::driver {

// Everything that prepare does before it compiles: the lowered graph with its shapes inferred,
// whose every node has a backend. INVALID_ARGUMENT: a constant or a shape breaks a rule.
// UNSUPPORTED names the first operation that can't be run, with every backend's reason.
// RESOURCE_EXHAUSTED: an output or the copies of constants outgrow the device's memory. INTERNAL: a
// pool can't be mapped.
Result<engine::Graph> lowerSupported(const DeviceState& state, const Model& model,
                                     const Constants& constants);

// One flag per operation of the main subgraph, each judged alone; none is supported where each is
// but the whole does not prepare. INVALID_ARGUMENT as above. Of part of the operations nobody can
// say beforehand how much memory they take together, so that preparing them may still exhaust it.
Result<std::vector<bool>> supportedOperations(const DeviceState& state, const Model& model);

}  // namespace halyard::driver
