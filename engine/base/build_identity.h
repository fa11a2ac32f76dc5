// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace halyard {

// By which the linker tells this build of the program, or of the shared library that this is
// part of, from all others: the note of --build-id. Empty where there is none.
std::span<const uint8_t> buildIdentity();
// The same in hexadecimal digits.
std::string buildIdentityText();

}  // namespace halyard
