// SPDX-License-Identifier: Apache-2.0

#include "tests/fuzz/case_mutation.h"

#include "tests/fuzz/case_coherence.h"
#include "tests/fuzz/case_content.h"
#include "tests/fuzz/case_fields.h"

namespace halyard::fuzz {
namespace {

void mutateOnce(pb::TestCase& testCase, SeededChoices& choices) {
    pb::Model& model = *testCase.mutable_model();
    const int referenced = model.referenced_size();
    pb::Subgraph& subgraph = referenced > 0 && choices.oneIn(2)
                                     ? *model.mutable_referenced(choices.below(referenced))
                                     : *model.mutable_main();
    switch (choices.below(14)) {
        case 0:
        case 1:
            changeOperand(subgraph, choices);
            break;
        case 2:
        case 3:
            changeExtents(model, choices);
            break;
        case 4:
            changeTypes(model, choices);
            break;
        case 5:
        case 6:
            changeValues(model, choices);
            break;
        case 7:
            changeOperation(subgraph, choices);
            break;
        case 8:
            repeatOperation(subgraph, choices);
            break;
        case 9:
            changeBoundary(subgraph, choices);
            break;
        case 10:
            moveConstant(testCase, subgraph, choices);
            break;
        case 11:
        case 12:
            shareConstant(model, choices);
            break;
        default:
            changeExamples(testCase, choices);
    }
    if (!choices.oneIn(8)) {
        repairContent(testCase);
    }
}

}  // namespace

void mutate(pb::TestCase& testCase, SeededChoices& choices) {
    for (int times = 1 + choices.below(4); times > 0; --times) {
        mutateOnce(testCase, choices);
    }
}

}  // namespace halyard::fuzz
