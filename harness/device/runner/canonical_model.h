// SPDX-License-Identifier: Apache-2.0
//
// Messages as the driver's canonical types. Nothing is validated that the target validates itself:
// a broken model must reach it as it is.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "driver/model/versions.h"
#include "engine/base/status.h"
#include "harness/device/runner/messages.h"
#include "harness/device/runner/target.h"

namespace halyard::runner {

// numberOfConsumers is counted; pools are copied into shared memory. INVALID_ARGUMENT for what has
// no place in a canonical model; RESOURCE_EXHAUSTED or INTERNAL without memory.
Result<TargetModel> toCanonical(const pb::Model& model);

// Pool 0 holds the inputs, pool 1 the outputs, each argument on a cache line of its own.
Result<TargetRequest> toCanonical(const pb::Example& example);
inline constexpr size_t kOutputPool = 1;

// Moves the CONSTANT_COPY values into a pool of their own. A transaction holds less than 1 MiB, so
// large ones can't be sent along with the model.
Status moveConstantsToPool(TargetModel& model);

// INVALID_ARGUMENT if the model holds something that `version` has no words for, naming it: an
// operation or a type of a later version, subgraphs, extra parameters, extensions, relaxed floats.
Status checkExpressible(const driver::Model& model, driver::HalVersion version);

// UNSPECIFIED and unknown values have none.
Result<driver::HalVersion> toCanonical(pb::HalVersion version);
pb::HalVersion toMessage(driver::HalVersion version);

}  // namespace halyard::runner
