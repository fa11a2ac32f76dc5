// SPDX-License-Identifier: Apache-2.0
//
// Objects of NNAPI's C interface that end with their scope, and models built with few words.

#pragma once

#include <android/NeuralNetworks.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace halyard::nnapi_test {

template <typename T, void (*Free)(T*)>
struct Freeing {
    void operator()(T* object) const { Free(object); }
};
template <typename T, void (*Free)(T*)>
using Owned = std::unique_ptr<T, Freeing<T, Free>>;

using Model = Owned<ANeuralNetworksModel, ANeuralNetworksModel_free>;
using Compilation = Owned<ANeuralNetworksCompilation, ANeuralNetworksCompilation_free>;
using Execution = Owned<ANeuralNetworksExecution, ANeuralNetworksExecution_free>;
using Burst = Owned<ANeuralNetworksBurst, ANeuralNetworksBurst_free>;
using Event = Owned<ANeuralNetworksEvent, ANeuralNetworksEvent_free>;
using Memory = Owned<ANeuralNetworksMemory, ANeuralNetworksMemory_free>;
using MemoryDescription = Owned<ANeuralNetworksMemoryDesc, ANeuralNetworksMemoryDesc_free>;

#define HALYARD_EXPECT_NO_ERROR(expression) EXPECT_EQ(expression, ANEURALNETWORKS_NO_ERROR)

inline Model newModel() {
    ANeuralNetworksModel* model = nullptr;
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksModel_create(&model));
    return Model(model);
}

inline ANeuralNetworksOperandType scalar(int32_t code) {
    return {.type = code,
            .dimensionCount = 0,
            .dimensions = nullptr,
            .scale = 0.0F,
            .zeroPoint = 0};
}

// The extents outlive what is returned.
inline ANeuralNetworksOperandType tensor(int32_t code, const std::vector<uint32_t>& dimensions,
                                         float scale = 0.0F, int32_t zeroPoint = 0) {
    return {.type = code,
            .dimensionCount = static_cast<uint32_t>(dimensions.size()),
            .dimensions = dimensions.data(),
            .scale = scale,
            .zeroPoint = zeroPoint};
}

// Builds a model; what fails is a failure of the test.
class ModelText {
  public:
    ModelText() : mModel(newModel()) {}

    uint32_t operand(const ANeuralNetworksOperandType& type) {
        HALYARD_EXPECT_NO_ERROR(ANeuralNetworksModel_addOperand(mModel.get(), &type));
        return mOperands++;
    }
    uint32_t floats(const std::vector<uint32_t>& dimensions) {
        return operand(tensor(ANEURALNETWORKS_TENSOR_FLOAT32, dimensions));
    }
    uint32_t number(int32_t value) {
        const uint32_t index = operand(scalar(ANEURALNETWORKS_INT32));
        HALYARD_EXPECT_NO_ERROR(ANeuralNetworksModel_setOperandValue(
                mModel.get(), static_cast<int32_t>(index), &value, sizeof value));
        return index;
    }
    // `values` outlive finish() where they are more than 32.
    uint32_t constant(const std::vector<uint32_t>& dimensions, const std::vector<float>& values) {
        const uint32_t index = floats(dimensions);
        HALYARD_EXPECT_NO_ERROR(
                ANeuralNetworksModel_setOperandValue(mModel.get(), static_cast<int32_t>(index),
                                                     values.data(), values.size() * sizeof(float)));
        return index;
    }
    void operation(int32_t code, std::initializer_list<uint32_t> inputs,
                   std::initializer_list<uint32_t> outputs) {
        HALYARD_EXPECT_NO_ERROR(ANeuralNetworksModel_addOperation(
                mModel.get(), code, static_cast<uint32_t>(inputs.size()), inputs.begin(),
                static_cast<uint32_t>(outputs.size()), outputs.begin()));
    }
    // a (code) b, without an activation.
    uint32_t binary(int32_t code, uint32_t a, uint32_t b, const std::vector<uint32_t>& dimensions) {
        const uint32_t result = floats(dimensions);
        operation(code, {a, b, number(ANEURALNETWORKS_FUSED_NONE)}, {result});
        return result;
    }
    void identify(std::initializer_list<uint32_t> inputs, std::initializer_list<uint32_t> outputs) {
        HALYARD_EXPECT_NO_ERROR(ANeuralNetworksModel_identifyInputsAndOutputs(
                mModel.get(), static_cast<uint32_t>(inputs.size()), inputs.begin(),
                static_cast<uint32_t>(outputs.size()), outputs.begin()));
    }
    Model finish() {
        HALYARD_EXPECT_NO_ERROR(ANeuralNetworksModel_finish(mModel.get()));
        return std::move(mModel);
    }
    ANeuralNetworksModel* get() const { return mModel.get(); }

