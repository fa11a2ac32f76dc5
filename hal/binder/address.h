// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

namespace halyard::hal {

// Addresses travel as 64-bit integers, whatever the size of a pointer is. Whether there is a T at
// the address must have been checked.
template <typename T>
const T* pointerTo(uint64_t address) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    return reinterpret_cast<const T*>(static_cast<uintptr_t>(address));
}

}  // namespace halyard::hal
