// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <string>

#include "driver/device/device_interface.h"
#include "engine/base/status.h"
#include "harness/device/cases/messages.h"
#include "harness/device/runner/target.h"

namespace halyard::runner {

// The files of a folder that a device keeps this model in, prepared so: they are named by a token
// that stands for both. Folder and files are made where they are missing, and for a device in this
// process a key beside them (driver/prepare/cache_key.h), unless others may write to the folder:
// then what only a key protects is not kept. Null where the device keeps no models; INTERNAL where
// a file can't be opened.
Result<std::shared_ptr<const driver::CompilationCache>> openCache(
        const std::string& folder, const pb::Model& model, driver::ExecutionPreference preference,
        const Target& target);

}  // namespace halyard::runner
