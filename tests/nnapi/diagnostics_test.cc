// SPDX-License-Identifier: Apache-2.0
//
// What a support library tells the callbacks that are registered with it: once for each compilation
// and each computation, what every getter answers.

#include <support_library_functions.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tests/nnapi/c_objects.h"
#include "tests/nnapi/compute_modes.h"

namespace halyard::nnapi_test {
namespace {

using Hash = std::array<uint8_t, 32>;

struct Told {
    int32_t session = 0;
    int64_t level = 0;
    Hash hash = {};
    std::string devices;
    int64_t error = -1;
    ANeuralNetworksDiagnosticDataClass inputs = ANNDIAG_DATA_CLASS_UNKNOWN;
    ANeuralNetworksDiagnosticDataClass outputs = ANNDIAG_DATA_CLASS_UNKNOWN;
    bool isCached = false;
    bool hasControlFlow = false;
    bool isDynamic = false;
    // Of a compilation: the first alone. Of an execution: hardware, driver, runtime, and its mode.
    uint64_t took = 0;
    uint64_t inDriver = 0;
    uint64_t onHardware = 0;
    ANeuralNetworksDiagnosticExecutionMode mode = ANNDIAG_EXECUTION_MODE_UNKNOWN;

    void keep(const uint8_t* modelHash, const char* names) {
        ASSERT_NE(modelHash, nullptr);
        ASSERT_NE(names, nullptr);
        std::copy_n(modelHash, hash.size(), hash.begin());
        devices = names;
    }
};

struct Heard {
    std::vector<Told> compilations;
    std::vector<Told> executions;
};

#define HALYARD_TOLD(told, Info, info)                                                    \
    (told).session = SL_ANeuralNetworksDiagnostic##Info##_getSessionId(info);             \
    (told).level = SL_ANeuralNetworksDiagnostic##Info##_getNnApiVersion(info);            \
    (told).keep(SL_ANeuralNetworksDiagnostic##Info##_getModelArchHash(info),              \
                SL_ANeuralNetworksDiagnostic##Info##_getDeviceIds(info));                 \
    (told).error = SL_ANeuralNetworksDiagnostic##Info##_getErrorCode(info);               \
    (told).inputs = SL_ANeuralNetworksDiagnostic##Info##_getInputDataClass(info);         \
    (told).outputs = SL_ANeuralNetworksDiagnostic##Info##_getOutputDataClass(info);       \
    (told).isCached = SL_ANeuralNetworksDiagnostic##Info##_isCachingEnabled(info);        \
    (told).hasControlFlow = SL_ANeuralNetworksDiagnostic##Info##_isControlFlowUsed(info); \
    (told).isDynamic = SL_ANeuralNetworksDiagnostic##Info##_areDynamicTensorsUsed(info)

// They are handed their context as const, and mean it to be the program's own.
Heard& heardBy(const void* context) {
    return *static_cast<Heard*>(const_cast<void*>(context));
}

void onCompilation(const void* context, const ANeuralNetworksDiagnosticCompilationInfo* info) {
    Told told;
    HALYARD_TOLD(told, CompilationInfo, info);
    told.took = SL_ANeuralNetworksDiagnosticCompilationInfo_getCompilationTimeNanos(info);
    heardBy(context).compilations.push_back(told);
}

void onExecution(const void* context, const ANeuralNetworksDiagnosticExecutionInfo* info) {
    Told told;
    HALYARD_TOLD(told, ExecutionInfo, info);
    told.mode = SL_ANeuralNetworksDiagnosticExecutionInfo_getExecutionMode(info);
    told.took = SL_ANeuralNetworksDiagnosticExecutionInfo_getRuntimeExecutionTimeNanos(info);
    told.inDriver = SL_ANeuralNetworksDiagnosticExecutionInfo_getDriverExecutionTimeNanos(info);
    told.onHardware = SL_ANeuralNetworksDiagnosticExecutionInfo_getHardwareExecutionTimeNanos(info);
    heardBy(context).executions.push_back(told);
}

constexpr uint64_t kUnknown = UINT64_MAX;
const std::vector<uint32_t> kLengthTwo = {2};

Model sumOf(int32_t type, const std::vector<uint32_t>& dimensions,
            int32_t code = ANEURALNETWORKS_ADD, float scale = 0.0F) {
    ModelText text;
    const uint32_t a = text.operand(tensor(type, dimensions, scale));
    const uint32_t b = text.operand(tensor(type, dimensions, scale));
    const uint32_t sum = text.operand(tensor(type, dimensions, scale));
    text.operation(code, {a, b, text.number(ANEURALNETWORKS_FUSED_NONE)}, {sum});
    text.identify({a, b}, {sum});
    return text.finish();
}

Model floatSum(int32_t code = ANEURALNETWORKS_ADD) {
    return sumOf(ANEURALNETWORKS_TENSOR_FLOAT32, kLengthTwo, code);
}

class NnapiDiagnostics : public testing::Test {
  protected:
    NnapiDiagnostics() { listen(); }
    ~NnapiDiagnostics() override {
        SL_ANeuralNetworksDiagnostic_registerCallbacks(nullptr, nullptr, nullptr);
    }

    void listen() {
        SL_ANeuralNetworksDiagnostic_registerCallbacks(onCompilation, onExecution, &heard);
    }
    // Of an execution that is bound to these.
    Execution bound(const Compilation& compilation) {
        Execution execution = newExecution(compilation);
        HALYARD_EXPECT_NO_ERROR(setInput(execution, 0, mA));
        HALYARD_EXPECT_NO_ERROR(setInput(execution, 1, mB));
        HALYARD_EXPECT_NO_ERROR(setOutput(execution, 0, sum));
        return execution;
    }
    Told toldOf(const Model& model) {
        heard = {};
        compile(model);
        EXPECT_EQ(heard.compilations.size(), 1U);
        return heard.compilations.empty() ? Told() : heard.compilations.front();
    }

    Heard heard;
    std::vector<float> sum = std::vector<float>(2);

  private:
    const std::vector<float> mA = {1, 2};
    const std::vector<float> mB = {10, 20};
};

TEST_F(NnapiDiagnostics, TellOfACompilation) {
    const Model model = floatSum();
    const auto before = std::chrono::steady_clock::now();
    const Compilation compilation = compile(model, {"whole"});
    const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - before;
    ASSERT_EQ(heard.compilations.size(), 1U);
    EXPECT_TRUE(heard.executions.empty());
    const Told& told = heard.compilations.front();
    EXPECT_GT(told.session, 0);
    EXPECT_EQ(told.level, ANeuralNetworks_getRuntimeFeatureLevel());
    EXPECT_NE(told.hash, Hash());
    EXPECT_EQ(told.error, ANEURALNETWORKS_NO_ERROR);
    EXPECT_EQ(told.inputs, ANNDIAG_DATA_CLASS_FLOAT32);
    EXPECT_EQ(told.outputs, ANNDIAG_DATA_CLASS_FLOAT32);
    EXPECT_FALSE(told.isCached);
    EXPECT_FALSE(told.hasControlFlow);
    EXPECT_FALSE(told.isDynamic);
    EXPECT_GT(told.took, 0U);
    EXPECT_LE(told.took, static_cast<uint64_t>(took.count()));
}

// "name=version", sorted whatever the order that the program gives them in.
TEST_F(NnapiDiagnostics, NameTheDevices) {
    const char* version = nullptr;
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksDevice_getVersion(deviceNamed("whole"), &version));
    const std::string equals = std::string("=") + version;
    compile(floatSum(), {"whole"});
    compile(floatSum(), {"whole", "adds"});
    ASSERT_EQ(heard.compilations.size(), 2U);
    EXPECT_EQ(heard.compilations[0].devices, "whole" + equals);
    EXPECT_EQ(heard.compilations[1].devices, "adds" + equals + ",whole" + equals);
}

TEST_F(NnapiDiagnostics, TellOfEveryWayOfComputing) {
    const Compilation compilation = compile(floatSum(), {"whole"});
    for (const ComputeMode way : kComputeModes) {
        HALYARD_EXPECT_NO_ERROR(computeIn(way, compilation, bound(compilation)));
    }
    std::vector<ANeuralNetworksDiagnosticExecutionMode> modes;
    for (const Told& told : heard.executions) {
        modes.push_back(told.mode);
        const Told& compiled = heard.compilations.front();
        EXPECT_EQ(told.session, compiled.session);
        EXPECT_EQ(told.level, compiled.level);
        EXPECT_EQ(told.hash, compiled.hash);
        EXPECT_EQ(told.devices, compiled.devices);
        EXPECT_EQ(told.error, ANEURALNETWORKS_NO_ERROR);
        EXPECT_EQ(told.inputs, ANNDIAG_DATA_CLASS_FLOAT32);
        EXPECT_EQ(told.outputs, ANNDIAG_DATA_CLASS_FLOAT32);
        EXPECT_FALSE(told.isCached || told.hasControlFlow || told.isDynamic);
        EXPECT_GT(told.took, 0U);
        // Nobody has asked for them to be measured.
        EXPECT_EQ(told.inDriver, kUnknown);
        EXPECT_EQ(told.onHardware, kUnknown);
    }
    // Of a reusable execution each computation is told.
    EXPECT_EQ(modes,
              (std::vector{ANNDIAG_EXECUTION_MODE_SYNC, ANNDIAG_EXECUTION_MODE_ASYNC,
                           ANNDIAG_EXECUTION_MODE_ASYNC_WITH_DEPS, ANNDIAG_EXECUTION_MODE_BURST,
                           ANNDIAG_EXECUTION_MODE_SYNC, ANNDIAG_EXECUTION_MODE_SYNC}));
}

TEST_F(NnapiDiagnostics, TellTimesThatLieInOneAnother) {
    const Compilation compilation = compile(floatSum(), {"whole"});
    const Execution execution = bound(compilation);
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksExecution_setMeasureTiming(execution.get(), true));
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksExecution_compute(execution.get()));
    ASSERT_EQ(heard.executions.size(), 1U);
    const Told& told = heard.executions.front();
    EXPECT_LE(told.onHardware, told.inDriver);
    EXPECT_LE(told.inDriver, told.took);
    EXPECT_LT(told.took, kUnknown);
    for (const auto& [code, expected] :
         {std::pair(ANEURALNETWORKS_DURATION_IN_DRIVER, told.inDriver),
          std::pair(ANEURALNETWORKS_DURATION_ON_HARDWARE, told.onHardware)}) {
        uint64_t duration = 0;
        HALYARD_EXPECT_NO_ERROR(
                ANeuralNetworksExecution_getDuration(execution.get(), code, &duration));
        EXPECT_EQ(duration, expected);
    }
}

