// SPDX-License-Identifier: Apache-2.0

#include "harness/device/ndk/model.h"

#include <string>
#include <utility>

#include "driver/model/error_status.h"
#include "driver/model/extensions.h"

namespace halyard::ndk {
namespace {

using driver::OperandLifeTime;

constexpr int kInvalid = ANEURALNETWORKS_BAD_DATA;

// One subgraph, in a model of its own.
class Builder {
  public:
    Builder(const Library& library, const driver::Model& source,
            const std::vector<ANeuralNetworksModel*>& referenced, ANeuralNetworksModel* model)
        : mLibrary(library), mSource(source), mReferenced(referenced), mModel(model) {}

    Status add(const driver::Subgraph& subgraph) {
        for (size_t i = 0; i < subgraph.operands.size(); ++i) {
            HALYARD_RETURN_IF_ERROR(addOperand(subgraph.operands[i], static_cast<int32_t>(i))
                                            .withContext("operand " + std::to_string(i)));
        }
        for (size_t i = 0; i < subgraph.operations.size(); ++i) {
            const driver::Operation& operation = subgraph.operations[i];
            HALYARD_ASSIGN_OR_RETURN(const int32_t type,
                                     codeOf(static_cast<int32_t>(operation.type), true));
            HALYARD_RETURN_IF_ERROR(
                    statusOf(mLibrary.ANeuralNetworksModel_addOperation(
                                     mModel, type, static_cast<uint32_t>(operation.inputs.size()),
                                     operation.inputs.data(),
                                     static_cast<uint32_t>(operation.outputs.size()),
                                     operation.outputs.data()),
                             "addOperation")
                            .withContext(labelOf(operation, i)));
        }
        HALYARD_RETURN_IF_ERROR(
                statusOf(mLibrary.ANeuralNetworksModel_identifyInputsAndOutputs(
                                 mModel, static_cast<uint32_t>(subgraph.inputIndexes.size()),
                                 subgraph.inputIndexes.data(),
                                 static_cast<uint32_t>(subgraph.outputIndexes.size()),
                                 subgraph.outputIndexes.data()),
                         "identifyInputsAndOutputs"));
        if (mSource.relaxComputationFloat32toFloat16) {
            HALYARD_RETURN_IF_ERROR(statusOf(
                    mLibrary.ANeuralNetworksModel_relaxComputationFloat32toFloat16(mModel, true),
                    "relaxComputationFloat32toFloat16"));
        }
        return statusOf(mLibrary.ANeuralNetworksModel_finish(mModel), "finish");
    }

  private:
    // With the prefix that the library has for the extension.
    Result<int32_t> codeOf(int32_t code, bool isOperation) const {
        const auto prefix = static_cast<uint16_t>(static_cast<uint32_t>(code) >> 16);
        if (prefix == 0) {
            return code;
        }
        for (const driver::ExtensionNameAndPrefix& extension : mSource.extensionNameToPrefix) {
            if (extension.prefix != prefix) {
                continue;
            }
            int32_t told = 0;
            const auto within = static_cast<uint16_t>(code & 0xFFFF);
            HALYARD_RETURN_IF_ERROR(
                    isOperation ? statusOf(mLibrary.ANeuralNetworksModel_getExtensionOperationType(
                                                   mModel, extension.name.c_str(), within, &told),
                                           "getExtensionOperationType")
                                : statusOf(mLibrary.ANeuralNetworksModel_getExtensionOperandType(
                                                   mModel, extension.name.c_str(), within, &told),
                                           "getExtensionOperandType"));
            return told;
        }
        return statusOf(kInvalid, "a code of an extension that the model does not name");
    }

    Status addOperand(const driver::Operand& operand, int32_t index) const {
        HALYARD_ASSIGN_OR_RETURN(const int32_t code,
                                 codeOf(static_cast<int32_t>(operand.type), false));
        const ANeuralNetworksOperandType type = {
                .type = code,
                .dimensionCount = static_cast<uint32_t>(operand.dimensions.size()),
                .dimensions = operand.dimensions.empty() ? nullptr : operand.dimensions.data(),
                .scale = operand.scale,
                .zeroPoint = operand.zeroPoint};
        HALYARD_RETURN_IF_ERROR(
                statusOf(mLibrary.ANeuralNetworksModel_addOperand(mModel, &type), "addOperand"));
        if (const auto* channels =
                    std::get_if<driver::SymmPerChannelQuantParams>(&operand.extraParams)) {
            const ANeuralNetworksSymmPerChannelQuantParams parameters = {
                    .channelDim = channels->channelDim,
                    .scaleCount = static_cast<uint32_t>(channels->scales.size()),
                    .scales = channels->scales.data()};
            HALYARD_RETURN_IF_ERROR(
                    statusOf(mLibrary.ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(
                                     mModel, index, &parameters),
                             "setOperandSymmPerChannelQuantParams"));
        } else if (const auto* data = std::get_if<std::vector<uint8_t>>(&operand.extraParams)) {
            HALYARD_RETURN_IF_ERROR(statusOf(mLibrary.ANeuralNetworksModel_setOperandExtensionData(
                                                     mModel, index, data->data(), data->size()),
                                             "setOperandExtensionData"));
        }
        return setValue(operand, index);
    }

