// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string_view>

#include "harness/device/cases/messages.h"

namespace halyard::runner {

// Fills in placement, copies and memory anew from the lines that driver::PreparedModel::report()
// writes. Lines that it does not know, from a newer driver or another vendor's, are skipped.
void readPlacement(std::string_view report, pb::CaseResult& result);

}  // namespace halyard::runner
