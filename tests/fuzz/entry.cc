// SPDX-License-Identifier: Apache-2.0
//
// The entry points of libFuzzer and replay.cc. Both functions stay in one file: libFuzzer refers to
// the first one weakly, which alone takes nothing out of a library.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "engine/base/log.h"
#include "tests/fuzz/target.h"

extern "C" {

int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
    if (std::getenv("HALYARD_FUZZ_LOG") == nullptr) {
        halyard::setLogSink([](halyard::LogLevel /*level*/, std::string_view /*line*/) {});
    } else {
        halyard::setLogThreshold(halyard::LogLevel::VERBOSE);
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    halyard::fuzz::run({data, size});
    return 0;
}

}  // extern "C"
