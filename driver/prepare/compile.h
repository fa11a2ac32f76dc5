// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>

#include "driver/clients/client.h"
#include "driver/execute/prepared_model.h"
#include "driver/model/call_options.h"
#include "driver/model/model.h"
#include "driver/model/pools.h"
#include "engine/base/status.h"

namespace halyard::driver {

struct DeviceState;

// From a valid model to one that is ready to execute, with the uses of its pools (usePools). Fails
// as analyzeModel (support.h) does, with RESOURCE_EXHAUSTED where the model or an execution of it
// would take more than the client's account has room for, and with UNAVAILABLE where the client has
// died. Takes as long as it takes: not for a thread that serves other clients.
Result<std::shared_ptr<PreparedModel>> compileModel(std::shared_ptr<DeviceState> state,
                                                    const Model& model, PoolUses pools,
                                                    const PrepareOptions& options);

}  // namespace halyard::driver
