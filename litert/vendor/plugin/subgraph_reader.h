// SPDX-License-Identifier: Apache-2.0
//
// Reads LiteRT's subgraphs for the importer.
//
// LiteRT tells neither the versions of operators, nor which dimensions may change, nor which
// tensors keep their elements from run to run. One that nothing computes, gives or fills may be
// such, or an empty one: operators that read it are left.

#pragma once

#include <vector>

#include "engine/base/status.h"
#include "importers/tflite/model.h"
#include "litert/vendor_abi.h"

namespace halyard::vendor {

struct ReadSubgraph {
    tflite::Model model;           // of this subgraph alone
    std::vector<abi::Op> handles;  // of its operators
};

// The table has been checked; the subgraph, whose constants are used where they lie, outlives what
// is read. INTERNAL where LiteRT does not answer, INVALID_ARGUMENT where its answers do not fit.
Result<ReadSubgraph> readSubgraph(const abi::CompilerTable& litert, abi::Subgraph subgraph);

}  // namespace halyard::vendor