TEST_F(NnapiDiagnostics, TellOfACompilationThatFails) {
    ModelText text;
    const uint32_t a = text.floats(kLengthTwo);
    const uint32_t product = text.binary(ANEURALNETWORKS_MUL, a, a, kLengthTwo);
    text.identify({a}, {product});
    const Model model = text.finish();
    const Compilation compilation = newCompilation(model, {"adds"});
    EXPECT_EQ(ANeuralNetworksCompilation_finish(compilation.get()), ANEURALNETWORKS_BAD_DATA);
    ASSERT_EQ(heard.compilations.size(), 1U);
    EXPECT_EQ(heard.compilations.front().error, ANEURALNETWORKS_BAD_DATA);
    EXPECT_EQ(heard.compilations.front().devices.substr(0, 5), "adds=");
    EXPECT_GT(heard.compilations.front().took, 0U);
    // A call that is no compilation is none.
    EXPECT_EQ(ANeuralNetworksCompilation_finish(compilation.get()), ANEURALNETWORKS_BAD_STATE);
    EXPECT_EQ(heard.compilations.size(), 1U);
}

// Its times are not those of the computation before it.
TEST_F(NnapiDiagnostics, TellOfAnExecutionThatFails) {
    const Compilation compilation = compile(sumOf(ANEURALNETWORKS_TENSOR_FLOAT32, {0}), {"whole"});
    const std::vector<float> values = {1, 2, 3};
    for (const size_t capacity : {3U, 2U}) {
        const std::vector<uint32_t> shape = {3};
        const auto type = tensor(ANEURALNETWORKS_TENSOR_FLOAT32, shape);
        const Execution execution = newExecution(compilation);
        std::vector<float> output(capacity);
        HALYARD_EXPECT_NO_ERROR(setInput(execution, 0, values, &type));
        HALYARD_EXPECT_NO_ERROR(setInput(execution, 1, values, &type));
        HALYARD_EXPECT_NO_ERROR(setOutput(execution, 0, output));
        HALYARD_EXPECT_NO_ERROR(ANeuralNetworksExecution_setMeasureTiming(execution.get(), true));
        const int expected =
                capacity == 3 ? ANEURALNETWORKS_NO_ERROR : ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE;
        EXPECT_EQ(ANeuralNetworksExecution_compute(execution.get()), expected);
        ASSERT_FALSE(heard.executions.empty());
        EXPECT_EQ(heard.executions.back().error, expected);
        EXPECT_TRUE(heard.executions.back().isDynamic);
        EXPECT_EQ(heard.executions.back().inDriver == kUnknown, capacity == 2);
    }
    EXPECT_EQ(heard.executions.size(), 2U);
}

