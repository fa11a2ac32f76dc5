// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <vector>

namespace halyard::hal {

// A native_handle: file descriptors and integers. The descriptors are borrowed.
struct NativeHandle {
    std::vector<int> fds;
    std::vector<int32_t> ints;
};

// A handle as it was received; a null one has valid == false.
struct ReceivedHandle {
    bool valid = false;
    NativeHandle handle;
};

}  // namespace halyard::hal
