// SPDX-License-Identifier: Apache-2.0
//
// Random models made of several: their operations one after the other, with outputs of the earlier
// ones in place of inputs of the later ones. Some have extents that are not specified, some shapes
// that contradict each other.

#pragma once

#include <random>

#include "driver/model/model.h"

namespace halyard::validation {

// Appends one model to another. Neither has referenced subgraphs that the other would have to find
// at other indexes, so that only one of them may have any.
void append(driver::Model& chain, const driver::Model& next, std::mt19937_64& random);

}  // namespace halyard::validation
