// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "engine/base/log.h"
#include "nnapi/entry/entry.h"
#include "nnapi/memory.h"
#include "nnapi/model.h"
#include "nnapi/plan.h"
#include "nnapi/runtime.h"

using namespace halyard::nnapi;  // NOLINT: the C functions are outside of it

int ANeuralNetworksModel_create(ANeuralNetworksModel** model) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(model, "model"));
        Runtime& runtime = Runtime::instance();
        *model = std::make_unique<ANeuralNetworksModel>(runtime.prefixes(), runtime.level())
                         .release();
        return {};
    });
}

void ANeuralNetworksModel_free(ANeuralNetworksModel* model) {
    delete model;
}

int ANeuralNetworksModel_finish(ANeuralNetworksModel* model) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(model, "model"));
        return model->finish();
    });
}

int ANeuralNetworksModel_addOperand(ANeuralNetworksModel* model,
                                    const ANeuralNetworksOperandType* type) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(model, "model"));
        HALYARD_RETURN_UNLESS_OK(present(type, "type"));
        return model->addOperand(*type);
    });
}

int ANeuralNetworksModel_setOperandValue(ANeuralNetworksModel* model, int32_t index,
                                         const void* buffer, size_t length) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(model, "model"));
        return model->setValue(index, buffer, length);
    });
}

int ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(
        ANeuralNetworksModel* model, int32_t index,
        const ANeuralNetworksSymmPerChannelQuantParams* channelQuant) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(model, "model"));
        HALYARD_RETURN_UNLESS_OK(present(channelQuant, "channelQuant"));
        return model->setChannelQuantization(index, *channelQuant);
    });
}

int ANeuralNetworksModel_setOperandValueFromMemory(ANeuralNetworksModel* model, int32_t index,
                                                   const ANeuralNetworksMemory* memory,
                                                   size_t offset, size_t length) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(model, "model"));
        HALYARD_RETURN_UNLESS_OK(present(memory, "memory"));
        return model->setValueFromMemory(index, *memory, offset, length);
    });
}

int ANeuralNetworksModel_setOperandValueFromModel(ANeuralNetworksModel* model, int32_t index,
                                                  const ANeuralNetworksModel* value) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(model, "model"));
        HALYARD_RETURN_UNLESS_OK(present(value, "value"));
        return model->setValueFromModel(index, *value);
    });
}

int ANeuralNetworksModel_setOperandExtensionData(ANeuralNetworksModel* model, int32_t index,
                                                 const void* data, size_t length) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(model, "model"));
        return model->setExtensionData(index, data, length);
    });
}

int ANeuralNetworksModel_addOperation(ANeuralNetworksModel* model,
                                      ANeuralNetworksOperationType type, uint32_t inputCount,
                                      const uint32_t* inputs, uint32_t outputCount,
                                      const uint32_t* outputs) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(model, "model"));
        HALYARD_RETURN_UNLESS_OK(present(inputs, "inputs"));
        HALYARD_RETURN_UNLESS_OK(present(outputs, "outputs"));
        return model->addOperation(type, {inputs, inputCount}, {outputs, outputCount});
    });
}

int ANeuralNetworksModel_identifyInputsAndOutputs(ANeuralNetworksModel* model, uint32_t inputCount,
                                                  const uint32_t* inputs, uint32_t outputCount,
                                                  const uint32_t* outputs) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(model, "model"));
        HALYARD_RETURN_UNLESS_OK(present(inputs, "inputs"));
        HALYARD_RETURN_UNLESS_OK(present(outputs, "outputs"));
        return model->identifyInputsAndOutputs({inputs, inputCount}, {outputs, outputCount});
    });
}

int ANeuralNetworksModel_relaxComputationFloat32toFloat16(ANeuralNetworksModel* model, bool allow) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(model, "model"));
        return model->relaxFloats(allow);
    });
}

int ANeuralNetworksModel_getExtensionOperandType(ANeuralNetworksModel* model,
                                                 const char* extensionName,
                                                 uint16_t operandCodeWithinExtension,
                                                 int32_t* type) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(model, "model"));
        HALYARD_RETURN_UNLESS_OK(present(extensionName, "extensionName"));
        HALYARD_RETURN_UNLESS_OK(present(type, "type"));
        return model->extensionCode(extensionName, operandCodeWithinExtension, *type);
    });
}

int ANeuralNetworksModel_getExtensionOperationType(ANeuralNetworksModel* model,
                                                   const char* extensionName,
                                                   uint16_t operationCodeWithinExtension,
                                                   ANeuralNetworksOperationType* type) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(model, "model"));
        HALYARD_RETURN_UNLESS_OK(present(extensionName, "extensionName"));
        HALYARD_RETURN_UNLESS_OK(present(type, "type"));
        return model->extensionCode(extensionName, operationCodeWithinExtension, *type);
    });
}

int ANeuralNetworksModel_getSupportedOperationsForDevices(
        const ANeuralNetworksModel* model, const ANeuralNetworksDevice* const* devices,
        uint32_t numDevices, bool* supportedOps) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(model, "model"));
        HALYARD_RETURN_UNLESS_OK(present(devices, "devices"));
        HALYARD_RETURN_UNLESS_OK(present(supportedOps, "supportedOps"));
        const std::span<const ANeuralNetworksDevice* const> listed(devices, numDevices);
        for (const ANeuralNetworksDevice* device : listed) {
            HALYARD_RETURN_UNLESS_OK(present(device, "a device"));
        }
        HALYARD_RETURN_UNLESS_OK(model->checkFinished());
        HALYARD_RETURN_UNLESS_OK(checkDifferent(listed));
        const FinishedModel& finished = *model->finished();
        std::fill_n(supportedOps, finished.added.size(), false);
        for (const ANeuralNetworksDevice* device : listed) {
            const halyard::Result<std::vector<bool>> flags =
                    supportedOperations(*device, finished.model);
            if (!flags.ok()) {
                log(halyard::LogLevel::WARNING, device->name() +
                                                        " does not say what it supports: " +
                                                        std::string(flags.status().message()));
                continue;
            }
            for (size_t i = 0; i < flags->size(); ++i) {
                supportedOps[finished.added[i]] = supportedOps[finished.added[i]] || (*flags)[i];
            }
        }
        return {};
    });
}
