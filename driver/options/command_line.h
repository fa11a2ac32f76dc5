// SPDX-License-Identifier: Apache-2.0
//
// The options of a program's command line, one row each. A program puts its own rows beside
// those of the driver (option_table.h); parsing, what is said of mistakes, and help are the same
// for all.

#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"

namespace halyard::driver {

struct CommandLineOption {
    std::string_view name;       // without its dashes
    char letter = 0;             // 0: none
    std::string_view valueName;  // as help calls the value; empty: the option takes none
    std::string help;            // sentences; broken into lines where they are printed
    // Takes the value, or the option that has none, in the order of the command line. What it
    // complains of comes after the option's name.
    std::function<Status(std::string_view value)> take;
};

// Gives every option to its row, as getopt_long does: "--name value", "--name=value", "-x value",
// long names cut short where that is unambiguous. INVALID_ARGUMENT names what is wrong with which
// option; what came before it has been taken. Not for two threads at once.
Status parseOptions(int argc, char** argv, std::span<const CommandLineOption> options);

// The rows in two columns, 80 characters wide; ends with a newline.
std::string describeOptions(std::span<const CommandLineOption> options);

}  // namespace halyard::driver
