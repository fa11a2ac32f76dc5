// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string_view>

namespace halyard::hal::hidl {

// Writes the text to a descriptor that a client sent. The reader may have gone (no SIGPIPE is
// raised) or may not read: then the rest is dropped after a few seconds.
void writeDebugOutput(int fd, std::string_view text);

}  // namespace halyard::hal::hidl
