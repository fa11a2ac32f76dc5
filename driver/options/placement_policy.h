// SPDX-License-Identifier: Apache-2.0
//
// PlacementPolicy: where a device's options let operations run.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "driver/model/codes.h"
#include "driver/model/model.h"
#include "driver/options/options.h"
#include "engine/base/status.h"
#include "engine/plan/assignment.h"

namespace halyard::driver {

// Immutable and thread-safe. Without limits or hints unless made by create().
class PlacementPolicy {
  public:
    PlacementPolicy() = default;
    // Reads the file of hints. `backends`: the names of those in use, in order. INVALID_ARGUMENT
    // for a file that can't be read or parsed, and for a name in it or in requiredBackends that is
    // of no backend in use, unless -c would know it: a build or machine that lacks it is told so in
    // a warning, as -c does, and then goes without the hint. A required backend has to be there.
    static Result<PlacementPolicy> create(const Options& options,
                                          const std::vector<std::string>& backends);

    // For all of the model's operations, or part of them: their nodes stem from the same indexes.
    // Points to the model and to this.
    engine::PlacementRules rulesFor(const Model& model) const;

    // The hints that count, the same text for the same ones: "3 0, CONV_2D 1", operations and the
    // indexes of backends.
    std::string describeHints() const;

  private:
    engine::PlacementRules mRules;  // without hints
    std::map<uint32_t, engine::BackendIndex> mHintByIndex;
    std::map<OperationType, engine::BackendIndex> mHintByType;
};

}  // namespace halyard::driver