// The fence that it waits for has an error: a pipe that nothing reads.
TEST_F(NnapiDiagnostics, TellOfAnExecutionWhoseFenceFails) {
    const Compilation compilation = compile(floatSum(), {"whole"});
    const Execution execution = bound(compilation);
    std::array<int, 2> ends = {};
    ASSERT_EQ(pipe(ends.data()), 0);
    ANeuralNetworksEvent* fence = nullptr;
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksEvent_createFromSyncFenceFd(ends[1], &fence));
    const Event dependency(fence);
    close(ends[0]);
    close(ends[1]);
    ANeuralNetworksEvent* made = nullptr;
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksExecution_startComputeWithDependencies(
            execution.get(), &fence, 1, 0, &made));
    const Event event(made);
    EXPECT_EQ(ANeuralNetworksEvent_wait(made), ANEURALNETWORKS_OP_FAILED);
    ASSERT_EQ(heard.executions.size(), 1U);
    EXPECT_EQ(heard.executions.front().error, ANEURALNETWORKS_OP_FAILED);
    EXPECT_EQ(heard.executions.front().mode, ANNDIAG_EXECUTION_MODE_ASYNC_WITH_DEPS);
    EXPECT_EQ(heard.executions.front().hash, heard.compilations.front().hash);
    EXPECT_EQ(heard.executions.front().inDriver, kUnknown);
}

