// SPDX-License-Identifier: Apache-2.0
//
// Claims: which operators of a subgraph Halyard runs, and why not the others.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/plan/placement.h"
#include "importers/tflite/model.h"

namespace halyard::vendor {

struct Claims {
    // By operator; empty: it is claimed.
    std::vector<std::string> reasons;

    size_t count() const;
    // One JSON object without line breaks.
    std::string report(const tflite::Subgraph& subgraph, std::string_view processor) const;
};

// An operator is claimed where the importer takes it and a backend other than the last, the
// reference, takes all that it becomes: what is not tuned runs better in LiteRT. One whose result
// follows from constants is claimed where what reads it is.
Result<Claims> claim(const tflite::Model& model, const engine::BackendList& backends);

}  // namespace halyard::vendor
