// SPDX-License-Identifier: Apache-2.0

#include "harness/device/runner/node_profile.h"

#include <cstddef>
#include <set>
#include <span>
#include <string>

#include "engine/plan/profile.h"
#include "harness/device/runner/executions.h"

namespace halyard::runner {

namespace {

void addProfile(const engine::Profile& profile, std::span<const engine::NodePlacement> placement,
                pb::CaseResult& result) {
    for (const engine::NodeProfile& node : profile.nodes()) {
        const engine::NodePlacement& first = placement[node.placement.front()];
        std::set<uint32_t> operations;
        for (const size_t index : node.placement) {
            operations.insert(placement[index].sources.begin(), placement[index].sources.end());
        }
        pb::NodeProfile& row = *result.add_profile();
        row.mutable_operations()->Assign(operations.begin(), operations.end());
        row.set_label(first.label);
        row.set_node(first.kind);
        row.set_type(std::string(engine::toString(node.type)));
        row.set_backend(first.backend);
        row.set_partition(static_cast<uint32_t>(first.partition));
        row.set_kernel(std::string(node.kernel));
        row.set_median_ns(static_cast<uint64_t>(node.medianTime.count()));
        row.set_median_device_ns(static_cast<uint64_t>(node.medianDeviceTime.count()));
        row.set_bytes(node.bytes);
        row.set_multiply_adds(node.multiplyAdds);
        row.set_nodes(static_cast<uint32_t>(node.placement.size()));
    }
    for (const engine::CopyProfile& copy : profile.copies()) {
        pb::NodeProfile& row = *result.add_profile();
        row.set_label("copies " + std::string(copy.name));
        row.set_node("Copy");
        row.set_backend(std::string(engine::kPlannerName));
        row.set_kernel(std::string(copy.name));
        row.set_median_ns(static_cast<uint64_t>(copy.medianTime.count()));
        row.set_bytes(copy.bytes);
        row.set_nodes(static_cast<uint32_t>(copy.count));
    }
}

}  // namespace

Outcome profile(const Target& target, driver::IPreparedModel& prepared,
                const driver::Request& request, const pb::RunOptions& options, uint32_t runs,
                pb::CaseResult& result) {
    if (prepared.program() == nullptr) {
        return {.status = driver::ErrorStatus::INVALID_ARGUMENT,
                .message = "only an in-process target tells what each node takes"};
    }
    engine::Profile profile(prepared.program()->shared_from_this());
    Result<Executions> executions =
            Executions::create(prepared, request, {.mode = options.mode(), .trace = &profile});
    if (!executions.ok()) {
        return outcomeOf(target, executions.status());
    }
    for (uint32_t run = 0; run < runs; ++run) {
        const driver::ExecutionResult executed = executions->run();
        if (!executed.status.ok()) {
            return outcomeOf(target, executed.status);
        }
        profile.endRun();
    }
    addProfile(profile, prepared.program()->placement(), result);
    return {};
}

}  // namespace halyard::runner
