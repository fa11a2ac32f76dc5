// SPDX-License-Identifier: Apache-2.0

#include "nnapi/diagnostics.h"

#include <algorithm>
#include <vector>

#include "driver/prepare/sha256.h"

namespace halyard::nnapi {
namespace {

using driver::OperandType;

ANeuralNetworksDiagnosticDataClass classOf(OperandType type) {
    switch (type) {
        case OperandType::FLOAT32:
        case OperandType::TENSOR_FLOAT32:
            return ANNDIAG_DATA_CLASS_FLOAT32;
        case OperandType::FLOAT16:
        case OperandType::TENSOR_FLOAT16:
            return ANNDIAG_DATA_CLASS_FLOAT16;
        case OperandType::TENSOR_QUANT8_ASYMM:
        case OperandType::TENSOR_QUANT8_ASYMM_SIGNED:
        case OperandType::TENSOR_QUANT8_SYMM:
        case OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL:
        case OperandType::TENSOR_QUANT16_ASYMM:
        case OperandType::TENSOR_QUANT16_SYMM:
            return ANNDIAG_DATA_CLASS_QUANT;
        default:
            return ANNDIAG_DATA_CLASS_OTHER;
    }
}

ANeuralNetworksDiagnosticDataClass classOf(std::span<const driver::Operand> operands) {
    ANeuralNetworksDiagnosticDataClass common = ANNDIAG_DATA_CLASS_UNKNOWN;
    for (const driver::Operand& operand : operands) {
        const ANeuralNetworksDiagnosticDataClass each = classOf(operand.type);
        if (common != ANNDIAG_DATA_CLASS_UNKNOWN && common != each) {
            return ANNDIAG_DATA_CLASS_MIXED;
        }
        common = each;
    }
    return common;
}

bool isDynamic(const driver::Operand& operand) {
    const driver::OperandTypeInfo* const info = driver::findOperandType(operand.type);
    return operand.lifetime != driver::OperandLifeTime::NO_VALUE && info != nullptr &&
           info->isTensor() &&
           (operand.dimensions.empty() ||
            std::ranges::find(operand.dimensions, 0U) != operand.dimensions.end());
}

void add(driver::Sha256& hash, uint32_t number) {
    hash.add({reinterpret_cast<const uint8_t*>(&number), sizeof number});
}

void add(driver::Sha256& hash, std::span<const uint32_t> numbers) {
    add(hash, static_cast<uint32_t>(numbers.size()));
    for (const uint32_t number : numbers) {
        add(hash, number);
    }
}

void add(driver::Sha256& hash, const driver::Subgraph& subgraph) {
    for (const driver::Operand& operand : subgraph.operands) {
        add(hash, static_cast<uint32_t>(operand.type));
        add(hash, operand.dimensions);
    }
    for (const driver::Operation& operation : subgraph.operations) {
        add(hash, static_cast<uint32_t>(operation.type));
        add(hash, operation.inputs);
        add(hash, operation.outputs);
    }
    add(hash, subgraph.inputIndexes);
    add(hash, subgraph.outputIndexes);
}

}  // namespace

Diagnosed diagnose(const FinishedModel& model, std::span<const RuntimeDevice* const> devices) {
    Diagnosed diagnosed;
    driver::Sha256 hash;
    add(hash, model.model.main);
    for (const driver::Subgraph& subgraph : model.model.referenced) {
        add(hash, subgraph);
    }
    diagnosed.modelHash = hash.finish();
    std::vector<std::string> ids;
    for (const RuntimeDevice* device : devices) {
        ids.push_back(device->name() + "=" + device->versionString());
    }
    std::ranges::sort(ids);
    for (const std::string& id : ids) {
        diagnosed.deviceIds += (diagnosed.deviceIds.empty() ? "" : ",") + id;
    }
    diagnosed.inputs = classOf(model.inputs);
    diagnosed.outputs = classOf(model.outputs);
    diagnosed.hasControlFlow = !model.model.referenced.empty();
    diagnosed.hasDynamicTensors = std::ranges::any_of(model.model.main.operands, isDynamic);
    return diagnosed;
}

Diagnostics& Diagnostics::instance() {
    static Diagnostics diagnostics;
    return diagnostics;
}

void Diagnostics::registerCallbacks(
        ANeuralNetworksDiagnosticCompilationFinishedCallback compilation,
        ANeuralNetworksDiagnosticExecutionFinishedCallback execution, void* context) {
    const std::lock_guard lock(mMutex);
    mCompilation = compilation;
    mExecution = execution;
    mContext = context;
}

bool Diagnostics::wants() const {
    const std::lock_guard lock(mMutex);
    return mCompilation != nullptr || mExecution != nullptr;
}

void Diagnostics::compilationFinished(const Diagnosed& diagnosed,
                                      std::chrono::nanoseconds took) const {
    std::unique_lock lock(mMutex);
    const auto callback = mCompilation;
    const void* const context = mContext;
    lock.unlock();
    if (callback != nullptr) {
        const ANeuralNetworksDiagnosticCompilationInfo info = {.common = diagnosed, .took = took};
        callback(context, &info);
    }
}

void Diagnostics::executionFinished(const Diagnosed& diagnosed,
                                    ANeuralNetworksDiagnosticExecutionMode mode,
                                    std::chrono::nanoseconds took,
                                    const driver::Timing& timing) const {
    std::unique_lock lock(mMutex);
    const auto callback = mExecution;
    const void* const context = mContext;
    lock.unlock();
    if (callback != nullptr) {
        const ANeuralNetworksDiagnosticExecutionInfo info = {
                .common = diagnosed, .mode = mode, .took = took, .timing = timing};
        callback(context, &info);
    }
}

}  // namespace halyard::nnapi
