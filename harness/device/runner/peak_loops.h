// SPDX-License-Identifier: Apache-2.0
//
// Loops that do nothing but the multiply-adds of one instruction set.

#pragma once

#include <cstdint>

namespace halyard::runner {

struct PeakLoop {
    const char* name;
    // Runs `rounds` rounds; the result depends on all of them, so that none is left out.
    void (*run)(uint64_t rounds);
    double operationsPerRound;  // a multiply-add counts as two
};

// The best ones that this CPU has; null: there is none for it.
const PeakLoop* findFloat32Loop();
const PeakLoop* findInt8Loop();

}  // namespace halyard::runner
