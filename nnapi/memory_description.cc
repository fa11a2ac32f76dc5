// SPDX-License-Identifier: Apache-2.0

#include "nnapi/memory_description.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "hal/memory/shared_memory.h"
#include "nnapi/compilation.h"
#include "nnapi/operand_size.h"

namespace halyard::nnapi {
namespace {

// The device that computes all of each compilation; null: there are several.
const RunStep* onlyStep(std::span<const MemoryRole> roles) {
    const RunStep* only = nullptr;
    for (const MemoryRole& role : roles) {
        const RunStep* const step = role.compilation->plan.whole();
        if (step == nullptr || (only != nullptr && step->device != only->device)) {
            return nullptr;
        }
        only = step;
    }
    return only;
}

driver::BufferDescription describe(const MemoryPurpose& purpose) {
    driver::BufferDescription description;
    description.dimensions = purpose.dimensions;
    for (const MemoryRole& role : purpose.roles) {
        const auto& prepared = role.compilation->plan.whole()->prepared;
        const auto found = std::ranges::find(description.models, prepared);
        const driver::BufferRole said = {
                .modelIndex = static_cast<uint32_t>(found - description.models.begin()),
                .ioIndex = role.index,
                .frequency = role.frequency};
        if (found == description.models.end()) {
            description.models.push_back(prepared);
        }
        (role.isInput ? description.inputs : description.outputs).push_back(said);
    }
    return description;
}

}  // namespace

Answer MemoryDescription::checkOpen() const {
    return mIsFinished ? badState("the description is finished") : Answer();
}

Answer MemoryDescription::merge(std::span<const uint32_t> dimensions) {
    std::optional<std::vector<uint32_t>> both = mergedDimensions(mPurpose.dimensions, dimensions);
    if (!both.has_value()) {
        return badData("the dimensions differ from those that are known");
    }
    mPurpose.dimensions = *std::move(both);
    return {};
}

Answer MemoryDescription::addRole(const std::shared_ptr<const Compiled>& compilation, bool isInput,
                                  uint32_t index, float frequency) {
    HALYARD_RETURN_UNLESS_OK(checkOpen());
    const std::vector<driver::Operand>& operands =
            isInput ? compilation->model->inputs : compilation->model->outputs;
    const std::string name = (isInput ? "input " : "output ") + std::to_string(index);
    if (index >= operands.size()) {
        return badData("there is no " + name + " of " + std::to_string(operands.size()));
    }
    if (!(frequency > 0.0F && frequency <= 1.0F)) {
        return badData(name + ": a frequency is above 0, and 1 at most");
    }
    const driver::Operand& operand = operands[index];
    for (const MemoryRole& role : mPurpose.roles) {
        if (role.isOf(compilation.get(), isInput, index)) {
            return badData(name + " is there already");
        }
    }
    if (!mPurpose.roles.empty() && !haveOneType(mPurpose.operand, operand)) {
        return badData(name + " is of another operand type than the roles before it");
    }
    HALYARD_RETURN_UNLESS_OK(merge(operand.dimensions).withContext(name));
    mPurpose.operand = operand;
    mPurpose.roles.push_back({.compilation = compilation,
                              .isInput = isInput,
                              .index = index,
                              .frequency = frequency});
    return {};
}

Answer MemoryDescription::setDimensions(std::span<const uint32_t> dimensions) {
    HALYARD_RETURN_UNLESS_OK(checkOpen());
    if (!mPurpose.roles.empty() && !dimensions.empty() &&
        !isTensor(mPurpose.operand, *mPurpose.roles.front().compilation->prefixes)) {
        return badData("a scalar has no dimensions");
    }
    return merge(dimensions);
}

Answer MemoryDescription::finish() {
    HALYARD_RETURN_UNLESS_OK(checkOpen());
    if (mPurpose.roles.empty()) {
        return badData("the memory is for nothing");
    }
    mIsFinished = true;
    return {};
}

Answer MemoryDescription::allocate(std::unique_ptr<ANeuralNetworksMemory>& memory) const {
    if (!mIsFinished) {
        return badState("the description is not finished");
    }
    const ExtensionPrefixes& prefixes = *mPurpose.roles.front().compilation->prefixes;
    const std::optional<uint64_t> size =
            byteSizeOf(mPurpose.operand, mPurpose.dimensions, prefixes);
    Status refused = unsupported("the roles are of several devices");
    if (const RunStep* const step = onlyStep(mPurpose.roles)) {
        Result<std::shared_ptr<driver::IBuffer>> buffer =
                step->device->device().allocate(describe(mPurpose));
        if (buffer.ok()) {
            memory = std::make_unique<ANeuralNetworksMemory>(*step->device, *std::move(buffer),
                                                             mPurpose, size.value_or(0));
            return {};
        }
        refused = buffer.status();
    }
    const bool mayBeElsewhere = size.has_value() && *size > 0 &&
                                std::ranges::none_of(mPurpose.roles, [](const MemoryRole& role) {
                                    return role.compilation->isExplicit;
                                });
    if (!mayBeElsewhere) {
        return {ANEURALNETWORKS_OP_FAILED,
                "no device has such memory: " + std::string(refused.message())};
    }
    Result<hal::ExportedMemory> shared = hal::createSharedMemory(*size);
    HALYARD_RETURN_UNLESS_OK(answerOf(shared.status()));
    memory = std::make_unique<ANeuralNetworksMemory>(shared->memory, mPurpose, *size);
    return {};
}

}  // namespace halyard::nnapi
