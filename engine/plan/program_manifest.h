// SPDX-License-Identifier: Apache-2.0
//
// ProgramManifest: what a saved program says of itself next to its graph and its constants.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "engine/graph/graph.h"
#include "engine/plan/assignment.h"
#include "engine/plan/backend.h"
#include "engine/plan/constant_store.h"

namespace halyard::engine {

struct BackendIdentity {
    std::string name;
    std::string identity;
};

std::vector<BackendIdentity> identitiesOf(const BackendList& backends);

struct ProgramManifest {
    CompileOptions options;
    std::vector<BackendIdentity> backends;  // as the assignment counts them
    Assignment assignment;
    std::vector<NodePlacement> placement;
    PackedContents packed;
};

std::vector<uint8_t> toBytes(const ProgramManifest& manifest);
// The bytes may come from anywhere. INVALID_ARGUMENT where they are no manifest, or one of a store
// of other than `storeBytes` bytes; UNSUPPORTED for another version.
Result<ProgramManifest> manifestFrom(std::span<const uint8_t> bytes, size_t storeBytes);

// Whether the assignment is one of the verified graph's: to backends there are, which support their
// nodes. `placements`: as many as there are. Takes the backends as the list counts them.
Status checkAssignment(const Graph& graph, const Assignment& assignment,
                       const BackendList& backends, size_t placements);

}  // namespace halyard::engine