// The first compilation writes the files, the second reads them.
TEST_F(NnapiDiagnostics, TellWhetherThereIsACache) {
    std::string folder = testing::TempDir() + "diagnostics-XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    const std::array<uint8_t, ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN> token = {1};
    const Model model = floatSum();
    for (int round = 0; round < 2; ++round) {
        const Compilation compilation = newCompilation(model, {"whole"});
        HALYARD_EXPECT_NO_ERROR(ANeuralNetworksCompilation_setCaching(
                compilation.get(), folder.c_str(), token.data()));
        HALYARD_EXPECT_NO_ERROR(ANeuralNetworksCompilation_finish(compilation.get()));
        HALYARD_EXPECT_NO_ERROR(ANeuralNetworksExecution_compute(bound(compilation).get()));
    }
    ASSERT_EQ(heard.compilations.size(), 2U);
    ASSERT_EQ(heard.executions.size(), 2U);
    for (size_t i = 0; i < 2; ++i) {
        EXPECT_TRUE(heard.compilations[i].isCached);
        EXPECT_TRUE(heard.executions[i].isCached);
        EXPECT_EQ(heard.compilations[i].hash, heard.compilations[0].hash);
    }
    std::filesystem::remove_all(folder);
}

TEST_F(NnapiDiagnostics, TellWhatClassOfDataThereIs) {
    struct Row {
        int32_t type;
        float scale;
        ANeuralNetworksDiagnosticDataClass expected;
    };
    for (const Row& row :
         {Row{ANEURALNETWORKS_TENSOR_FLOAT32, 0.0F, ANNDIAG_DATA_CLASS_FLOAT32},
          Row{ANEURALNETWORKS_TENSOR_FLOAT16, 0.0F, ANNDIAG_DATA_CLASS_FLOAT16},
          Row{ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, 0.5F, ANNDIAG_DATA_CLASS_QUANT},
          Row{ANEURALNETWORKS_TENSOR_QUANT8_ASYMM_SIGNED, 0.5F, ANNDIAG_DATA_CLASS_QUANT},
          Row{ANEURALNETWORKS_TENSOR_INT32, 0.0F, ANNDIAG_DATA_CLASS_OTHER}}) {
        const Told told = toldOf(sumOf(row.type, kLengthTwo, ANEURALNETWORKS_ADD, row.scale));
        EXPECT_EQ(told.inputs, row.expected) << row.type;
        EXPECT_EQ(told.outputs, row.expected) << row.type;
    }
    ModelText text;
    const uint32_t a = text.floats(kLengthTwo);
    const uint32_t indices = text.operand(tensor(ANEURALNETWORKS_TENSOR_INT32, kLengthTwo));
    const uint32_t gathered = text.floats(kLengthTwo);
    text.operation(ANEURALNETWORKS_GATHER, {a, text.number(0), indices}, {gathered});
    text.identify({a, indices}, {gathered});
    const Told mixed = toldOf(text.finish());
    EXPECT_EQ(mixed.inputs, ANNDIAG_DATA_CLASS_MIXED);
    EXPECT_EQ(mixed.outputs, ANNDIAG_DATA_CLASS_FLOAT32);
}

