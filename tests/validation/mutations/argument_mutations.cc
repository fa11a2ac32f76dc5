// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <string>

#include "tests/validation/mutations/mutant.h"

namespace halyard::validation {
namespace {

using driver::ExecutionPreference;
using driver::HalVersion;
using driver::Priority;

std::string nameOf(int32_t code) {
    return "code " + std::to_string(code);
}

}  // namespace

void mutateArguments(const Subject& subject) {
    if (subject.version >= HalVersion::V1_1) {
        for (const int32_t code :
             {static_cast<int32_t>(ExecutionPreference::LOW_POWER) - 1,
              static_cast<int32_t>(ExecutionPreference::SUSTAINED_SPEED) + 1}) {
            Mutant mutant = subject.begin(Mutation::EXECUTION_PREFERENCE, nameOf(code));
            mutant.preference = static_cast<ExecutionPreference>(code);
            subject.judge(mutant);
        }
    }
    if (subject.version >= HalVersion::V1_3) {
        for (const int32_t code :
             {static_cast<int32_t>(Priority::LOW) - 1, static_cast<int32_t>(Priority::HIGH) + 1}) {
            Mutant mutant = subject.begin(Mutation::EXECUTION_PRIORITY, nameOf(code));
            mutant.priority = static_cast<Priority>(code);
            subject.judge(mutant);
        }
    }
}

}  // namespace halyard::validation
