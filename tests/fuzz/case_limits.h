// SPDX-License-Identifier: Apache-2.0

#pragma once

namespace halyard::fuzz {

// Of a case's main subgraph. Beyond these nothing is added.
inline constexpr int kMostOperations = 24;
inline constexpr int kMostOperands = 200;

}  // namespace halyard::fuzz
