// SPDX-License-Identifier: Apache-2.0
//
// Each rule of a result code of NNAPI's C functions, broken: a table of claims. What
// nnapi/interfaces.json says of a function is told here by at least one claim for each code.

#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/nnapi/c_objects.h"

namespace halyard::nnapi_test {
namespace {

constexpr int kNull = ANEURALNETWORKS_UNEXPECTED_NULL;
constexpr int kState = ANEURALNETWORKS_BAD_STATE;
constexpr int kData = ANEURALNETWORKS_BAD_DATA;
constexpr int kFailed = ANEURALNETWORKS_OP_FAILED;
constexpr int kFine = ANEURALNETWORKS_NO_ERROR;

struct Rule {
    const char* claim;
    int code;
    std::function<int()> call;
};

void PrintTo(const Rule& rule, std::ostream* out) {
    *out << rule.claim;
}

class NnapiRules : public testing::TestWithParam<Rule> {};

TEST_P(NnapiRules, Hold) {
    EXPECT_EQ(GetParam().call(), GetParam().code);
}

std::string nameOf(const testing::TestParamInfo<Rule>& instance) {
    return instance.param.claim;
}

#define HALYARD_RULES(group, rules) \
    INSTANTIATE_TEST_SUITE_P(group, NnapiRules, testing::ValuesIn(rules()), nameOf)

const std::vector<uint32_t> kTwo = {2};
const std::vector<float> kValues = {1, 2};

Model finishedModel() {
    ModelText text;
    const uint32_t a = text.floats(kTwo);
    text.identify({a}, {text.binary(ANEURALNETWORKS_ADD, a, text.constant(kTwo, kValues), kTwo)});
    return text.finish();
}

// Of one that no more is said of: it is the process's.
const Model& finished() {
    static const Model model = finishedModel();
    return model;
}

const Compilation& compiled() {
    static const Compilation compilation = compile(finished());
    return compilation;
}

const Compilation& compiledForOne() {
    static const Compilation compilation = compile(finished(), {"whole"});
    return compilation;
}

int addOperand(const ANeuralNetworksOperandType& type) {
    const Model model = newModel();
    return ANeuralNetworksModel_addOperand(model.get(), &type);
}

int add(int32_t code, const std::vector<uint32_t>& dimensions, float scale = 0.0F,
        int32_t zeroPoint = 0) {
    return addOperand(tensor(code, dimensions, scale, zeroPoint));
}

// ---- Models -------------------------------------------------------------------------------------

// The model has an operand of two floats.
int setValue(int32_t index, const void* buffer, size_t length) {
    ModelText text;
    text.floats(kTwo);
    return ANeuralNetworksModel_setOperandValue(text.get(), index, buffer, length);
}

int setChannels(int32_t code, uint32_t dimension, const std::vector<float>& scales) {
    ModelText text;
    const std::vector<uint32_t> dimensions = {2, 3};
    text.operand(tensor(code, dimensions, code == ANEURALNETWORKS_TENSOR_QUANT8_SYMM ? 1.0F : 0));
    const ANeuralNetworksSymmPerChannelQuantParams parameters = {
            .channelDim = dimension,
            .scaleCount = static_cast<uint32_t>(scales.size()),
            .scales = scales.data()};
    return ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(text.get(), 0, &parameters);
}

int finishModel(const std::function<void(ModelText&)>& build) {
    ModelText text;
    build(text);
    return ANeuralNetworksModel_finish(text.get());
}

Memory pool(size_t size) {
    const int fd = memfd_create("pool", MFD_CLOEXEC);
    EXPECT_EQ(ftruncate(fd, static_cast<off_t>(size)), 0);
    ANeuralNetworksMemory* memory = nullptr;
    HALYARD_EXPECT_NO_ERROR(
            ANeuralNetworksMemory_createFromFd(size, PROT_READ | PROT_WRITE, fd, 0, &memory));
    close(fd);
    return Memory(memory);
}

int setFromMemory(size_t offset, size_t length) {
    const Memory memory = pool(64);
    ModelText text;
    text.floats(kTwo);
    return ANeuralNetworksModel_setOperandValueFromMemory(text.get(), 0, memory.get(), offset,
                                                          length);
}

std::vector<Rule> modelRules() {
    const uint32_t zero = 0;
    const uint32_t three = 3;
    return {
            {"create_refuses_null", kNull, [] { return ANeuralNetworksModel_create(nullptr); }},
            {"free_takes_null", kFine, [] { return ANeuralNetworksModel_free(nullptr), kFine; }},
            {"finish_refuses_null", kNull, [] { return ANeuralNetworksModel_finish(nullptr); }},
            {"finish_refuses_an_empty_model", kData, [] { return finishModel([](ModelText&) {}); }},
            {"finish_refuses_a_second_call", kState,
             [] { return ANeuralNetworksModel_finish(finished().get()); }},
            {"finish_refuses_a_second_call_after_a_failure", kState,
             [] {
                 ModelText text;
                 EXPECT_EQ(ANeuralNetworksModel_finish(text.get()), kData);
                 return ANeuralNetworksModel_finish(text.get());
             }},
            {"finish_refuses_a_cycle", kData,
             [] {
                 return finishModel([](ModelText& text) {
                     const uint32_t input = text.floats(kTwo);
                     const uint32_t a = text.floats(kTwo);
                     const uint32_t b = text.binary(ANEURALNETWORKS_ADD, a, input, kTwo);
                     text.operation(ANEURALNETWORKS_RELU, {b}, {a});
                     text.identify({input}, {b});
                 });
             }},
            {"finish_refuses_two_writers", kData,
             [] {
                 return finishModel([](ModelText& text) {
                     const uint32_t input = text.floats(kTwo);
                     const uint32_t output = text.floats(kTwo);
                     text.operation(ANEURALNETWORKS_RELU, {input}, {output});
                     text.operation(ANEURALNETWORKS_RELU6, {input}, {output});
                     text.identify({input}, {output});
                 });
             }},
            {"finish_refuses_what_nothing_writes", kData,
             [] {
                 return finishModel([](ModelText& text) {
                     const uint32_t input = text.floats(kTwo);
                     const uint32_t lost = text.floats(kTwo);
                     text.identify({input}, {text.binary(ANEURALNETWORKS_ADD, input, lost, kTwo)});
                 });
             }},
            {"finish_refuses_a_wrong_signature", kData,
             [] {
                 return finishModel([](ModelText& text) {
                     const uint32_t input = text.floats(kTwo);
                     const uint32_t output = text.floats(kTwo);
                     text.operation(ANEURALNETWORKS_ADD, {input}, {output});
                     text.identify({input}, {output});
                 });
             }},
            {"finish_takes_operations_in_any_order", kFine,
             [] {
                 return finishModel([](ModelText& text) {
                     const uint32_t input = text.floats(kTwo);
                     const uint32_t between = text.floats(kTwo);
                     const uint32_t output = text.floats(kTwo);
                     text.operation(ANEURALNETWORKS_RELU, {between}, {output});
                     text.operation(ANEURALNETWORKS_RELU6, {input}, {between});
                     text.identify({input}, {output});
                 });
             }},
            {"finish_takes_constants_that_nothing_reads", kFine,
             [] {
                 return finishModel([](ModelText& text) {
                     const uint32_t input = text.floats(kTwo);
                     const uint32_t output = text.floats(kTwo);
                     text.number(7);
                     text.operation(ANEURALNETWORKS_RELU, {input}, {output});
                     text.identify({input}, {output});
                 });
             }},
            {"addOperand_refuses_a_null_model", kNull,
             [] {
                 const auto type = scalar(ANEURALNETWORKS_INT32);
                 return ANeuralNetworksModel_addOperand(nullptr, &type);
             }},
            {"addOperand_refuses_a_null_type", kNull,
             [] { return ANeuralNetworksModel_addOperand(newModel().get(), nullptr); }},
            {"addOperand_refuses_a_finished_model", kState,
             [] {
                 const auto type = scalar(ANEURALNETWORKS_INT32);
                 return ANeuralNetworksModel_addOperand(finished().get(), &type);
             }},
            {"addOperand_refuses_an_unknown_type", kData, [] { return add(77, kTwo); }},
            {"addOperand_refuses_a_negative_type", kData, [] { return add(-1, kTwo); }},
            {"addOperand_refuses_an_unknown_extension", kData, [] { return add(0x70001, kTwo); }},
            {"addOperand_refuses_a_count_without_dimensions", kData,
             [] {
                 return addOperand({.type = ANEURALNETWORKS_TENSOR_FLOAT32,
                                    .dimensionCount = 2,
                                    .dimensions = nullptr,
                                    .scale = 0,
                                    .zeroPoint = 0});
             }},
            {"addOperand_refuses_dimensions_without_a_count", kData,
             [&] {
                 return addOperand({.type = ANEURALNETWORKS_TENSOR_FLOAT32,
                                    .dimensionCount = 0,
                                    .dimensions = kTwo.data(),
                                    .scale = 0,
                                    .zeroPoint = 0});
             }},
            {"addOperand_refuses_dimensions_of_a_scalar", kData,
             [] { return add(ANEURALNETWORKS_INT32, kTwo); }},
            {"addOperand_refuses_dimensions_that_overflow", kData,
             [] {
                 return add(ANEURALNETWORKS_TENSOR_FLOAT32, {65536, 65536});
             }},
            {"addOperand_refuses_a_scale_of_floats", kData,
             [] { return add(ANEURALNETWORKS_TENSOR_FLOAT32, kTwo, 0.5F); }},
            {"addOperand_refuses_no_scale_of_bytes", kData,
             [] { return add(ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, kTwo); }},
            {"addOperand_refuses_a_zero_point_that_no_byte_has", kData,
             [] { return add(ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, kTwo, 0.5F, 256); }},
            {"addOperand_takes_an_unknown_rank", kFine,
             [] { return add(ANEURALNETWORKS_TENSOR_FLOAT32, {}); }},
            {"setOperandValue_refuses_a_null_model", kNull,
             [] { return ANeuralNetworksModel_setOperandValue(nullptr, 0, kValues.data(), 8); }},
            {"setOperandValue_refuses_a_null_value_of_bytes", kNull,
             [] { return setValue(0, nullptr, 8); }},
            {"setOperandValue_refuses_a_finished_model", kState,
             [] {
                 return ANeuralNetworksModel_setOperandValue(finished().get(), 0, kValues.data(),
                                                             8);
             }},
            {"setOperandValue_refuses_an_index_past_the_end", kData,
             [] { return setValue(1, kValues.data(), 8); }},
            {"setOperandValue_refuses_a_negative_index", kData,
             [] { return setValue(-1, kValues.data(), 8); }},
            {"setOperandValue_refuses_too_few_bytes", kData,
             [] { return setValue(0, kValues.data(), 4); }},
            {"setOperandValue_refuses_no_bytes_of_a_value", kData,
             [] { return setValue(0, kValues.data(), 0); }},
            {"setOperandValue_takes_no_value", kFine, [] { return setValue(0, nullptr, 0); }},
            {"setOperandValue_refuses_unspecified_dimensions", kData,
             [] {
                 ModelText text;
                 text.floats({0});
                 return ANeuralNetworksModel_setOperandValue(text.get(), 0, kValues.data(), 8);
             }},
            {"setOperandSymmPerChannelQuantParams_refuses_null", kNull,
             [] {
                 return ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(newModel().get(),
                                                                                 0, nullptr);
             }},
            {"setOperandSymmPerChannelQuantParams_refuses_a_finished_model", kState,
             [] {
                 const ANeuralNetworksSymmPerChannelQuantParams none = {};
                 return ANeuralNetworksModel_setOperandSymmPerChannelQuantParams(finished().get(),
                                                                                 0, &none);
             }},
            {"setOperandSymmPerChannelQuantParams_takes_a_scale_a_channel", kFine,
             [] {
                 return setChannels(ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL, 1, {1, 2, 3});
             }},
            {"setOperandSymmPerChannelQuantParams_refuses_another_type", kData,
             [] {
                 return setChannels(ANEURALNETWORKS_TENSOR_QUANT8_SYMM, 1, {1, 2, 3});
             }},
            {"setOperandSymmPerChannelQuantParams_refuses_another_count", kData,
             [] {
                 return setChannels(ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL, 0, {1, 2, 3});
             }},
            {"setOperandSymmPerChannelQuantParams_refuses_a_dimension_past_the_rank", kData,
             [] {
                 return setChannels(ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL, 2, {1, 2, 3});
             }},
            {"setOperandSymmPerChannelQuantParams_refuses_a_scale_of_zero", kData,
             [] {
                 return setChannels(ANEURALNETWORKS_TENSOR_QUANT8_SYMM_PER_CHANNEL, 1, {1, 0, 3});
             }},
            {"setOperandValueFromMemory_refuses_null", kNull,
             [] {
                 return ANeuralNetworksModel_setOperandValueFromMemory(newModel().get(), 0, nullptr,
                                                                       0, 8);
             }},
            {"setOperandValueFromMemory_refuses_a_finished_model", kState,
             [] {
                 return ANeuralNetworksModel_setOperandValueFromMemory(finished().get(), 0,
                                                                       pool(64).get(), 0, 8);
             }},
            {"setOperandValueFromMemory_takes_a_part_of_a_pool", kFine,
             [] { return setFromMemory(12, 8); }},
            {"setOperandValueFromMemory_refuses_a_range_past_the_end", kData,
             [] { return setFromMemory(60, 8); }},
            {"setOperandValueFromMemory_refuses_another_size", kData,
             [] { return setFromMemory(0, 12); }},
            {"setOperandValueFromModel_refuses_null", kNull,
             [] {
                 return ANeuralNetworksModel_setOperandValueFromModel(newModel().get(), 0, nullptr);
             }},
            {"setOperandValueFromModel_refuses_a_model_that_is_not_finished", kState,
             [] {
                 ModelText text;
                 text.operand(scalar(ANEURALNETWORKS_MODEL));
                 return ANeuralNetworksModel_setOperandValueFromModel(text.get(), 0,
                                                                      newModel().get());
             }},
            {"setOperandValueFromModel_refuses_an_index_past_the_end", kData,
             [] {
                 return ANeuralNetworksModel_setOperandValueFromModel(newModel().get(), 0,
                                                                      finished().get());
             }},
            {"addOperation_refuses_null_inputs", kNull,
             [=] {
                 return ANeuralNetworksModel_addOperation(newModel().get(), ANEURALNETWORKS_RELU, 1,
                                                          nullptr, 1, &zero);
             }},
            {"addOperation_refuses_a_finished_model", kState,
             [=] {
                 return ANeuralNetworksModel_addOperation(finished().get(), ANEURALNETWORKS_RELU, 1,
                                                          &zero, 1, &zero);
             }},
            {"addOperation_refuses_an_unknown_code", kData,
             [=] {
                 ModelText text;
                 text.floats(kTwo);
                 return ANeuralNetworksModel_addOperation(text.get(), 1000, 1, &zero, 1, &zero);
             }},
            {"addOperation_refuses_an_operand_past_the_end", kData,
             [=] {
                 ModelText text;
                 text.floats(kTwo);
                 return ANeuralNetworksModel_addOperation(text.get(), ANEURALNETWORKS_RELU, 1,
                                                          &three, 1, &zero);
             }},
            {"identifyInputsAndOutputs_refuses_null", kNull,
             [=] {
                 return ANeuralNetworksModel_identifyInputsAndOutputs(newModel().get(), 1, nullptr,
                                                                      1, &zero);
             }},
            {"identifyInputsAndOutputs_refuses_a_finished_model", kState,
             [=] {
                 return ANeuralNetworksModel_identifyInputsAndOutputs(finished().get(), 1, &zero, 1,
                                                                      &zero);
             }},
            {"identifyInputsAndOutputs_refuses_an_input_that_is_an_output", kData,
             [=] {
                 ModelText text;
                 text.floats(kTwo);
                 return ANeuralNetworksModel_identifyInputsAndOutputs(text.get(), 1, &zero, 1,
                                                                      &zero);
             }},
            {"identifyInputsAndOutputs_refuses_a_constant", kData,
             [=] {
                 ModelText text;
                 text.number(3);
                 const uint32_t other = text.floats(kTwo);
                 return ANeuralNetworksModel_identifyInputsAndOutputs(text.get(), 1, &zero, 1,
                                                                      &other);
             }},
            {"relaxComputationFloat32toFloat16_refuses_null", kNull,
             [] { return ANeuralNetworksModel_relaxComputationFloat32toFloat16(nullptr, true); }},
            {"relaxComputationFloat32toFloat16_refuses_a_finished_model", kState,
             [] {
                 return ANeuralNetworksModel_relaxComputationFloat32toFloat16(finished().get(),
                                                                              true);
             }},
            {"getExtensionOperandType_refuses_an_unknown_extension", kData,
             [] {
                 int32_t type = 0;
                 return ANeuralNetworksModel_getExtensionOperandType(newModel().get(),
                                                                     "com.example.none", 0, &type);
             }},
            {"getExtensionOperationType_refuses_null", kNull,
             [] {
                 return ANeuralNetworksModel_getExtensionOperationType(
                         newModel().get(), "com.halyard.activation", 0, nullptr);
             }},
            {"setOperandExtensionData_refuses_another_type", kData,
             [] {
                 ModelText text;
                 text.floats(kTwo);
                 return ANeuralNetworksModel_setOperandExtensionData(text.get(), 0, "data", 4);
             }},
    };
}
HALYARD_RULES(Model, modelRules);

// ---- Devices ------------------------------------------------------------------------------------

int supported(const Model& model, const std::vector<const ANeuralNetworksDevice*>& devices) {
    bool flags[8] = {};
    return ANeuralNetworksModel_getSupportedOperationsForDevices(
            model.get(), devices.data(), static_cast<uint32_t>(devices.size()), flags);
}

std::vector<Rule> deviceRules() {
    return {
            {"getDeviceCount_refuses_null", kNull,
             [] { return ANeuralNetworks_getDeviceCount(nullptr); }},
            {"getDevice_refuses_null", kNull, [] { return ANeuralNetworks_getDevice(0, nullptr); }},
            {"getDevice_refuses_an_index_past_the_end", kData,
             [] {
                 ANeuralNetworksDevice* device = nullptr;
                 return ANeuralNetworks_getDevice(99, &device);
             }},
            {"getName_refuses_null", kNull,
             [] { return ANeuralNetworksDevice_getName(deviceNamed("whole"), nullptr); }},
            {"getType_refuses_null", kNull,
             [] { return ANeuralNetworksDevice_getType(nullptr, nullptr); }},
            {"getVersion_refuses_null", kNull,
             [] { return ANeuralNetworksDevice_getVersion(deviceNamed("whole"), nullptr); }},
            {"getFeatureLevel_refuses_null", kNull,
             [] { return ANeuralNetworksDevice_getFeatureLevel(nullptr, nullptr); }},
            {"wait_refuses_null", kNull, [] { return ANeuralNetworksDevice_wait(nullptr); }},
            {"wait_returns", kFine,
             [] { return ANeuralNetworksDevice_wait(deviceNamed("whole")); }},
            {"getExtensionSupport_refuses_null", kNull,
             [] {
                 return ANeuralNetworksDevice_getExtensionSupport(deviceNamed("whole"), nullptr,
                                                                  nullptr);
             }},
            {"getSupportedOperationsForDevices_refuses_a_null_device", kNull,
             [] { return supported(finished(), {nullptr}); }},
            {"getSupportedOperationsForDevices_refuses_a_model_that_is_not_finished", kState,
             [] { return supported(newModel(), {deviceNamed("whole")}); }},
            {"getSupportedOperationsForDevices_refuses_a_device_twice", kData,
             [] {
                 return supported(finished(), {deviceNamed("whole"), deviceNamed("whole")});
             }},
    };
}
HALYARD_RULES(Device, deviceRules);

// ---- Compilations -------------------------------------------------------------------------------

int createFor(const Model& model, const std::vector<const ANeuralNetworksDevice*>& devices) {
    ANeuralNetworksCompilation* compilation = nullptr;
    const int code = ANeuralNetworksCompilation_createForDevices(
            model.get(), devices.data(), static_cast<uint32_t>(devices.size()), &compilation);
    EXPECT_EQ(compilation != nullptr, code == kFine);
    ANeuralNetworksCompilation_free(compilation);
    return code;
}

std::vector<Rule> compilationRules() {
    static const uint8_t token[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN] = {};
    return {
            {"create_refuses_null", kNull,
             [] { return ANeuralNetworksCompilation_create(finished().get(), nullptr); }},
            {"create_refuses_a_model_that_is_not_finished", kState,
             [] {
                 ANeuralNetworksCompilation* compilation = nullptr;
                 return ANeuralNetworksCompilation_create(newModel().get(), &compilation);
             }},
            {"createForDevices_refuses_a_null_device", kNull,
             [] { return createFor(finished(), {nullptr}); }},
            {"createForDevices_refuses_a_device_twice", kData,
             [] {
                 return createFor(finished(), {deviceNamed("whole"), deviceNamed("whole")});
             }},
            {"createForDevices_refuses_a_model_that_is_not_finished", kState,
             [] { return createFor(newModel(), {deviceNamed("whole")}); }},
            {"free_takes_null", kFine,
             [] { return ANeuralNetworksCompilation_free(nullptr), kFine; }},
            {"setPreference_refuses_null", kNull,
             [] { return ANeuralNetworksCompilation_setPreference(nullptr, 0); }},
            {"setPreference_refuses_a_finished_compilation", kState,
             [] { return ANeuralNetworksCompilation_setPreference(compiled().get(), 0); }},
            {"setPreference_refuses_an_unknown_one", kData,
             [] {
                 return ANeuralNetworksCompilation_setPreference(newCompilation(finished()).get(),
                                                                 3);
             }},
            {"setPriority_refuses_null", kNull,
             [] { return ANeuralNetworksCompilation_setPriority(nullptr, 100); }},
            {"setPriority_refuses_a_finished_compilation", kState,
             [] { return ANeuralNetworksCompilation_setPriority(compiled().get(), 100); }},
            {"setPriority_refuses_an_unknown_one", kData,
             [] {
                 return ANeuralNetworksCompilation_setPriority(newCompilation(finished()).get(),
                                                               95);
             }},
            {"setTimeout_refuses_null", kNull,
             [] { return ANeuralNetworksCompilation_setTimeout(nullptr, 1); }},
            {"setTimeout_refuses_several_devices", kData,
             [] {
                 return ANeuralNetworksCompilation_setTimeout(newCompilation(finished()).get(), 1);
             }},
            {"setTimeout_refuses_a_finished_compilation", kState,
             [] { return ANeuralNetworksCompilation_setTimeout(compiledForOne().get(), 1); }},
            {"setCaching_refuses_null", kNull,
             [] {
                 return ANeuralNetworksCompilation_setCaching(newCompilation(finished()).get(),
                                                              nullptr, token);
             }},
            {"setCaching_refuses_a_finished_compilation", kState,
             [] { return ANeuralNetworksCompilation_setCaching(compiled().get(), "/tmp", token); }},
            {"addExtensionAttribute_refuses_several_devices", kData,
             [] {
                 return ANeuralNetworksCompilation_addExtensionAttribute(
                         newCompilation(finished()).get(), "com.halyard.activation", 0, nullptr, 0);
             }},
            {"finish_refuses_null", kNull,
             [] { return ANeuralNetworksCompilation_finish(nullptr); }},
            {"finish_refuses_a_second_call", kState,
             [] { return ANeuralNetworksCompilation_finish(compiled().get()); }},
            {"getPreferredMemoryAlignmentForInput_refuses_null", kNull,
             [] {
                 return ANeuralNetworksCompilation_getPreferredMemoryAlignmentForInput(
                         compiled().get(), 0, nullptr);
             }},
            {"getPreferredMemoryPaddingForOutput_refuses_what_is_not_finished", kState,
             [] {
                 uint32_t padding = 0;
                 return ANeuralNetworksCompilation_getPreferredMemoryPaddingForOutput(
                         newCompilation(finished()).get(), 0, &padding);
             }},
            {"getPreferredMemoryPaddingForInput_refuses_an_index_past_the_end", kData,
             [] {
                 uint32_t padding = 0;
                 return ANeuralNetworksCompilation_getPreferredMemoryPaddingForInput(
                         compiled().get(), 1, &padding);
             }},
            {"Burst_create_refuses_null", kNull,
             [] { return ANeuralNetworksBurst_create(compiled().get(), nullptr); }},
            {"Burst_create_refuses_what_is_not_finished", kState,
             [] {
                 ANeuralNetworksBurst* burst = nullptr;
                 return ANeuralNetworksBurst_create(newCompilation(finished()).get(), &burst);
             }},
    };
}
HALYARD_RULES(Compilation, compilationRules);

// ---- Executions ---------------------------------------------------------------------------------

int withExecution(const std::function<int(ANeuralNetworksExecution*)>& call,
                  const Compilation& compilation = compiled()) {
    const Execution execution = newExecution(compilation);
    return call(execution.get());
}

// Bound, and computed once.
int afterCompute(const std::function<int(ANeuralNetworksExecution*)>& call,
                 const Compilation& compilation = compiled()) {
    std::vector<float> output(2);
    const Execution execution = newExecution(compilation);
    HALYARD_EXPECT_NO_ERROR(setInput(execution, 0, kValues));
    HALYARD_EXPECT_NO_ERROR(setOutput(execution, 0, output));
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksExecution_compute(execution.get()));
    return call(execution.get());
}

std::vector<Rule> executionRules() {
    static float buffer[4] = {};
    return {
            {"create_refuses_null", kNull,
             [] { return ANeuralNetworksExecution_create(compiled().get(), nullptr); }},
            {"create_refuses_what_is_not_finished", kState,
             [] {
                 ANeuralNetworksExecution* execution = nullptr;
                 return ANeuralNetworksExecution_create(newCompilation(finished()).get(),
                                                        &execution);
             }},
            {"setInput_refuses_null", kNull,
             [] { return ANeuralNetworksExecution_setInput(nullptr, 0, nullptr, buffer, 8); }},
            {"setInput_refuses_a_null_buffer_of_bytes", kNull,
             [] {
                 return withExecution([](auto* execution) {
                     return ANeuralNetworksExecution_setInput(execution, 0, nullptr, nullptr, 8);
                 });
             }},
            {"setInput_refuses_a_second_call", kState,
             [] {
                 return withExecution([](auto* execution) {
                     HALYARD_EXPECT_NO_ERROR(
                             ANeuralNetworksExecution_setInput(execution, 0, nullptr, buffer, 8));
                     return ANeuralNetworksExecution_setInput(execution, 0, nullptr, buffer, 8);
                 });
             }},
            {"setInput_refuses_an_execution_that_is_over", kState,
             [] {
                 return afterCompute([](auto* execution) {
                     return ANeuralNetworksExecution_setInput(execution, 0, nullptr, buffer, 8);
                 });
             }},
            {"setInput_refuses_an_index_past_the_end", kData,
             [] {
                 return withExecution([](auto* execution) {
                     return ANeuralNetworksExecution_setInput(execution, 1, nullptr, buffer, 8);
                 });
             }},
            {"setInput_refuses_too_few_bytes", kData,
             [] {
                 return withExecution([](auto* execution) {
                     return ANeuralNetworksExecution_setInput(execution, 0, nullptr, buffer, 4);
                 });
             }},
            {"setInput_refuses_more_bytes_without_padding", kData,
             [] {
                 return withExecution([](auto* execution) {
                     return ANeuralNetworksExecution_setInput(execution, 0, nullptr, buffer, 16);
                 });
             }},
            {"setInput_takes_more_bytes_with_padding", kFine,
             [] {
                 return withExecution([](auto* execution) {
                     HALYARD_EXPECT_NO_ERROR(
                             ANeuralNetworksExecution_enableInputAndOutputPadding(execution, true));
                     return ANeuralNetworksExecution_setInput(execution, 0, nullptr, buffer, 16);
                 });
             }},
            {"setInput_refuses_a_buffer_of_no_bytes", kData,
             [] {
                 return withExecution([](auto* execution) {
                     return ANeuralNetworksExecution_setInput(execution, 0, nullptr, buffer, 0);
                 });
             }},
            {"setInput_refuses_another_dimension", kData,
             [] {
                 return withExecution([](auto* execution) {
                     const std::vector<uint32_t> three = {3};
                     const auto type = tensor(ANEURALNETWORKS_TENSOR_FLOAT32, three);
                     return ANeuralNetworksExecution_setInput(execution, 0, &type, buffer, 12);
                 });
             }},
            {"setOutput_refuses_null", kNull,
             [] { return ANeuralNetworksExecution_setOutput(nullptr, 0, nullptr, buffer, 8); }},
            {"setOutput_refuses_too_few_bytes", kData,
             [] {
                 return withExecution([](auto* execution) {
                     return ANeuralNetworksExecution_setOutput(execution, 0, nullptr, buffer, 4);
                 });
             }},
            {"setOutput_refuses_a_second_call", kState,
             [] {
                 return withExecution([](auto* execution) {
                     HALYARD_EXPECT_NO_ERROR(
                             ANeuralNetworksExecution_setOutput(execution, 0, nullptr, buffer, 8));
                     return ANeuralNetworksExecution_setOutput(execution, 0, nullptr, buffer, 8);
                 });
             }},
            {"setInputFromMemory_refuses_null", kNull,
             [] {
                 return withExecution([](auto* execution) {
                     return ANeuralNetworksExecution_setInputFromMemory(execution, 0, nullptr,
                                                                        nullptr, 0, 8);
                 });
             }},
            {"setInputFromMemory_refuses_a_range_past_the_end", kData,
             [] {
                 const Memory memory = pool(64);
                 return withExecution([&](auto* execution) {
                     return ANeuralNetworksExecution_setInputFromMemory(execution, 0, nullptr,
                                                                        memory.get(), 60, 8);
                 });
             }},
            {"setOutputFromMemory_refuses_a_size_that_only_the_pool_would_tell", kData,
             [] {
                 const Memory memory = pool(64);
                 return withExecution([&](auto* execution) {
                     return ANeuralNetworksExecution_setOutputFromMemory(execution, 0, nullptr,
                                                                         memory.get(), 0, 0);
                 });
             }},
            {"setMeasureTiming_refuses_several_devices", kData,
             [] {
                 return withExecution([](auto* execution) {
                     return ANeuralNetworksExecution_setMeasureTiming(execution, true);
                 });
             }},
            {"setMeasureTiming_refuses_an_execution_that_is_over", kState,
             [] {
                 return afterCompute(
                         [](auto* execution) {
                             return ANeuralNetworksExecution_setMeasureTiming(execution, true);
                         },
                         compiledForOne());
             }},
            {"setTimeout_refuses_several_devices", kData,
             [] {
                 return withExecution([](auto* execution) {
                     return ANeuralNetworksExecution_setTimeout(execution, 1);
                 });
             }},
            {"setLoopTimeout_takes_any", kFine,
             [] {
                 return withExecution([](auto* execution) {
                     return ANeuralNetworksExecution_setLoopTimeout(execution, UINT64_MAX);
                 });
             }},
            {"setReusable_refuses_an_execution_that_is_over", kState,
             [] {
                 return afterCompute([](auto* execution) {
                     return ANeuralNetworksExecution_setReusable(execution, true);
                 });
             }},
            {"enableInputAndOutputPadding_refuses_to_come_late", kState,
             [] {
                 return withExecution([](auto* execution) {
                     HALYARD_EXPECT_NO_ERROR(
                             ANeuralNetworksExecution_setInput(execution, 0, nullptr, buffer, 8));
                     return ANeuralNetworksExecution_enableInputAndOutputPadding(execution, true);
                 });
             }},
            {"compute_refuses_null", kNull,
             [] { return ANeuralNetworksExecution_compute(nullptr); }},
            {"compute_refuses_what_is_not_set", kData,
             [] { return withExecution(ANeuralNetworksExecution_compute); }},
            {"compute_refuses_a_second_time", kState,
             [] { return afterCompute(ANeuralNetworksExecution_compute); }},
            {"burstCompute_refuses_null", kNull,
             [] {
                 return withExecution([](auto* execution) {
                     return ANeuralNetworksExecution_burstCompute(execution, nullptr);
                 });
             }},
            {"startCompute_refuses_a_null_event", kNull,
             [] {
                 return withExecution([](auto* execution) {
                     return ANeuralNetworksExecution_startCompute(execution, nullptr);
                 });
             }},
            {"startCompute_refuses_what_is_not_set", kData,
             [] {
                 return withExecution([](auto* execution) {
                     auto* event = reinterpret_cast<ANeuralNetworksEvent*>(buffer);
                     const int code = ANeuralNetworksExecution_startCompute(execution, &event);
                     EXPECT_EQ(event, nullptr);
                     return code;
                 });
             }},
            {"startComputeWithDependencies_refuses_a_null_list", kNull,
             [] {
                 return withExecution([](auto* execution) {
                     ANeuralNetworksEvent* event = nullptr;
                     return ANeuralNetworksExecution_startComputeWithDependencies(
                             execution, nullptr, 1, 0, &event);
                 });
             }},
            {"startComputeWithDependencies_refuses_a_duration_on_several_devices", kData,
             [] {
                 return withExecution([](auto* execution) {
                     ANeuralNetworksEvent* event = nullptr;
                     return ANeuralNetworksExecution_startComputeWithDependencies(
                             execution, nullptr, 0, 1, &event);
                 });
             }},
            {"getDuration_refuses_an_unknown_code", kData,
             [] {
                 return withExecution([](auto* execution) {
                     uint64_t duration = 0;
                     return ANeuralNetworksExecution_getDuration(execution, 4, &duration);
                 });
             }},
            {"getDuration_refuses_what_was_not_measured", kState,
             [] {
                 return afterCompute([](auto* execution) {
                     uint64_t duration = 0;
                     const int code = ANeuralNetworksExecution_getDuration(execution, 0, &duration);
                     EXPECT_EQ(duration, UINT64_MAX);
                     return code;
                 });
             }},
            {"getOutputOperandRank_refuses_what_is_not_over", kState,
             [] {
                 return withExecution([](auto* execution) {
                     uint32_t rank = 0;
                     return ANeuralNetworksExecution_getOutputOperandRank(execution, 0, &rank);
                 });
             }},
            {"getOutputOperandRank_refuses_an_index_past_the_end", kData,
             [] {
                 return afterCompute([](auto* execution) {
                     uint32_t rank = 0;
                     return ANeuralNetworksExecution_getOutputOperandRank(execution, 1, &rank);
                 });
             }},
            {"getOutputOperandDimensions_refuses_null", kNull,
             [] {
                 return afterCompute([](auto* execution) {
                     return ANeuralNetworksExecution_getOutputOperandDimensions(execution, 0,
                                                                                nullptr);
                 });
             }},
            {"Event_wait_refuses_null", kNull, [] { return ANeuralNetworksEvent_wait(nullptr); }},
            {"Event_free_takes_null", kFine,
             [] { return ANeuralNetworksEvent_free(nullptr), kFine; }},
            {"Event_createFromSyncFenceFd_refuses_null", kNull,
             [] { return ANeuralNetworksEvent_createFromSyncFenceFd(1, nullptr); }},
            {"Event_createFromSyncFenceFd_refuses_descriptor_0", kData,
             [] {
                 ANeuralNetworksEvent* event = nullptr;
                 return ANeuralNetworksEvent_createFromSyncFenceFd(0, &event);
             }},
            {"Event_getSyncFenceFd_refuses_null", kNull,
             [] {
                 int fence = 0;
                 const int code = ANeuralNetworksEvent_getSyncFenceFd(nullptr, &fence);
                 EXPECT_EQ(fence, -1);
                 return code;
             }},
    };
}
HALYARD_RULES(Execution, executionRules);

// ---- Memories -----------------------------------------------------------------------------------

int withDescription(const std::function<int(ANeuralNetworksMemoryDesc*)>& call) {
    ANeuralNetworksMemoryDesc* made = nullptr;
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksMemoryDesc_create(&made));
    const MemoryDescription description(made);
    return call(made);
}

