// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/step_plan.h"

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
    const PieceLayout& layout = mEnvironment.layout;
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

Result<Launch*> StepPlan::launch(const KernelFamily& family, const std::string& defines) {
    HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<const Program> program,
                             mEnvironment.programs.get(family, defines, mEnvironment.blobs));
    Launch& launch = mEnvironment.plan.launches.emplace_back();
    launch.program = std::move(program);
    launch.step = mStep;
    return &launch;
}

}  // namespace halyard::engine::gpu
