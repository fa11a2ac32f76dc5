// SPDX-License-Identifier: Apache-2.0
//
// From a file that holds a prepared model (execute/saved_model.h) to the model.

#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "driver/clients/client.h"
#include "driver/execute/prepared_model.h"
#include "driver/model/call_options.h"
#include "driver/model/memory.h"
#include "engine/base/checkpoint.h"
#include "engine/base/status.h"

namespace halyard::driver {

struct DeviceState;

// From a file that PreparedModel::save() wrote to one that executes as it did. The file's memory is
// used as long as the model lives, and is charged to the client as any pool is; its owner may write
// to it. INVALID_ARGUMENT where the file is no model, whole and as it was written; UNSUPPORTED
// where a device of other options, backends or version made it: then the model has to be prepared
// anew. Otherwise fails as compileModel() does.
Result<std::shared_ptr<PreparedModel>> loadModel(std::shared_ptr<DeviceState> state,
                                                 const Memory& file, const PrepareOptions& options);

// Bytes that are as they were written and private to this process, from a multiple of kSectionPage
// on; `owner` keeps them and is charged for them.
struct PrivateBytes {
    std::shared_ptr<const void> owner;
    std::span<const uint8_t> bytes;
    bool authentic = false;  // this device wrote them, and no client
};

// The same from a copy of such a file.
Result<std::shared_ptr<PreparedModel>> loadPrivateModel(const std::shared_ptr<DeviceState>& state,
                                                        const std::shared_ptr<Client>& client,
                                                        PrivateBytes file, Priority priority,
                                                        const Checkpoint& checkpoint);

}  // namespace halyard::driver