    Status setValue(const driver::Operand& operand, int32_t index) const {
        const driver::DataLocation& location = operand.location;
        const auto set = [&](const void* bytes, size_t length) {
            return statusOf(
                    mLibrary.ANeuralNetworksModel_setOperandValue(mModel, index, bytes, length),
                    "setOperandValue");
        };
        switch (operand.lifetime) {
            case OperandLifeTime::NO_VALUE:
                return set(nullptr, 0);
            case OperandLifeTime::CONSTANT_COPY:
                if (!fits(location, mSource.operandValues->size())) {
                    return statusOf(kInvalid, "a constant outside of the values");
                }
                return set(mSource.operandValues->data() + location.offset, location.length);
            case OperandLifeTime::CONSTANT_REFERENCE: {
                if (location.poolIndex >= mSource.pools.size() ||
                    !fits(location, mSource.pools[location.poolIndex]->size())) {
                    return statusOf(kInvalid, "a constant outside of its pool");
                }
                HALYARD_ASSIGN_OR_RETURN(const std::span<uint8_t> bytes,
                                         mSource.pools[location.poolIndex]->map());
                return set(bytes.data() + location.offset, location.length);
            }
            case OperandLifeTime::SUBGRAPH:
                if (location.offset >= mReferenced.size()) {
                    return statusOf(kInvalid, "a subgraph that comes later, or is not there");
                }
                return statusOf(mLibrary.ANeuralNetworksModel_setOperandValueFromModel(
                                        mModel, index, mReferenced[location.offset]),
                                "setOperandValueFromModel");
            default:
                return {};
        }
    }

    const Library& mLibrary;
    const driver::Model& mSource;
    const std::vector<ANeuralNetworksModel*>& mReferenced;
    ANeuralNetworksModel* const mModel;
};

// Subgraphs after those that they refer to.
class References {
  public:
    explicit References(const driver::Model& model)
        : mModel(model), mStates(model.referenced.size()) {}

    Status visit(size_t index, std::vector<size_t>& order) {
        if (index >= mStates.size() || mStates[index] == State::OPEN) {
            return statusOf(kInvalid, "subgraphs that refer to themselves");
        }
        if (mStates[index] == State::DONE) {
            return {};
        }
        mStates[index] = State::OPEN;
        for (const driver::Operand& operand : mModel.referenced[index].operands) {
            if (operand.lifetime == OperandLifeTime::SUBGRAPH) {
                HALYARD_RETURN_IF_ERROR(visit(operand.location.offset, order));
            }
        }
        mStates[index] = State::DONE;
        order.push_back(index);
        return {};
    }

  private:
    enum class State : uint8_t { NEW, OPEN, DONE };

    const driver::Model& mModel;
    std::vector<State> mStates;
};

}  // namespace

Status statusOf(int code, std::string_view call) {
    std::string message = std::string(call) + " answers " + std::to_string(code);
    switch (code) {
        case ANEURALNETWORKS_NO_ERROR:
            return {};
        case ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE:
            return toStatus(driver::ErrorStatus::OUTPUT_INSUFFICIENT_SIZE, std::move(message));
        case ANEURALNETWORKS_UNAVAILABLE_DEVICE:
        case ANEURALNETWORKS_DEAD_OBJECT:
            return toStatus(driver::ErrorStatus::DEVICE_UNAVAILABLE, std::move(message));
        case ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT:
            return toStatus(driver::ErrorStatus::MISSED_DEADLINE_TRANSIENT, std::move(message));
        case ANEURALNETWORKS_MISSED_DEADLINE_PERSISTENT:
            return toStatus(driver::ErrorStatus::MISSED_DEADLINE_PERSISTENT, std::move(message));
        case ANEURALNETWORKS_OUT_OF_MEMORY:
        case ANEURALNETWORKS_RESOURCE_EXHAUSTED_TRANSIENT:
            return toStatus(driver::ErrorStatus::RESOURCE_EXHAUSTED_TRANSIENT, std::move(message));
        case ANEURALNETWORKS_RESOURCE_EXHAUSTED_PERSISTENT:
            return toStatus(driver::ErrorStatus::RESOURCE_EXHAUSTED_PERSISTENT, std::move(message));
        case ANEURALNETWORKS_OP_FAILED:
            return toStatus(driver::ErrorStatus::GENERAL_FAILURE, std::move(message));
        default:
            return toStatus(driver::ErrorStatus::INVALID_ARGUMENT, std::move(message));
    }
}

BuiltModel::~BuiltModel() {
    for (ANeuralNetworksModel* const model : models) {
        library->ANeuralNetworksModel_free(model);
    }
}

Result<std::shared_ptr<const BuiltModel>> build(std::shared_ptr<const Library> library,
                                                driver::Model model) {
    auto built = std::make_shared<BuiltModel>(std::move(library), std::move(model));
    const driver::Model& source = built->source;
    std::vector<size_t> order;
    References references(source);
    for (size_t i = 0; i < source.referenced.size(); ++i) {
        HALYARD_RETURN_IF_ERROR(references.visit(i, order));
    }
    std::vector<ANeuralNetworksModel*> referenced(source.referenced.size());
    const auto add = [&](const driver::Subgraph& subgraph) -> Status {
        ANeuralNetworksModel* made = nullptr;
        HALYARD_RETURN_IF_ERROR(
                statusOf(built->library->ANeuralNetworksModel_create(&made), "Model_create"));
        built->models.push_back(made);
        return Builder(*built->library, source, referenced, made).add(subgraph);
    };
    for (const size_t index : order) {
        HALYARD_RETURN_IF_ERROR(add(source.referenced[index]));
        referenced[index] = built->models.back();
    }
    HALYARD_RETURN_IF_ERROR(add(source.main));
    return std::shared_ptr<const BuiltModel>(std::move(built));
}

}  // namespace halyard::ndk
