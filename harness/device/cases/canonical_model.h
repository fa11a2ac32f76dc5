// SPDX-License-Identifier: Apache-2.0
//
// Messages as the driver's canonical types. Nothing is validated that the target validates itself:
// a broken model must reach it as it is.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "driver/model/model.h"
#include "driver/model/request.h"
#include "driver/model/versions.h"
#include "engine/base/status.h"
#include "harness/device/cases/messages.h"

namespace halyard::runner {

// numberOfConsumers is counted; pools are copied into shared memory that can be sent.
// INVALID_ARGUMENT for what has no place in a canonical model; RESOURCE_EXHAUSTED or INTERNAL
// without memory.
Result<driver::Model> toCanonical(const pb::Model& model);

// Pool 0 holds the inputs, pool 1 the outputs, each argument on a cache line of its own.
Result<driver::Request> toCanonical(const pb::Example& example);
inline constexpr size_t kOutputPool = 1;

// UNSPECIFIED and unknown values have none.
Result<driver::HalVersion> toCanonical(pb::HalVersion version);
pb::HalVersion toMessage(driver::HalVersion version);

}  // namespace halyard::runner
