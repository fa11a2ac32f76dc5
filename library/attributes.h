// SPDX-License-Identifier: Apache-2.0
//
// The attributes of nodes, by their names.

#pragma once

#include <span>
#include <string_view>

#include "engine/base/status.h"
#include "engine/graph/nodes.h"
#include "halyard/halyard.h"

namespace halyard::library {

// The descriptor of a kind with these attributes, the others by default. INVALID_ARGUMENT names the
// attribute that there is not, is there twice or takes no such value, with those that there are;
// UNSUPPORTED a kind that there is not.
Result<engine::NodeDescriptor> descriptorOf(std::string_view kind,
                                            std::span<const halyard_attribute> attributes);

}  // namespace halyard::library
