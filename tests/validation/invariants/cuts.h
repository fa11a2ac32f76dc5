// SPDX-License-Identifier: Apache-2.0
//
// Models of some of a model's operations, as the framework's partitioner makes them for a device.

#pragma once

#include <optional>
#include <random>
#include <vector>

#include "driver/model/model.h"

namespace halyard::validation {

// The model of the operations whose flag is set, in their order: with the operands that they use
// and no others. What they read and others write becomes an input; what they write and others read
// becomes an output, and so does what is an output of the model. Nothing if that leaves no outputs,
// which the framework cuts for no device.
std::optional<driver::Model> cut(const driver::Model& model, const std::vector<bool>& taken);

// Which operations to take: every choice where there are few, some at random otherwise.
std::vector<std::vector<bool>> choices(size_t operations, std::mt19937_64& random);

}  // namespace halyard::validation
