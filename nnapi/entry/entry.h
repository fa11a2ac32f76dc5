// SPDX-License-Identifier: Apache-2.0
//
// What the C functions have in common: they check pointers, in the order in which they take them,
// and log what they refuse.

#pragma once

#include <android/NeuralNetworks.h>

#include <span>

#include "nnapi/answer.h"

namespace halyard::nnapi {

// conclude() of what the function's own part answers.
template <typename Body>
int enter(const char* function, Body body) {
    return conclude(function, body());
}

// UNEXPECTED_NULL where it is.
inline Answer present(const void* pointer, const char* name) {
    return pointer == nullptr ? unexpectedNull(name) : Answer();
}

// BAD_DATA: none, or one twice.
Answer checkDifferent(std::span<const ANeuralNetworksDevice* const> devices);

}  // namespace halyard::nnapi
