// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>

namespace halyard::driver {

// The operation table as JSON, for --list-operations: {"operations": [{"name", "code", "since",
// "signatures": [{"since", "inputs": [...], "first_repeats", "outputs": [...]}]}]}. With
// "first_repeats" the first input may stand any number of times. Ends with a newline.
std::string listOperations();

}  // namespace halyard::driver
