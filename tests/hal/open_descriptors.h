// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>

namespace halyard::hal::testing {

// How many descriptors this process has open.
size_t openDescriptors();

}  // namespace halyard::hal::testing
