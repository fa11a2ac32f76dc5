// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string_view>

namespace halyard::hal {

// Writes the text to a descriptor that a client sent: a pipe or a socket; others are refused and
// logged. Returns within a second, whatever the client does with its end meanwhile; what could not
// be written by then is dropped. A closed reading end raises no SIGPIPE.
void writeDebugOutput(int fd, std::string_view text);

}  // namespace halyard::hal
