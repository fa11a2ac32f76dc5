// SPDX-License-Identifier: Apache-2.0
//
// Where the options ask for FLOAT16, or for graphs whose floats are relaxed where the options say
// that backends are faster so: makes FLOAT32 tensors inside the graph FLOAT16. Inputs and
// outputs of the graph keep their type, with a Cast at each border, and constants are converted
// once. A node stays as it is where its kind has no FLOAT16, where a FLOAT32 input is its control
// input, and where FLOAT16 can't hold an element of a constant that it reads. Floats of the graph
// are relaxed then: sums may be of that precision, too.

#pragma once

#include "engine/base/status.h"
#include "engine/graph/graph.h"
#include "engine/passes/pass.h"

namespace halyard::engine {

Result<bool> reduceToFloat16(Graph& graph, const PassContext& context);

}  // namespace halyard::engine
