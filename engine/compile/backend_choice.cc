// SPDX-License-Identifier: Apache-2.0

#include "engine/compile/backend_choice.h"

#include <algorithm>
#include <utility>

namespace halyard::engine {
namespace {

// Takes the text before the next ':', and the ':' as well.
std::string_view takePart(std::string_view& text) {
    const size_t end = std::min(text.find(':'), text.size());
    const std::string_view part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return part;
}

}  // namespace

Result<BackendChoice> parseBackendChoice(std::string_view text) {
    const std::string whole(text);
    const auto refuse = [&](const std::string& why) {
        return invalidArgument("\"" + whole + "\": " + why +
                               "; a backend is NAME or NAME:OPTION=VALUE");
    };
    if (text.ends_with(':')) {
        return refuse("there is no option behind the last ':'");
    }
    BackendChoice choice = {.name = std::string(takePart(text)), .options = {}};
    if (choice.name.empty()) {
        return refuse("there is no name");
    }
    while (!text.empty()) {
        const std::string_view part = takePart(text);
        const size_t equals = part.find('=');
        if (equals == 0 || equals == std::string_view::npos || equals + 1 == part.size()) {
            return refuse("\"" + std::string(part) + "\" is no option");
        }
        BackendOption option = {.name = std::string(part.substr(0, equals)),
                                .value = std::string(part.substr(equals + 1))};
        if (std::ranges::find(choice.options, option.name, &BackendOption::name) !=
            choice.options.end()) {
            return refuse("the option " + option.name + " is there twice");
        }
        choice.options.push_back(std::move(option));
    }
    return choice;
}

}  // namespace halyard::engine
