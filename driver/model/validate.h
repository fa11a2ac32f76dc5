// SPDX-License-Identifier: Apache-2.0
//
// The structural rules of a model: everything NNAPI demands of it without looking at what an
// operation computes (driver/ops checks that). The source of the rules is the NN HAL 1.0–1.3
// definition and, where it is silent, what AOSP's own validation does.
//
// Every failure is INVALID_ARGUMENT and says which subgraph, operation or operand broke which rule;
// but for that of a model of far more extensions than there are, which is UNSUPPORTED.
// Nothing is read from pools, whose content the client may still change.

#pragma once

#include "driver/model/model.h"
#include "driver/model/verdicts.h"
#include "engine/base/status.h"

namespace halyard::driver {

// The whole model, referenced subgraphs included. `verdicts`: null, or where every operation of the
// main subgraph that is to blame is added, those that use an invalid operand or subgraph among
// them; the failure is the first one all the same.
Status validateModel(const Model& model, HalVersion version, Verdicts* verdicts = nullptr);

// Enum values that came over the wire: one of the known ones.
Status validatePreference(ExecutionPreference preference);
Status validatePriority(Priority priority);

// Whether a pool of that version may have this name. `index`: which pool it is, for the message.
Status validatePoolName(const SharedMemory& pool, HalVersion version, size_t index);

// ---- The parts, one file each. Verdicts are of the main subgraph alone --------------------------

// validate_operands.cc: type, dimensions, quantisation, extra parameters and location of each
// operand on its own.
Status validateOperands(const Model& model, const Subgraph& subgraph, HalVersion version,
                        Verdicts* verdicts = nullptr);

// validate_graph.cc: the operations are known to the version and in execution order; inputs and
// outputs of the subgraph; every value is written exactly once; consumers are counted right.
Status validateGraph(const Model& model, const Subgraph& subgraph, HalVersion version,
                     Verdicts* verdicts = nullptr);

// validate_subgraphs.cc: no subgraph refers to itself, directly or through others. The operands are
// valid already.
Status validateReferences(const Model& model);

}  // namespace halyard::driver
