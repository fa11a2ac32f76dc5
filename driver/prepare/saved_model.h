// SPDX-License-Identifier: Apache-2.0
//
// Prepared models as files: the program's own sections (engine/plan/program.h) and one with what
// the driver adds: what crosses the model's boundary, what it takes of an account, and the options
// that it was prepared with.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "driver/execute/prepared_model.h"
#include "driver/model/memory.h"
#include "driver/model/validate_request.h"
#include "driver/prepare/compile.h"
#include "engine/base/status.h"

namespace halyard::driver {

struct SavedModel {
    ModelBoundary boundary;
    uint64_t footprint = 0;  // bytes of heap
    std::string settings;
};

// What of a device's options decides on a model's program: the same text, the same program.
std::string settingsOf(const DeviceState& state);

std::vector<uint8_t> toBytes(const SavedModel& saved);
// The bytes may come from anywhere: INVALID_ARGUMENT where they say something else.
Result<SavedModel> savedModelFrom(std::span<const uint8_t> bytes);

// From a file that PreparedModel::save() wrote to one that executes as it did. The file's memory is
// used as long as the model lives, and is charged to the client as any pool is; its owner may write
// to it. INVALID_ARGUMENT where the file is no model, whole and as it was written; UNSUPPORTED
// where a device of other options, backends or version made it: then the model has to be prepared
// anew. Otherwise fails as compileModel() does.
Result<std::shared_ptr<PreparedModel>> loadModel(std::shared_ptr<DeviceState> state,
                                                 const Memory& file, const PrepareOptions& options);

// Bytes that are known to be as they were written and that nobody else can write to, beginning at a
// multiple of kSectionPage, and what keeps them and is charged for them.
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
