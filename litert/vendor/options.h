// SPDX-License-Identifier: Apache-2.0
//
// What users ask of the two libraries: in the environment variable HALYARD_LITERT_OPTIONS or, which
// comes before it, in opaque options of the identifier "halyard", whose payload is the text.
//
//   "threads=2,fast_math=on,report=/tmp/report.json"
//
//   processor=NAME    compiles for it where no SoC model is named (processor.h); "host" by default
//   threads=COUNT     1 to 64; by default as many as the process may use cores
//   fast_math=on|off  results may be farther off where that is faster
//   resizable=on|off  inputs may get other extents than the model declares, along axes from which
//                     no node or constant follows: the model is compiled when it is loaded, and
//                     again for each set of shapes
//   report=FILE       why which operator was not taken, as JSON: a line for each subgraph
//   log=LEVEL         verbose, info, warning or error

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "engine/base/log.h"
#include "engine/base/status.h"
#include "litert/vendor_abi.h"

namespace halyard::vendor {

inline constexpr const char* kOptionsVariable = "HALYARD_LITERT_OPTIONS";
inline constexpr const char* kOpaqueIdentifier = "halyard";

struct Options {
    std::string processor = "host";
    size_t threads = 0;  // 0: as many as there are cores
    bool fastMath = false;
    bool resizable = false;
    std::string report;  // empty: none
    LogLevel log = LogLevel::WARNING;
};

// INVALID_ARGUMENT names what is no option, or no value of one.
Result<Options> parseOptions(std::string_view text);
// Of the text, or where it is null of the environment.
Result<Options> readOptions(const char* text);
// The payload of opaque options, which either library finds by its table; null where there are
// none.
template <typename Table>
const char* opaqueText(const Table& litert, abi::Options options) {
    abi::OpaqueOptions opaque = nullptr;
    void* payload = nullptr;
    if (options == nullptr || litert.getOpaqueOptions(options, &opaque) != 0 || opaque == nullptr ||
        litert.findOpaqueOptionsData(opaque, kOpaqueIdentifier, &payload) != 0) {
        return nullptr;
    }
    return static_cast<const char*>(payload);
}
// The count that is asked for, or that of the cores.
size_t threadCountOf(const Options& options);

}  // namespace halyard::vendor
