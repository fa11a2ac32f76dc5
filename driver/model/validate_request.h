// SPDX-License-Identifier: Apache-2.0
//
// The rules of a request for a model that is already known to be valid. Every failure is
// INVALID_ARGUMENT and says which input, output or pool broke which rule.

#pragma once

#include <vector>

#include "driver/model/model.h"
#include "driver/model/request.h"
#include "engine/base/status.h"

namespace halyard::driver {

// What a request is checked against: the operands that cross the model's boundary, in order.
struct ModelBoundary {
    std::vector<Operand> inputs;
    std::vector<Operand> outputs;
};

ModelBoundary boundaryOf(const Subgraph& subgraph);

// `version`: unspecified output dimensions exist from 1.2, tokens from 1.3 (and none is live: the
// driver has no memory domains yet).
Status validateRequest(const Request& request, const ModelBoundary& boundary, HalVersion version);

// The dimensions that a valid argument gives its operand: those of the request where it has any,
// otherwise those of the model, each specified one winning over an unspecified one. Empty: a scalar
// or a tensor of unknown rank.
std::vector<uint32_t> mergedDimensions(const Operand& operand, const RequestArgument& argument);

}  // namespace halyard::driver