std::vector<Rule> memoryRules() {
    return {
            {"createFromFd_refuses_null", kNull,
             [] { return ANeuralNetworksMemory_createFromFd(8, PROT_READ, 1, 0, nullptr); }},
            {"createFromFd_refuses_a_negative_descriptor", kFailed,
             [] {
                 ANeuralNetworksMemory* memory = nullptr;
                 return ANeuralNetworksMemory_createFromFd(8, PROT_READ, -1, 0, &memory);
             }},
            {"createFromAHardwareBuffer_refuses_null", kNull,
             [] {
                 ANeuralNetworksMemory* memory = nullptr;
                 return ANeuralNetworksMemory_createFromAHardwareBuffer(nullptr, &memory);
             }},
            {"free_takes_null", kFine, [] { return ANeuralNetworksMemory_free(nullptr), kFine; }},
            {"copy_refuses_null", kNull,
             [] { return ANeuralNetworksMemory_copy(pool(8).get(), nullptr); }},
            {"copy_refuses_another_size", kData,
             [] {
                 const Memory from = pool(8);
                 const Memory to = pool(16);
                 return ANeuralNetworksMemory_copy(from.get(), to.get());
             }},
            {"copy_takes_a_memory_onto_itself", kFine,
             [] {
                 const Memory memory = pool(8);
                 return ANeuralNetworksMemory_copy(memory.get(), memory.get());
             }},
            {"Desc_create_refuses_null", kNull,
             [] { return ANeuralNetworksMemoryDesc_create(nullptr); }},
            {"Desc_free_takes_null", kFine,
             [] { return ANeuralNetworksMemoryDesc_free(nullptr), kFine; }},
            {"Desc_addInputRole_refuses_null", kNull,
             [] {
                 return withDescription([](auto* description) {
                     return ANeuralNetworksMemoryDesc_addInputRole(description, nullptr, 0, 1.0F);
                 });
             }},
            {"Desc_addInputRole_refuses_what_is_not_finished", kData,
             [] {
                 return withDescription([](auto* description) {
                     return ANeuralNetworksMemoryDesc_addInputRole(
                             description, newCompilation(finished()).get(), 0, 1.0F);
                 });
             }},
            {"Desc_addInputRole_refuses_a_role_twice", kData,
             [] {
                 return withDescription([](auto* description) {
                     HALYARD_EXPECT_NO_ERROR(ANeuralNetworksMemoryDesc_addInputRole(
                             description, compiled().get(), 0, 1.0F));
                     return ANeuralNetworksMemoryDesc_addInputRole(description, compiled().get(), 0,
                                                                   1.0F);
                 });
             }},
            {"Desc_addOutputRole_refuses_a_frequency_of_0", kData,
             [] {
                 return withDescription([](auto* description) {
                     return ANeuralNetworksMemoryDesc_addOutputRole(description, compiled().get(),
                                                                    0, 0.0F);
                 });
             }},
            {"Desc_addOutputRole_refuses_an_index_past_the_end", kData,
             [] {
                 return withDescription([](auto* description) {
                     return ANeuralNetworksMemoryDesc_addOutputRole(description, compiled().get(),
                                                                    1, 1.0F);
                 });
             }},
            {"Desc_setDimensions_refuses_null", kNull,
             [] {
                 return withDescription([](auto* description) {
                     return ANeuralNetworksMemoryDesc_setDimensions(description, 1, nullptr);
                 });
             }},
            {"Desc_setDimensions_refuses_others_than_the_roles", kData,
             [] {
                 return withDescription([](auto* description) {
                     const uint32_t three = 3;
                     HALYARD_EXPECT_NO_ERROR(ANeuralNetworksMemoryDesc_addInputRole(
                             description, compiled().get(), 0, 1.0F));
                     return ANeuralNetworksMemoryDesc_setDimensions(description, 1, &three);
                 });
             }},
            {"Desc_finish_refuses_no_role", kData,
             [] { return withDescription(ANeuralNetworksMemoryDesc_finish); }},
            {"Desc_finish_refuses_a_second_call", kState,
             [] {
                 return withDescription([](auto* description) {
                     HALYARD_EXPECT_NO_ERROR(ANeuralNetworksMemoryDesc_addInputRole(
                             description, compiled().get(), 0, 1.0F));
                     HALYARD_EXPECT_NO_ERROR(ANeuralNetworksMemoryDesc_finish(description));
                     return ANeuralNetworksMemoryDesc_finish(description);
                 });
             }},
            {"createFromDesc_refuses_what_is_not_finished", kState,
             [] {
                 return withDescription([](auto* description) {
                     ANeuralNetworksMemory* memory = nullptr;
                     return ANeuralNetworksMemory_createFromDesc(description, &memory);
                 });
             }},
    };
}
HALYARD_RULES(Memory, memoryRules);

}  // namespace
}  // namespace halyard::nnapi_test
