// SPDX-License-Identifier: Apache-2.0

#include "driver/ops/lowest_version.h"

#include "driver/model/validate.h"
#include "driver/ops/operation_table.h"

namespace halyard::driver {

Status validateForVersion(const Model& model, HalVersion version, Verdicts* verdicts) {
    const Status structure = validateModel(model, version, verdicts);
    if (structure.ok()) {
        return validateOperations(model, version, verdicts);
    }
    // Without a verdict it is the model that is invalid, and operations may be anything.
    if (verdicts != nullptr && !verdicts->empty()) {
        static_cast<void>(validateMainOperations(model, version, *verdicts));
    }
    return structure;
}

Result<HalVersion> lowestVersion(const Model& model) {
    // 1.0 has no word for relaxed floats. All else that a version can't say is invalid in it.
    const bool relaxed = model.relaxComputationFloat32toFloat16;
    Status status;
    for (const HalVersion version : allVersions()) {
        if (relaxed && version < HalVersion::V1_1) {
            continue;
        }
        status = validateForVersion(model, version);
        if (status.ok()) {
            return version;
        }
    }
    return status;
}

}  // namespace halyard::driver
