// SPDX-License-Identifier: Apache-2.0
//
// The messages of halyard.proto, under a name that tells them from the driver's types.

#pragma once

#include "proto/halyard.pb.h"

namespace halyard::runner {

namespace pb = ::halyard;

}  // namespace halyard::runner
