// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/planning/step_plan.h"

#include <cstddef>

#include "engine/backends/gpu/launches/building.h"

namespace halyard::engine::gpu {
namespace {

// Where tables and scratch memory begin.
constexpr size_t kAlignment = 64;

size_t aligned(size_t bytes) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

KnownInput StepPlan::known(size_t index, size_t which) const {
    if (!has(index, which)) {
        return {};
    }
    const LocalId local = mNodes[which].inputs[index];
    const PartitionLayout& layout = mEnvironment.layout;
    return {.type = &mEnvironment.types[local],
            .data = layout.graph->tensor(layout.tensors[local].id).constant.bytes.data()};
}

std::vector<KnownInput> StepPlan::allKnown() const {
    std::vector<KnownInput> inputs;
    for (size_t i = 0; i < inputCount(); ++i) {
        inputs.push_back(known(i));
    }
    return inputs;
}

Operand StepPlan::scratch(size_t bytes) {
    size_t& taken = mEnvironment.plan.scratchBytes[mStep];
    const Operand operand = {.place = Operand::Place::SCRATCH,
                             .offset = static_cast<int64_t>(taken)};
    taken += aligned(bytes);
    return operand;
}

Operand StepPlan::addTable(std::span<const std::byte> bytes) {
    std::vector<std::byte>& tables = mEnvironment.plan.tables;
    const Operand operand = {.place = Operand::Place::TABLE,
                             .offset = static_cast<int64_t>(tables.size())};
    tables.insert(tables.end(), bytes.begin(), bytes.end());
    tables.resize(aligned(tables.size()));
    return operand;
}

Operand StepPlan::check(std::function<Status(const Finding&)> failure) {
    std::vector<Check>& checks = mEnvironment.plan.checks;
    const Operand operand = {.place = Operand::Place::FINDING,
                             .offset = static_cast<int64_t>(checks.size() * sizeof(Finding))};
    checks.push_back({.step = mStep, .failure = std::move(failure)});
    return operand;
}

Result<Launch*> StepPlan::launch(const KernelFamily& family, const std::string& defines) {
    Launch& launch = mEnvironment.plan.launches.emplace_back();
    launch.family = &family;
    launch.defines = defines;
    launch.step = mStep;
    return &launch;
}

Status StepPlan::buildPrograms() {
    return gpu::buildPrograms(mEnvironment.layout, mEnvironment.plan.launches,
                              mEnvironment.programs, mEnvironment.blobs, Checkpoint());
}

Status StepPlan::choose(std::string_view key, std::span<const Variant> variants) {
    const VariantChooser* const chooser = mEnvironment.chooser;
    if (variants.empty()) {
        return internalError("there is no way to compute a step");
    }
    if (chooser == nullptr || variants.size() == 1) {
        return variants.front().plan(*this);
    }
    std::vector<Variant> ofStep;  // as they are measured: of a whole step
    for (const Variant& variant : variants) {
        ofStep.push_back({.name = variant.name, .plan = [&](StepPlan& whole) {
                              StepPlan own = whole.part(mFirst, mNodes.size());
                              return variant.plan(own);
                          }});
    }
    HALYARD_ASSIGN_OR_RETURN(const size_t best, chooser->choose(mEnvironment, mStep, key, ofStep));
    PartitionPlan& plan = mEnvironment.plan;
    const size_t launches = plan.launches.size();
    const size_t tableBytes = plan.tables.size();
    const size_t scratchBytes = plan.scratchBytes[mStep];
    Status planned = variants[best].plan(*this);
    if (planned.ok()) {
        planned = buildPrograms();
    }
    if (planned.ok() || best == 0 || !chooser->forgives(variants[best], planned)) {
        return planned;
    }
    // A variant that was measured once may not build with the driver at hand.
    plan.launches.erase(plan.launches.begin() + static_cast<std::ptrdiff_t>(launches),
                        plan.launches.end());
    plan.tables.resize(tableBytes);
    plan.scratchBytes[mStep] = scratchBytes;
    return variants.front().plan(*this);
}

}  // namespace halyard::engine::gpu
