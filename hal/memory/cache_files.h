// SPDX-License-Identifier: Apache-2.0
//
// Files of a compilation cache as clients send them.

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "driver/client.h"
#include "driver/model/call_options.h"
#include "engine/base/status.h"

namespace halyard::hal {

// One descriptor for each file, which is duplicated. Reading and writing wait in the client's lane
// (client_lanes.h), and not for long. INVALID_ARGUMENT where one of them is neither memory nor a
// file on a disk: what else there is may never answer.
Result<std::shared_ptr<const driver::CompilationCache>> importCache(
        std::span<const int> modelFiles, std::span<const int> dataFiles,
        const std::array<uint8_t, 32>& token, driver::ProcessId client);

}  // namespace halyard::hal
