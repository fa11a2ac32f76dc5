// SPDX-License-Identifier: Apache-2.0
//
// Changes after which a model still hangs together: what they change, they change wherever it
// stands.

#pragma once

#include "harness/device/cases/messages.h"
#include "tests/fuzz/seeded_choices.h"

namespace halyard::fuzz {

namespace pb = runner::pb;

// One extent becomes another wherever it stands, or one on one axis.
void changeExtents(pb::Model& model, SeededChoices& choices);
// One type becomes another wherever it stands.
void changeTypes(pb::Model& model, SeededChoices& choices);
// An operation once more, with results of its own, which may also be read where the first ones
// were.
void repeatOperation(pb::Subgraph& subgraph, SeededChoices& choices);
// A constant moves into a pool, into the model's own values, or among the inputs. `subgraph` is one
// of the case's model.
void moveConstant(pb::TestCase& testCase, pb::Subgraph& subgraph, SeededChoices& choices);
// Lets a constant lie where another one does, or a little behind, perhaps as other rows.
void shareConstant(pb::Model& model, SeededChoices& choices);

}  // namespace halyard::fuzz
