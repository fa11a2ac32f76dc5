// SPDX-License-Identifier: Apache-2.0
//
// The options of a driver, which every program that has one takes: one row each, with its name, its
// field and its help. A new option is a field of Options and a row here.

#pragma once

#include <string>
#include <vector>

#include "driver/options/command_line.h"
#include "driver/options/options.h"

namespace halyard::driver {

// The rows as they come in help. They write into `options`, which has to outlive them. Numbers that
// are out of range, unknown operations and what excludes another option are INVALID_ARGUMENT.
std::vector<CommandLineOption> driverOptions(Options& options);

// Checks that need all options: that the named backends are known ones, with options that can be
// read. Libraries' backends are known when these are loaded.
Status checkOptions(const Options& options);

// The table as JSON: {"options": [{"name", "letter"?, "value"?, "kind", "most"?, "words"?,
// "help"}]}. `kind` is flag, number, text, names, operations or word (one of the words); `letter`
// and `value` are left out where there are none.
std::string listOptions();

}  // namespace halyard::driver
