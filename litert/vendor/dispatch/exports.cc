// SPDX-License-Identifier: Apache-2.0
//
// The functions that the dispatch library exports: the one that LiteRT looks up, and two for
// callers in the process: whether a model really came here, and whether options are in order, of
// which LiteRT only says that there is no accelerator.

#include <algorithm>
#include <string>

#include "litert/vendor/dispatch/library.h"
#include "litert/vendor/options.h"
#include "litert/vendor/processor.h"
#include "litert/vendor/tables.h"

using halyard::vendor::Library;
namespace abi = halyard::vendor::abi;

#define HALYARD_EXPORT __attribute__((visibility("default")))

// LiteRT says by the header how much there is room for: before 2.2 it had none and less room.
extern "C" HALYARD_EXPORT abi::Status LiteRtDispatchGetApi(abi::DispatchApi* api) {
    if (api == nullptr || api->header.structSize < sizeof(abi::DispatchApi) ||
        api->header.major != 1) {
        const std::string said = api == nullptr ? "nothing"
                                                : std::to_string(api->header.structSize) +
                                                          " bytes of version " +
                                                          std::to_string(api->header.major);
        halyard::vendor::answer(halyard::unsupported("LiteRT asks for " + said + ", and " +
                                                     std::to_string(sizeof(abi::DispatchApi)) +
                                                     " bytes of version 1 are known"),
                                "Halyard's dispatch library");
        return halyard::vendor::code(abi::StatusCode::UNSUPPORTED_RUNTIME);
    }
    api->version = abi::kApiVersion;
    api->interface = &halyard::vendor::kDispatchInterface;
    api->async = &halyard::vendor::kAsyncInterface;
    api->graph = nullptr;
    api->customBuffers = nullptr;
    return halyard::vendor::code(abi::StatusCode::OK);
}

// Writes as many of the process's counts as there is room for, in the order of ProcessCounts, and
// gives their number.
extern "C" HALYARD_EXPORT size_t halyard_litert_dispatch_counts(uint64_t* counts, size_t room) {
    const halyard::vendor::ProcessCounts& known = Library::instance().counts;
    const uint64_t values[] = {known.contexts,           known.liveContexts,
                               known.operators,          known.runs,
                               known.copiedBytes,        known.packedConstants,
                               known.compiledWhenLoaded, known.mappedContexts};
    if (counts != nullptr) {
        std::copy_n(values, std::min(room, std::size(values)), counts);
    }
    return std::size(values);
}

// Checks a text of options (options.h). Writes why it is not in order, cut to the room with a zero
// behind it, and gives the whole length: 0 where it is.
extern "C" HALYARD_EXPORT size_t halyard_litert_dispatch_check(const char* options, char* why,
                                                               size_t room) {
    const auto check = [&]() -> halyard::Status {
        HALYARD_ASSIGN_OR_RETURN(const halyard::vendor::Options read,
                                 halyard::vendor::parseOptions(options == nullptr ? "" : options));
        return halyard::vendor::checkName(read.processor);
    };
    const halyard::Status status = check();
    const std::string_view message = status.ok() ? std::string_view() : status.message();
    if (why != nullptr && room > 0) {
        const size_t count = message.copy(why, room - 1);
        why[count] = '\0';
    }
    return message.size();
}
