// SPDX-License-Identifier: Apache-2.0
//
// Nearly valid models come of valid ones, by changes of single fields, by changes that keep the
// model coherent, and by joining two models.

#pragma once

#include "harness/device/cases/messages.h"
#include "tests/fuzz/seeded_choices.h"

namespace halyard::fuzz {

namespace pb = runner::pb;

// Changes the case in one to four places.
void mutate(pb::TestCase& testCase, SeededChoices& choices);
// Puts the other's operations behind, some of whose inputs are outputs of the first ones.
void append(pb::TestCase& testCase, const pb::TestCase& other, SeededChoices& choices);

}  // namespace halyard::fuzz
