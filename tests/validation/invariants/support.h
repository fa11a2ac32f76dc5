// SPDX-License-Identifier: Apache-2.0
//
// prepareModel keeps the promises of getSupportedOperations.

#pragma once

#include <optional>
#include <string>

#include "driver/device/device.h"
#include "engine/base/status.h"

namespace halyard::validation {

struct SupportFindings {
    // The error in the driver's answers about a valid model, if any: it prepares if and only if all
    // of its operations are supported, and no answer is INVALID_ARGUMENT.
    std::optional<std::string> wrong;
    bool prepares = false;
    // Where it does not prepare and some operations are supported: whether those, cut out, do.
    std::optional<Status> promised;
};
SupportFindings examineSupport(const driver::Device& device, const driver::Model& model,
                               driver::HalVersion version);

// A valid model with a QUANT8_ASYMM operand, and its twin: every such operand QUANT8_ASYMM_SIGNED,
// values and zero points 128 lower. Both prepare or both do not.
struct TwinFindings {
    std::optional<std::string> wrong;
    bool prepares = false;
};
TwinFindings examineTwins(const driver::Device& device, const driver::Model& model);
// Nothing where the official suites know that there is no such twin: several operations, operations
// that mean something else by the other type, or no such operand.
std::optional<driver::Model> signedTwin(const driver::Model& model);

// The model with one constant as an input; control data an operation then is not known when it is
// prepared, so that many of these are valid and not supported.
driver::Model withInput(const driver::Model& model, uint32_t constant);

}  // namespace halyard::validation
