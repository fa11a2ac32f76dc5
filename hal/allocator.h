// SPDX-License-Identifier: Apache-2.0

#pragma once

namespace halyard::hal {

// Has the C library's allocator ask now what it asks for otherwise when it is used by many threads:
// how many processors there are, for which glibc opens a file.
void prepareAllocator();

}  // namespace halyard::hal
