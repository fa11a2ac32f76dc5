// SPDX-License-Identifier: Apache-2.0
//
// Memory between inaccessible pages.

#pragma once

#include <cstddef>
#include <cstdint>

#include "driver/model/memory.h"

namespace halyard::validation {

enum class Guard : uint8_t {
    BEHIND,  // a byte past the end lies on such a page
    BEFORE,  // so does a byte before the start
};

// A pool of that size, zeroed. An access past the guarded end kills the process.
driver::SharedMemory allocateGuarded(size_t size, Guard guard);

}  // namespace halyard::validation
