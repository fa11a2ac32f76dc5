// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <string_view>

namespace halyard {

// A string of JSON, in quotes. Names that are no UTF-8 stay what they are: bytes above ASCII are
// written as they came.
std::string jsonString(std::string_view text);

}  // namespace halyard
