// SPDX-License-Identifier: Apache-2.0

#include "driver/model/call_options.h"

#include <string>

#include "engine/base/log.h"

namespace halyard::driver {

void noteIgnored(const ExtensionHints& hints, std::string_view call) {
    if (!hints.pairs.empty()) {
        log(LogLevel::VERBOSE, std::string(call) + ": " + std::to_string(hints.pairs.size()) +
                                       " hints are ignored: no extension that is known has any");
    }
}

}  // namespace halyard::driver
