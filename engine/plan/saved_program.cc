// SPDX-License-Identifier: Apache-2.0
//
// Programs as files: Program::save() and load(). What is mapped again is only ever read; what is
// compiled again is told by the store where everything lies, and can't pack anything.

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/graph/graph_description.h"
#include "engine/graph/verifier.h"
#include "engine/plan/program.h"
#include "engine/plan/program_manifest.h"
#include "engine/plan/program_state.h"

namespace halyard::engine {
namespace {

constexpr std::string_view kManifest = "program";
constexpr std::string_view kGraph = "graph";
constexpr std::string_view kConstants = kFirstOfConstants;
constexpr std::string_view kStore = "store";
constexpr std::string_view kBlob = "blob/";

std::string name(std::string_view section) {
    return std::string(section);
}

// Whether the backends that any node is assigned to compile as they did.
// NOLINTNEXTLINE(misc-no-recursion): as deep as the verifier lets graphs be nested
Status takeBackends(const std::vector<BackendIdentity>& saved, const BackendList& backends,
                    Assignment& assignment) {
    for (BackendIndex& index : assignment.backendOf) {
        if (index == kPlanner) {
            continue;
        }
        if (index >= saved.size()) {
            return invalidArgument("a node is assigned to a backend that there is not");
        }
        const BackendIdentity& wanted = saved[index];
        const auto found = std::ranges::find_if(
                backends, [&](const Backend* backend) { return backend->name() == wanted.name; });
        if (found == backends.end()) {
            return unsupported("the program was built for " + wanted.name +
                               ", and there is no such backend");
        }
        if (const std::string identity = (*found)->identity(); identity != wanted.identity) {
            return unsupported("the program was built for '" + wanted.identity +
                               "', and here is '" + identity + "'");
        }
        index = static_cast<BackendIndex>(found - backends.begin());
    }
    for (Assignment& nested : assignment.nested) {
        HALYARD_RETURN_IF_ERROR(takeBackends(saved, backends, nested));
    }
    return {};
}

}  // namespace

void Program::save(SectionWriter& file, SavedBlobs blobs) const {
    SerializedGraph serialized = describe(graph(), ConstantIds::KEEP);
    file.addDescription(name(kManifest), toBytes({.options = mState->options,
                                                  .backends = mState->backends,
                                                  .assignment = mState->assignment,
                                                  .placement = mState->placement,
                                                  .packed = mState->packed}));
    file.addDescription(name(kGraph), std::move(serialized.description));
    if (blobs == SavedBlobs::ALL) {
        for (auto& [blobName, blob] : mState->blobs->all()) {
            ByteParts bytes;
            bytes.addView(blob.bytes, blob.owner);
            file.addMapped(name(kBlob) + blobName, std::move(bytes));
        }
    }
    file.addMapped(name(kConstants), std::move(serialized.block));
    ByteParts store;
    const std::span<const std::byte> packed = mState->constants.bytes();
    store.addView({reinterpret_cast<const uint8_t*>(packed.data()), packed.size()});
    file.addMapped(name(kStore), std::move(store));
}

Result<std::shared_ptr<const Program>> Program::load(const SectionFile& file, SavedBytes trust,
                                                     const BackendList& backends,
                                                     const BuildOptions& options) {
    HALYARD_ASSIGN_OR_RETURN(const std::span<const uint8_t> store, file.mapped(kStore));
    HALYARD_ASSIGN_OR_RETURN(const std::span<const uint8_t> constants, file.mapped(kConstants));
    HALYARD_ASSIGN_OR_RETURN(const std::span<const uint8_t> description, file.description(kGraph));
    HALYARD_ASSIGN_OR_RETURN(const std::span<const uint8_t> said, file.description(kManifest));
    HALYARD_ASSIGN_OR_RETURN(ProgramManifest manifest, manifestFrom(said, store.size()));
    if (manifest.options.fastMath != options.compile.fastMath) {
        return unsupported("the program was built with other settings");
    }
    HALYARD_RETURN_IF_ERROR(takeBackends(manifest.backends, backends, manifest.assignment));
    HALYARD_ASSIGN_OR_RETURN(Graph loaded,
                             deserialize(description, {.owner = file.owner(),
                                                       .bytes = constants,
                                                       .shared = trust == SavedBytes::SHARED}));
    HALYARD_RETURN_IF_ERROR(verifyAndInfer(loaded, options.memory, options.checkpoint));
    HALYARD_RETURN_IF_ERROR(
            checkAssignment(loaded, manifest.assignment, backends, manifest.placement.size()));

    auto state = std::make_unique<State>(options);
    state->backends = identitiesOf(backends);
    state->placement = std::move(manifest.placement);
    state->packed = std::move(manifest.packed);
    state->constants = {.owner = file.owner(),
                        .view = {reinterpret_cast<const std::byte*>(store.data()), store.size()}};
    if (trust == SavedBytes::AUTHENTIC) {
        for (const auto& [blobName, bytes] : file.mappedBeginningWith(kBlob)) {
            state->blobs->adopt(blobName, {.owner = file.owner(), .bytes = bytes});
        }
    }
    ConstantStore found(&state->packed);
    ScheduleArguments arguments = {.backends = backends,
                                   .constants = found,
                                   .numbers = nullptr,
                                   .memory = state->memory,
                                   .threads = state->threads.get(),
                                   .checkpoint = options.checkpoint,
                                   .options = options.compile,
                                   .blobs = Blobs(state->blobs, {}),
                                   .placement = state->placement};
    HALYARD_ASSIGN_OR_RETURN(state->schedule,
                             compileSchedule(std::make_shared<Graph>(std::move(loaded)),
                                             manifest.assignment, arguments));
    state->partitionCount = arguments.partitions;
    state->assignment = std::move(manifest.assignment);
    HALYARD_RETURN_IF_ERROR(checkPackedConstants(state->schedule));
    releasePackedConstants(state->schedule);
    std::optional<size_t> failed;  // one that failed: the caller builds the program anew
    HALYARD_RETURN_IF_ERROR(plan(*state, options.checkpoint, failed));
    return std::shared_ptr<const Program>(new Program(std::move(state)));
}

}  // namespace halyard::engine
