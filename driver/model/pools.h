// SPDX-License-Identifier: Apache-2.0
//
// Which bytes of its pools a model or a request uses.

#pragma once

#include <vector>

#include "driver/model/memory.h"
#include "driver/model/model.h"
#include "driver/model/request.h"
#include "engine/base/status.h"

namespace halyard::driver {

// Maps what a valid model's constants use of its pools, and lets go of the rest. INTERNAL names the
// first pool that can't be mapped; RESOURCE_EXHAUSTED where the account has no room for it. The
// others are in use all the same.
Status usePools(const Model& model, const Account* account);

// The same for the arguments of a valid request. `ranges` serves as room that is reused: nothing is
// allocated where it has served as large a request before.
Status usePools(const Request& request, const Account* account, std::vector<ByteRange>& ranges);

}  // namespace halyard::driver
