// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>

namespace halyard::fuzz {

// One run of a target, which each *_fuzzer.cc defines: called with one input after the other,
// always on the same thread. Returns if all held that must hold; what does not ends the process
// (finding.h). Nothing is logged meanwhile, unless HALYARD_FUZZ_LOG is set.
void run(std::span<const uint8_t> bytes);

}  // namespace halyard::fuzz
