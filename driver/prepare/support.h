// SPDX-License-Identifier: Apache-2.0
//
// Which valid models the device can run. Both questions that clients ask, what is supported and
// whether a model prepares, end in the same lowering, the same checks and the same answers of the
// backends.

#pragma once

#include <vector>

#include "driver/execute/device_state.h"
#include "driver/model/model.h"
#include "driver/model/verdicts.h"
#include "driver/ops/constants.h"
#include "engine/base/checkpoint.h"
#include "engine/base/status.h"
#include "engine/plan/assignment.h"

namespace halyard::driver {

// Everything that prepare does before it compiles, once: the lowered graph, verified, with its
// shapes inferred and a backend for every node. UNSUPPORTED names the first operation that can't be
// run, with every backend's reason, or that breaks a rule which only lowering and inference can
// tell: what is wrong with constants and shapes makes no model invalid to NNAPI.
// RESOURCE_EXHAUSTED: an output or the copies of constants outgrow the device's memory.
// DEADLINE_EXCEEDED: the checkpoint's deadline passed. INTERNAL: a pool can't be mapped. Takes time
// linear in the number of operations.
Result<engine::AnalyzedGraph> analyzeModel(const DeviceState& state, const Model& model,
                                           const Constants& constants,
                                           const Checkpoint& checkpoint);

// One flag per operation of the main subgraph. `pools`: as far as they can be mapped. All are
// supported where the whole prepares, which is looked at once. Where it does not, those are
// supported that prepare alone and together: of operations that contradict each other the later one
// is to blame. None is supported where the whole does not prepare and no operation is to blame. The
// memory that a part of the operations takes together is not known beforehand, so that preparing
// them may still exhaust it.
//
// Costs that a client can drive up are bounded: operations with graphs inside are no longer looked
// at alone once those graphs have more nodes than a model may have (engine::kMaxNestedNodes) twice
// over, and of contradictions the first few are found; what is left then is not supported. A
// constant is copied once for all the operations that read it. The checkpoint is polled between
// operations and while one is looked at; what it says is the answer then, in place of the flags.
//
// `verdicts`: null, or where one is added for each operation that is to blame. What it has already
// is refused without another look: the model may be invalid in the signatures of these, and of no
// others.
Result<std::vector<bool>> supportedOperations(const DeviceState& state, const Client& client,
                                              const Model& model, PoolUses pools,
                                              const Checkpoint& checkpoint = {},
                                              Verdicts* verdicts = nullptr);

}  // namespace halyard::driver
