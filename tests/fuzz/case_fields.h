// SPDX-License-Identifier: Apache-2.0
//
// Changes of a case's single fields, whatever that does to the rest.

#pragma once

#include "harness/device/cases/messages.h"
#include "tests/fuzz/seeded_choices.h"

namespace halyard::fuzz {

namespace pb = runner::pb;

// Null if there is none.
pb::Operand* anyOperand(pb::Subgraph& subgraph, SeededChoices& choices);

void changeOperand(pb::Subgraph& subgraph, SeededChoices& choices);
void changeOperation(pb::Subgraph& subgraph, SeededChoices& choices);
// The subgraph's inputs and outputs.
void changeBoundary(pb::Subgraph& subgraph, SeededChoices& choices);
// The values of constants.
void changeValues(pb::Model& model, SeededChoices& choices);
void changeExamples(pb::TestCase& testCase, SeededChoices& choices);

}  // namespace halyard::fuzz
