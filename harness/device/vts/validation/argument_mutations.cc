// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <string>

#include "harness/device/vts/validation/mutant.h"

namespace halyard::vts {
namespace {

using driver::ExecutionPreference;
using driver::HalVersion;
using driver::Priority;

std::string nameOf(int32_t code) {
    return "code " + std::to_string(code);
}

}  // namespace

void mutateArguments(const MutantSource& source) {
    if (source.version >= HalVersion::V1_1 && source.wants(Mutation::EXECUTION_PREFERENCE)) {
        for (const int32_t code :
             {static_cast<int32_t>(ExecutionPreference::LOW_POWER) - 1,
              static_cast<int32_t>(ExecutionPreference::SUSTAINED_SPEED) + 1}) {
            Mutant mutant = source.begin(Mutation::EXECUTION_PREFERENCE, nameOf(code));
            mutant.preference = static_cast<ExecutionPreference>(code);
            source.judge(mutant);
        }
    }
    if (source.version >= HalVersion::V1_3 && source.wants(Mutation::EXECUTION_PRIORITY)) {
        for (const int32_t code :
             {static_cast<int32_t>(Priority::LOW) - 1, static_cast<int32_t>(Priority::HIGH) + 1}) {
            Mutant mutant = source.begin(Mutation::EXECUTION_PRIORITY, nameOf(code));
            mutant.priority = static_cast<Priority>(code);
            source.judge(mutant);
        }
    }
}

}  // namespace halyard::vts
