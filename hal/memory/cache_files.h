// SPDX-License-Identifier: Apache-2.0
//
// Files of a compilation cache as clients send them.

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "driver/clients/client.h"
#include "driver/model/call_options.h"
#include "engine/base/status.h"

namespace halyard::hal {

// One descriptor for each file, which is duplicated. Reading and writing run on the client's worker
// (client_workers.h), and are not waited for long. INTERNAL where one of them is neither memory nor
// a file on a disk: what else there is may never answer, and is no argument that would have to be
// mended. INVALID_ARGUMENT: more files than any device has.
Result<std::shared_ptr<const driver::CompilationCache>> importCache(
        std::span<const int> modelFiles, std::span<const int> dataFiles,
        const std::array<uint8_t, 32>& token, driver::ProcessId client);

}  // namespace halyard::hal
