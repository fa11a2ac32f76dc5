// SPDX-License-Identifier: Apache-2.0
//
// How much heap a model or a request takes while it waits or lives, for the client's account. An
// estimate from above that is told in one look; pools and packed constants are charged where they
// are taken.

#pragma once

#include <cstddef>

#include "driver/model/model.h"
#include "driver/model/request.h"

namespace halyard::driver {

// Bytes of the decoded model, with its values.
size_t footprintOf(const Model& model);
// Bytes that a model's graph, plan and labels take once it is prepared, with the values that
// constants lie in.
size_t preparedFootprintOf(const Model& model);
size_t footprintOf(const Request& request);
// Bytes that what an execution of a model of so many outputs reports takes, where that is kept.
size_t resultFootprintOf(size_t outputs);

}  // namespace halyard::driver
