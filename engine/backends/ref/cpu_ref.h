// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>

#include "engine/plan/backend.h"

namespace halyard::engine {

// The reference backend, "CpuRef": every node kind, single-threaded, from the definition.
std::unique_ptr<const Backend> makeCpuRef();

}  // namespace halyard::engine