  private:
    Model mModel;
    uint32_t mOperands = 0;
};

// Of that name; null, and a failure of the test, where there is none.
inline const ANeuralNetworksDevice* deviceNamed(std::string_view name) {
    uint32_t count = 0;
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworks_getDeviceCount(&count));
    for (uint32_t i = 0; i < count; ++i) {
        ANeuralNetworksDevice* device = nullptr;
        HALYARD_EXPECT_NO_ERROR(ANeuralNetworks_getDevice(i, &device));
        const char* found = nullptr;
        HALYARD_EXPECT_NO_ERROR(ANeuralNetworksDevice_getName(device, &found));
        if (found != nullptr && name == found) {
            return device;
        }
    }
    ADD_FAILURE() << "there is no device " << name;
    return nullptr;
}

// Not finished. Without names: on all devices.
inline Compilation newCompilation(const Model& model,
                                  std::initializer_list<std::string_view> devices = {}) {
    ANeuralNetworksCompilation* compilation = nullptr;
    std::vector<const ANeuralNetworksDevice*> listed;
    for (const std::string_view name : devices) {
        listed.push_back(deviceNamed(name));
    }
    HALYARD_EXPECT_NO_ERROR(listed.empty()
                                    ? ANeuralNetworksCompilation_create(model.get(), &compilation)
                                    : ANeuralNetworksCompilation_createForDevices(
                                              model.get(), listed.data(),
                                              static_cast<uint32_t>(listed.size()), &compilation));
    return Compilation(compilation);
}

inline Compilation compile(const Model& model,
                           std::initializer_list<std::string_view> devices = {}) {
    Compilation compilation = newCompilation(model, devices);
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksCompilation_finish(compilation.get()));
    return compilation;
}

inline Execution newExecution(const Compilation& compilation) {
    ANeuralNetworksExecution* execution = nullptr;
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksExecution_create(compilation.get(), &execution));
    return Execution(execution);
}

inline int setInput(const Execution& execution, int32_t index, const std::vector<float>& values,
                    const ANeuralNetworksOperandType* type = nullptr) {
    return ANeuralNetworksExecution_setInput(execution.get(), index, type, values.data(),
                                             values.size() * sizeof(float));
}

inline int setOutput(const Execution& execution, int32_t index, std::vector<float>& values,
                     const ANeuralNetworksOperandType* type = nullptr) {
    return ANeuralNetworksExecution_setOutput(execution.get(), index, type, values.data(),
                                              values.size() * sizeof(float));
}

// The dimensions of output 0.
inline std::vector<uint32_t> dimensionsOf(const Execution& execution,
                                          int expected = ANEURALNETWORKS_NO_ERROR) {
    uint32_t rank = 0;
    EXPECT_EQ(ANeuralNetworksExecution_getOutputOperandRank(execution.get(), 0, &rank), expected);
    std::vector<uint32_t> dimensions(rank);
    EXPECT_EQ(ANeuralNetworksExecution_getOutputOperandDimensions(execution.get(), 0,
                                                                  dimensions.data()),
              expected);
    return dimensions;
}

}  // namespace halyard::nnapi_test
