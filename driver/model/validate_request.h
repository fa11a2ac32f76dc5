// SPDX-License-Identifier: Apache-2.0
//
// The rules of a request for a model that is already known to be valid, and the shapes that follow
// from both. Every failure says which input, output or pool broke which rule.

#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "driver/model/model.h"
#include "driver/model/request.h"
#include "engine/base/status.h"
#include "engine/graph/tensor.h"

namespace halyard::driver {

// The operands that cross the model's boundary, in order: a request is checked against them.
struct ModelBoundary {
    std::vector<Operand> inputs;
    std::vector<Operand> outputs;
};

ModelBoundary boundaryOf(const Subgraph& subgraph);

// The shape of each argument of a valid request: where the model leaves an extent open, what the
// request says. Only outputs have extents that are not known yet. An argument without a value has
// unknown rank. Reused from request to request.
struct RequestShapes {
    std::vector<engine::Shape> inputs;
    std::vector<size_t> inputBytes;  // that the elements take
    std::vector<engine::Shape> outputs;
    // An input whose memory is shorter than its elements, where an output lies in a buffer: nothing
    // can be computed, but whether a rule is broken depends on the buffer.
    std::optional<size_t> shortInput;
};

// Checks the request and writes its shapes, in one pass that allocates nothing where `shapes` has
// served as large a request before. After a failure `shapes` is undefined. `version`: unspecified
// output dimensions exist from 1.2, tokens from 1.3. What lies in a buffer may be open, and takes
// no bytes here: the buffer tells when it is bound. INVALID_ARGUMENT: the request breaks a rule.
// UNSUPPORTED: ranks and extents beyond the engine.
Status resolveRequest(const Request& request, const ModelBoundary& boundary, HalVersion version,
                      RequestShapes& shapes);

}  // namespace halyard::driver
