// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>

namespace halyard::engine {

// How often operator new, in any of its forms, has been called on this thread.
size_t allocationCount();

// Makes the nth allocation from now on fail, of those that AlignedBuffer makes on this thread; 0:
// none.
void failAllocation(size_t nth);
// Whether there have not been so many since.
bool failureIsDue();

}  // namespace halyard::engine
