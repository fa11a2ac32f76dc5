// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>

namespace halyard::engine {

// How often operator new, in any of its forms, has been called on this thread.
size_t allocationCount();

}  // namespace halyard::engine
