// SPDX-License-Identifier: Apache-2.0

#include "harness/device/runner/lowest_hal.h"

#include <optional>
#include <string>

#include "driver/ops/lowest_version.h"
#include "harness/device/cases/canonical_model.h"

namespace halyard::runner {

namespace {

Result<driver::HalVersion> lowestVersionOf(const pb::TestCase& testCase) {
    HALYARD_ASSIGN_OR_RETURN(const driver::Model model, toCanonical(testCase.model()));
    return driver::lowestVersion(model);
}

}  // namespace

Status writeLowestVersions(BundleReader& bundle, ResultWriter& results) {
    for (;;) {
        HALYARD_ASSIGN_OR_RETURN(const std::optional<pb::TestCase> testCase, bundle.next());
        if (!testCase.has_value()) {
            return {};
        }
        pb::CaseResult result;
        result.set_name(testCase->name());
        const Result<driver::HalVersion> version = lowestVersionOf(*testCase);
        if (version.ok()) {
            result.set_hal_version(toMessage(*version));
        } else {
            result.set_failed_stage(pb::STAGE_LOAD);
            result.set_status(pb::ERROR_STATUS_INVALID_ARGUMENT);
            result.set_message(std::string(version.status().message()));
        }
        HALYARD_RETURN_IF_ERROR(results.append(result));
    }
}

}  // namespace halyard::runner
