// SPDX-License-Identifier: Apache-2.0
//
// The machine's peak rates: the roofline that a model's rates are compared with.

#pragma once

#include <cstddef>
#include <string>

namespace halyard::runner {

// Of all threads together. 0: no loop here for this machine.
struct MachinePeak {
    size_t threads = 0;
    const char* floatKernel = "";       // "avx512f"
    double float32OperationsPerNs = 0;  // a multiply-add counts as two
    const char* int8Kernel = "";        // "avx512vnni"
    double int8OperationsPerNs = 0;
    double readBytesPerNs = 0;  // a block that no cache should hold
    double copyBytesPerNs = 0;  // bytes read and written
};

// The best of several tries; takes a second. `threads`: 0 for one per core.
MachinePeak measurePeak(size_t threads);

// As a JSON object, with a newline.
std::string describe(const MachinePeak& peak);

}  // namespace halyard::runner
