// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>

namespace halyard::driver {

// The operations that Halyard can run, as JSON, for --list-operations: {"operations":
// [{"name", "code", "since", "forms": [{"since", "inputs": [operand...], "outputs": [operand...]}],
// "rows": [{"since", "types": [...]}]}]}. Every form goes with every row, from the later of the two
// versions on. An operand is {"name", and "type" or the number of a "column" of the rows' types or
// neither if it may have any; "omittable": true where it may be omitted; "at_least": how often it
// stands there, where it may stand there several times}. Ends with a newline.
std::string listOperations();

}  // namespace halyard::driver
