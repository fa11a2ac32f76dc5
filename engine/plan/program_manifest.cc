// SPDX-License-Identifier: Apache-2.0

#include "engine/plan/program_manifest.h"

#include <limits>
#include <string_view>
#include <utility>

#include "engine/base/byte_format.h"
#include "engine/base/checked_math.h"
#include "engine/graph/graph_description.h"
#include "engine/graph/verifier.h"

namespace halyard::engine {
namespace {

constexpr uint32_t kVersion = 1;
// Of kPlanner.
constexpr uint32_t kPlannerIndex = std::numeric_limits<uint32_t>::max();

// NOLINTNEXTLINE(misc-no-recursion): as deep as the verifier lets graphs be nested
void put(ByteWriter& to, const Assignment& assignment) {
    to.putCount(assignment.backendOf.size());
    for (size_t i = 0; i < assignment.backendOf.size(); ++i) {
        const BackendIndex backend = assignment.backendOf[i];
        to.put(backend == kPlanner ? kPlannerIndex : static_cast<uint32_t>(backend));
        to.put(static_cast<uint32_t>(assignment.placementOf[i]));
    }
    to.putCount(assignment.nested.size());
    for (const Assignment& nested : assignment.nested) {
        put(to, nested);
    }
}

// NOLINTNEXTLINE(misc-no-recursion): to kMaxNesting
Status get(ByteReader& from, Assignment& assignment, size_t depth) {
    if (depth > kMaxNesting) {
        return invalidArgument("assignments are nested too deep");
    }
    HALYARD_ASSIGN_OR_RETURN(const size_t nodes, from.getCount());
    for (size_t i = 0; i < nodes; ++i) {
        uint32_t backend = 0;
        uint32_t placement = 0;
        HALYARD_RETURN_IF_ERROR(from.get(backend));
        HALYARD_RETURN_IF_ERROR(from.get(placement));
        assignment.backendOf.push_back(backend == kPlannerIndex ? kPlanner : backend);
        assignment.placementOf.push_back(placement);
    }
    HALYARD_ASSIGN_OR_RETURN(const size_t nested, from.getCount());
    for (size_t i = 0; i < nested; ++i) {
        HALYARD_RETURN_IF_ERROR(get(from, assignment.nested.emplace_back(), depth + 1));
    }
    return {};
}

void put(ByteWriter& to, const NodePlacement& placement) {
    to.putText(placement.label);
    to.putText(placement.kind);
    to.putList<uint32_t>(placement.sources);
    to.putText(placement.backend);
    to.putCount(placement.refusals.size());
    for (const NodePlacement::Refusal& refusal : placement.refusals) {
        to.putText(refusal.backend);
        to.putText(refusal.reason);
    }
}

Status get(ByteReader& from, NodePlacement& placement) {
    HALYARD_RETURN_IF_ERROR(from.getText(placement.label));
    HALYARD_RETURN_IF_ERROR(from.getText(placement.kind));
    HALYARD_RETURN_IF_ERROR(from.getList(placement.sources));
    HALYARD_RETURN_IF_ERROR(from.getText(placement.backend));
    HALYARD_ASSIGN_OR_RETURN(const size_t refusals, from.getCount());
    for (size_t i = 0; i < refusals; ++i) {
        NodePlacement::Refusal& refusal = placement.refusals.emplace_back();
        HALYARD_RETURN_IF_ERROR(from.getText(refusal.backend));
        HALYARD_RETURN_IF_ERROR(from.getText(refusal.reason));
    }
    return {};
}

void put(ByteWriter& to, const PackedContents& packed) {
    to.putCount(packed.places.size());
    for (const auto& [key, place] : packed.places) {
        to.putText(key);
        to.put(static_cast<uint64_t>(place.offset));
        to.put(static_cast<uint64_t>(place.bytes));
    }
    to.putCount(packed.answers.size());
    for (const auto& [key, answer] : packed.answers) {
        to.putText(key);
        to.putFlag(answer);
    }
}

Status get(ByteReader& from, PackedContents& packed, size_t storeBytes) {
    HALYARD_ASSIGN_OR_RETURN(const size_t places, from.getCount());
    for (size_t i = 0; i < places; ++i) {
        std::string key;
        uint64_t offset = 0;
        uint64_t bytes = 0;
        HALYARD_RETURN_IF_ERROR(from.getText(key));
        HALYARD_RETURN_IF_ERROR(from.get(offset));
        HALYARD_RETURN_IF_ERROR(from.get(bytes));
        if (!rangeFits<uint64_t>(offset, bytes, storeBytes) || offset % kTensorAlignment != 0) {
            return invalidArgument("a packed constant lies outside the store");
        }
        packed.places.emplace(std::move(key), PackedConstant{.offset = static_cast<size_t>(offset),
                                                             .bytes = static_cast<size_t>(bytes)});
    }
    HALYARD_ASSIGN_OR_RETURN(const size_t answers, from.getCount());
    for (size_t i = 0; i < answers; ++i) {
        std::string key;
        bool answer = false;
        HALYARD_RETURN_IF_ERROR(from.getText(key));
        HALYARD_RETURN_IF_ERROR(from.getFlag(answer));
        packed.answers.emplace(std::move(key), answer);
    }
    return {};
}

}  // namespace

std::vector<BackendIdentity> identitiesOf(const BackendList& backends) {
    std::vector<BackendIdentity> identities;
    for (const Backend* backend : backends) {
        identities.push_back(
                {.name = std::string(backend->name()), .identity = backend->identity()});
    }
    return identities;
}

std::vector<uint8_t> toBytes(const ProgramManifest& manifest) {
    ByteWriter to;
    to.put(kVersion);
    to.put(kGraphVersion);
    to.putFlag(manifest.options.fastMath);
    to.putCount(manifest.backends.size());
    for (const BackendIdentity& backend : manifest.backends) {
        to.putText(backend.name);
        to.putText(backend.identity);
    }
    put(to, manifest.assignment);
    to.putCount(manifest.placement.size());
    for (const NodePlacement& placement : manifest.placement) {
        put(to, placement);
    }
    put(to, manifest.packed);
    return to.take();
}

Result<ProgramManifest> manifestFrom(std::span<const uint8_t> bytes, size_t storeBytes) {
    ByteReader from(bytes, "the program's manifest");
    uint32_t version = 0;
    uint32_t graphVersion = 0;
    HALYARD_RETURN_IF_ERROR(from.get(version));
    HALYARD_RETURN_IF_ERROR(from.get(graphVersion));
    if (version != kVersion || graphVersion != kGraphVersion) {
        return unsupported("version " + std::to_string(version) + " of a program, with version " +
                           std::to_string(graphVersion) + " of a graph");
    }
    ProgramManifest manifest;
    HALYARD_RETURN_IF_ERROR(from.getFlag(manifest.options.fastMath));
    HALYARD_ASSIGN_OR_RETURN(const size_t backends, from.getCount());
    for (size_t i = 0; i < backends; ++i) {
        BackendIdentity& backend = manifest.backends.emplace_back();
        HALYARD_RETURN_IF_ERROR(from.getText(backend.name));
        HALYARD_RETURN_IF_ERROR(from.getText(backend.identity));
    }
    HALYARD_RETURN_IF_ERROR(get(from, manifest.assignment, 0));
    HALYARD_ASSIGN_OR_RETURN(const size_t placements, from.getCount());
    for (size_t i = 0; i < placements; ++i) {
        HALYARD_RETURN_IF_ERROR(get(from, manifest.placement.emplace_back()));
    }
    HALYARD_RETURN_IF_ERROR(get(from, manifest.packed, storeBytes));
    HALYARD_RETURN_IF_ERROR(from.finish());
    return manifest;
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as the verifier lets graphs be nested
Status checkAssignment(const Graph& graph, const Assignment& assignment,
                       const BackendList& backends, size_t placements) {
    if (assignment.backendOf.size() != graph.nodes().size()) {
        return invalidArgument("the program assigns " +
                               std::to_string(assignment.backendOf.size()) +
                               " nodes, and its graph has " + std::to_string(graph.nodes().size()));
    }
    size_t nested = 0;
    for (NodeId id = 0; id < graph.nodes().size(); ++id) {
        const Node& node = graph.node(id);
        const BackendIndex backend = assignment.backendOf[id];
        const std::vector<const NestedGraph*> graphs = nestedGraphs(node);
        if (assignment.placementOf[id] >= placements || (backend == kPlanner) != !graphs.empty() ||
            (backend != kPlanner && backend >= backends.size()) ||
            nested + graphs.size() > assignment.nested.size()) {
            return invalidArgument(node.label + " is assigned to what can't run it");
        }
        if (backend != kPlanner) {
            const Status supports = backends[backend]->supports(graph, id);
            if (!supports.ok()) {
                return unsupported(node.label + ": " + std::string(backends[backend]->name()) +
                                   " " + std::string(supports.message()));
            }
        }
        for (const NestedGraph* inside : graphs) {
            HALYARD_RETURN_IF_ERROR(checkAssignment(*inside->graph, assignment.nested[nested++],
                                                    backends, placements)
                                            .withContext(node.label));
        }
    }
    return nested == assignment.nested.size()
                   ? Status()
                   : invalidArgument("the program assigns nodes of graphs that there are not");
}

}  // namespace halyard::engine