TEST_F(NnapiDiagnostics, TellOfControlFlowAndOfDynamicTensors) {
    EXPECT_TRUE(toldOf(sumOf(ANEURALNETWORKS_TENSOR_FLOAT32, {0})).isDynamic);
    EXPECT_TRUE(toldOf(sumOf(ANEURALNETWORKS_TENSOR_FLOAT32, {})).isDynamic);
    const Model branches = floatSum();
    ModelText text;
    const std::vector<uint32_t> one = {1};
    const uint32_t condition = text.operand(tensor(ANEURALNETWORKS_TENSOR_BOOL8, one));
    const uint32_t a = text.floats(kLengthTwo);
    const uint32_t result = text.floats(kLengthTwo);
    const uint32_t inner = text.operand(scalar(ANEURALNETWORKS_MODEL));
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksModel_setOperandValueFromModel(
            text.get(), static_cast<int32_t>(inner), branches.get()));
    text.operation(ANEURALNETWORKS_IF, {condition, inner, inner, a, a}, {result});
    text.identify({condition, a}, {result});
    const Told told = toldOf(text.finish());
    EXPECT_TRUE(told.hasControlFlow);
    EXPECT_FALSE(told.isDynamic);
    EXPECT_EQ(told.inputs, ANNDIAG_DATA_CLASS_MIXED);
}

