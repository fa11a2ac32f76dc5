// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string_view>

namespace halyard {

// False where the file does not take all of the text; errno says why.
bool writeAll(int file, std::string_view text);

}  // namespace halyard