// Of what a model is made of, and of nothing that it holds.
TEST_F(NnapiDiagnostics, HashAModelsArchitecture) {
    const auto biased = [](float bias) {
        ModelText text;
        const uint32_t a = text.floats(kLengthTwo);
        text.identify({a}, {text.binary(ANEURALNETWORKS_ADD, a,
                                        text.constant(kLengthTwo, {bias, bias}), kLengthTwo)});
        return text.finish();
    };
    const Hash hash = toldOf(biased(1)).hash;
    EXPECT_EQ(toldOf(biased(2)).hash, hash);
    std::vector<Hash> hashes = {hash, toldOf(floatSum()).hash,
                                toldOf(floatSum(ANEURALNETWORKS_MUL)).hash,
                                toldOf(sumOf(ANEURALNETWORKS_TENSOR_FLOAT32, {3})).hash,
                                toldOf(sumOf(ANEURALNETWORKS_TENSOR_FLOAT16, kLengthTwo)).hash};
    std::ranges::sort(hashes);
    EXPECT_EQ(std::ranges::adjacent_find(hashes), hashes.end());
}

// A program may begin to listen when its models are compiled.
TEST_F(NnapiDiagnostics, TellAsMuchOfWhatWasCompiledBefore) {
    SL_ANeuralNetworksDiagnostic_registerCallbacks(nullptr, nullptr, nullptr);
    const Compilation compilation = compile(floatSum(), {"whole"});
    EXPECT_TRUE(heard.compilations.empty());
    listen();
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksExecution_compute(bound(compilation).get()));
    ASSERT_EQ(heard.executions.size(), 1U);
    const Told told = heard.executions.front();
    EXPECT_EQ(told.devices.substr(0, 6), "whole=");
    EXPECT_EQ(told.inputs, ANNDIAG_DATA_CLASS_FLOAT32);
    EXPECT_EQ(told.hash, toldOf(floatSum()).hash);
}

TEST_F(NnapiDiagnostics, AreToldWhereTheyAreWanted) {
    const auto compileAndCompute = [this] {
        const Compilation compilation = compile(floatSum(), {"whole"});
        HALYARD_EXPECT_NO_ERROR(ANeuralNetworksExecution_compute(bound(compilation).get()));
    };
    SL_ANeuralNetworksDiagnostic_registerCallbacks(onCompilation, nullptr, &heard);
    compileAndCompute();
    EXPECT_EQ(heard.compilations.size(), 1U);
    EXPECT_TRUE(heard.executions.empty());
    SL_ANeuralNetworksDiagnostic_registerCallbacks(nullptr, onExecution, &heard);
    compileAndCompute();
    EXPECT_EQ(heard.compilations.size(), 1U);
    EXPECT_EQ(heard.executions.size(), 1U);
    // The newest context is the one.
    Heard other;
    SL_ANeuralNetworksDiagnostic_registerCallbacks(onCompilation, onExecution, &other);
    compileAndCompute();
    EXPECT_EQ(heard.compilations.size() + heard.executions.size(), 2U);
    EXPECT_EQ(other.compilations.size() + other.executions.size(), 2U);
}

// A callback is no place that the library holds a lock in.
TEST_F(NnapiDiagnostics, MayBeEndedByACallback) {
    SL_ANeuralNetworksDiagnostic_registerCallbacks(
            [](const void* context, const ANeuralNetworksDiagnosticCompilationInfo* info) {
                onCompilation(context, info);
                SL_ANeuralNetworksDiagnostic_registerCallbacks(nullptr, nullptr, nullptr);
                compile(floatSum(), {"whole"});
            },
            nullptr, &heard);
    compile(floatSum(), {"whole"});
    compile(floatSum(), {"whole"});
    EXPECT_EQ(heard.compilations.size(), 1U);
}

}  // namespace
}  // namespace halyard::nnapi_test
