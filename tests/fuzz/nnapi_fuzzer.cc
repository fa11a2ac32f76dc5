// SPDX-License-Identifier: Apache-2.0
//
// NNAPI's C functions, called in any order: objects are those that the library gave, or null, in
// any state; numbers and sizes are any, and memory is there for as long as objects that were told
// of it. What must hold: each answer is a result code that its function may give, and callbacks are
// told of what has happened, and of nothing that is null.

#include <android/NeuralNetworks.h>
#include <support_library_functions.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/choices.h"
#include "tests/fuzz/finding.h"
#include "tests/fuzz/target.h"

namespace halyard::fuzz {
namespace {

constexpr size_t kMostObjects = 12;  // of a kind, so that inputs stay small
constexpr size_t kBufferBytes = 256;

// Objects of a kind, until the end of the input.
template <typename T, void (*Free)(T*)>
class Objects {
  public:
    explicit Objects(Choices& choices) : mChoices(choices) {}
    ~Objects() {
        for (T* object : mObjects) {
            Free(object);
        }
    }
    Objects(const Objects&) = delete;
    Objects& operator=(const Objects&) = delete;

    bool isFull() const { return mObjects.size() >= kMostObjects; }
    // Where a function puts a new one; keep() takes it over.
    T** out() {
        mMade = nullptr;
        return mChoices.oneIn(64) ? nullptr : &mMade;
    }
    void keep() {
        if (mMade != nullptr) {
            mObjects.push_back(mMade);
            mMade = nullptr;
        }
    }
    // Null now and then, and where there is none.
    T* any() {
        return mObjects.empty() || mChoices.oneIn(32) ? nullptr
                                                      : mObjects[mChoices.below(mObjects.size())];
    }
    // The newest, more often than not.
    T* likely() { return !mObjects.empty() && !mChoices.oneIn(4) ? mObjects.back() : any(); }
    template <typename Visit>
    void forEach(const Visit& visit) const {
        for (T* object : mObjects) {
            visit(object);
        }
    }
    void freeOne() {
        if (mObjects.empty()) {
            Free(nullptr);
            return;
        }
        const auto place =
                mObjects.begin() + static_cast<ptrdiff_t>(mChoices.below(mObjects.size()));
        Free(*place);
        mObjects.erase(place);
    }

  private:
    Choices& mChoices;
    std::vector<T*> mObjects;
    T* mMade = nullptr;
};

// May say only that the arguments, or the order of the calls, are wrong.
void expectOfArguments(std::string_view function, int code) {
    switch (code) {
        case ANEURALNETWORKS_NO_ERROR:
        case ANEURALNETWORKS_UNEXPECTED_NULL:
        case ANEURALNETWORKS_BAD_DATA:
        case ANEURALNETWORKS_BAD_STATE:
        case ANEURALNETWORKS_OUT_OF_MEMORY:
        case ANEURALNETWORKS_UNMAPPABLE:
            return;
        default:
            report("the answer is one that the function may give",
                   std::string(function) + " gives " + std::to_string(code));
    }
}

// Asks devices.
void expectOfDevices(std::string_view function, int code) {
    switch (code) {
        case ANEURALNETWORKS_OP_FAILED:
        case ANEURALNETWORKS_UNAVAILABLE_DEVICE:
        case ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT:
        case ANEURALNETWORKS_MISSED_DEADLINE_PERSISTENT:
        case ANEURALNETWORKS_RESOURCE_EXHAUSTED_TRANSIENT:
        case ANEURALNETWORKS_RESOURCE_EXHAUSTED_PERSISTENT:
        case ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE:
            return;
        default:
            expectOfArguments(function, code);
    }
}

void onCompilation(const void* /*context*/, const ANeuralNetworksDiagnosticCompilationInfo* info) {
    require(SL_ANeuralNetworksDiagnosticCompilationInfo_getModelArchHash(info) != nullptr,
            "a compilation has a hash");
    require(*SL_ANeuralNetworksDiagnosticCompilationInfo_getDeviceIds(info) != 0,
            "a compilation has devices");
    expectOfDevices("a compilation",
                    SL_ANeuralNetworksDiagnosticCompilationInfo_getErrorCode(info));
}

void onExecution(const void* /*context*/, const ANeuralNetworksDiagnosticExecutionInfo* info) {
    require(SL_ANeuralNetworksDiagnosticExecutionInfo_getModelArchHash(info) != nullptr,
            "an execution has a hash");
    require(*SL_ANeuralNetworksDiagnosticExecutionInfo_getDeviceIds(info) != 0,
            "an execution has devices");
    expectOfDevices("an execution",
                    static_cast<int>(SL_ANeuralNetworksDiagnosticExecutionInfo_getErrorCode(info)));
    require(SL_ANeuralNetworksDiagnosticExecutionInfo_getExecutionMode(info) !=
                    ANNDIAG_EXECUTION_MODE_UNKNOWN,
            "an execution has a mode");
}

class Calls {
  public:
    explicit Calls(Choices& choices) : mChoices(choices) {}
    Calls(const Calls&) = delete;
    Calls& operator=(const Calls&) = delete;

    void make() {
        switch (mChoices.below(6)) {
            case 0:
                return onModel();
            case 1:
                return onCompilation();
            case 2:
            case 3:
                return onExecution();
            case 4:
                return onMemory();
            default:
                return onOthers();
        }
    }

  private:
    using Dimensions = std::array<uint32_t, 4>;

    uint32_t number() {
        switch (mChoices.below(8)) {
            case 0:
                return mChoices.number<uint32_t>();
            case 1:
                return ~uint32_t{0} >> mChoices.below(32);
            default:
                return static_cast<uint32_t>(mChoices.below(8));
        }
    }
    int32_t index() { return static_cast<int32_t>(number()); }
    size_t length() { return mChoices.oneIn(2) ? 24 : mChoices.below(kBufferBytes + 1); }
    // Bytes that outlive every object.
    uint8_t* buffer() {
        auto& bytes = *mBuffers.emplace_back(std::make_unique<std::array<uint8_t, kBufferBytes>>());
        const std::span<const uint8_t> content = mChoices.take(mChoices.below(32));
        std::copy(content.begin(), content.end(), bytes.begin());
        return bytes.data();
    }
    ANeuralNetworksOperandType type(Dimensions& dimensions) {
        constexpr std::array kTypes = {
                ANEURALNETWORKS_TENSOR_FLOAT32,      ANEURALNETWORKS_INT32,
                ANEURALNETWORKS_TENSOR_INT32,        ANEURALNETWORKS_TENSOR_BOOL8,
                ANEURALNETWORKS_TENSOR_QUANT8_ASYMM, ANEURALNETWORKS_MODEL};
        dimensions = {2, 3, number(), number()};
        const uint32_t rank =
                mChoices.oneIn(4) ? static_cast<uint32_t>(mChoices.below(5)) : uint32_t{2};
        const int32_t code = mChoices.oneIn(32) ? index() : mChoices.of(kTypes);
        const bool isScalar = code == ANEURALNETWORKS_INT32 || code == ANEURALNETWORKS_MODEL;
        return {.type = code,
                .dimensionCount = isScalar && !mChoices.oneIn(16) ? 0 : rank,
                .dimensions = dimensions.data(),
                .scale = code == ANEURALNETWORKS_TENSOR_QUANT8_ASYMM ? 0.5F : 0.0F,
                .zeroPoint = mChoices.oneIn(32) ? index() : 0};
    }
    const ANeuralNetworksOperandType* typeOrNull(ANeuralNetworksOperandType& type) {
        return mChoices.oneIn(4) ? &type : nullptr;
    }

    // One that is whole: the calls after it get further.
    void wholeModel() {
        ANeuralNetworksModel* model = nullptr;
        if (mModels.isFull()) {
            return;
        }
        expectOfArguments("Model_create", ANeuralNetworksModel_create(mModels.out()));
        mModels.keep();
        model = mModels.likely();
        if (model == nullptr) {
            return;
        }
        constexpr std::array kOperations = {ANEURALNETWORKS_ADD, ANEURALNETWORKS_MUL,
                                            ANEURALNETWORKS_SUB};
        const std::array<uint32_t, 2> dimensions = {mChoices.oneIn(4) ? 0U : 2U, 3};
        const ANeuralNetworksOperandType floats = {.type = ANEURALNETWORKS_TENSOR_FLOAT32,
                                                   .dimensionCount = 2,
                                                   .dimensions = dimensions.data(),
                                                   .scale = 0.0F,
                                                   .zeroPoint = 0};
        const ANeuralNetworksOperandType scalar = {.type = ANEURALNETWORKS_INT32,
                                                   .dimensionCount = 0,
                                                   .dimensions = nullptr,
                                                   .scale = 0.0F,
                                                   .zeroPoint = 0};
        const size_t count = 1 + mChoices.below(3);
        // Inputs 0 and 1, the activation 2, and a result of each operation.
        for (size_t i = 0; i < 3 + count; ++i) {
            expectOfArguments("addOperand",
                              ANeuralNetworksModel_addOperand(model, i == 2 ? &scalar : &floats));
        }
        const int32_t none = ANEURALNETWORKS_FUSED_NONE;
        expectOfArguments("setOperandValue",
                          ANeuralNetworksModel_setOperandValue(model, 2, &none, sizeof none));
        for (uint32_t i = 0; i < count; ++i) {
            const std::array<uint32_t, 3> inputs = {i == 0 ? 0 : 2 + i, 1, 2};
            const uint32_t output = 3 + i;
            expectOfArguments("addOperation",
                              ANeuralNetworksModel_addOperation(model, mChoices.of(kOperations), 3,
                                                                inputs.data(), 1, &output));
        }
        const std::array<uint32_t, 2> inputs = {0, 1};
        const auto output = static_cast<uint32_t>(2 + count);
        expectOfArguments("identifyInputsAndOutputs", ANeuralNetworksModel_identifyInputsAndOutputs(
                                                              model, 2, inputs.data(), 1, &output));
        if (!mChoices.oneIn(16)) {
            expectOfArguments("Model_finish", ANeuralNetworksModel_finish(model));
        }
    }

    void onModel() {
        if (!mChoices.oneIn(3)) {
            return wholeModel();
        }
        ANeuralNetworksModel* const model = mModels.likely();
        Dimensions dimensions;
        const std::array<uint32_t, 3> operands = {number(), number(), number()};
        switch (mChoices.below(11)) {
            case 0:
                if (!mModels.isFull()) {
                    expectOfArguments("Model_create", ANeuralNetworksModel_create(mModels.out()));
                    mModels.keep();
                }
                return;
            case 1: {
                const ANeuralNetworksOperandType described = type(dimensions);
                return expectOfArguments("addOperand",
                                         ANeuralNetworksModel_addOperand(model, &described));
            }
            case 2:
                return expectOfArguments(
                        "setOperandValue",
                        ANeuralNetworksModel_setOperandValue(model, index(), buffer(), length()));
            case 3:
                return expectOfArguments(
                        "setOperandValueFromMemory",
                        ANeuralNetworksModel_setOperandValueFromMemory(
                                model, index(), mMemories.any(), number(), length()));
            case 4:
                return expectOfArguments("setOperandValueFromModel",
                                         ANeuralNetworksModel_setOperandValueFromModel(
                                                 model, index(), mModels.any()));
            case 5:
                return expectOfArguments(
                        "addOperation",
                        ANeuralNetworksModel_addOperation(model, index(), 3, operands.data(), 1,
                                                          operands.data() + mChoices.below(3)));
            case 6:
                return expectOfArguments("identifyInputsAndOutputs",
                                         ANeuralNetworksModel_identifyInputsAndOutputs(
                                                 model, 1 + number() % 3, operands.data(), 1,
                                                 operands.data() + mChoices.below(3)));
            case 7:
                return expectOfArguments("relax",
                                         ANeuralNetworksModel_relaxComputationFloat32toFloat16(
                                                 model, mChoices.oneIn(2)));
            case 8: {
                std::array<bool, 64> supported = {};
                const ANeuralNetworksDevice* const device = anyDevice();
                return expectOfDevices("getSupportedOperationsForDevices",
                                       ANeuralNetworksModel_getSupportedOperationsForDevices(
                                               model, &device, 1, supported.data()));
            }
            case 9:
                return expectOfArguments("Model_finish", ANeuralNetworksModel_finish(model));
            default:
                return mModels.freeOne();
        }
    }

    const ANeuralNetworksDevice* anyDevice() {
        uint32_t count = 0;
        expectOfDevices("getDeviceCount", ANeuralNetworks_getDeviceCount(&count));
        ANeuralNetworksDevice* device = nullptr;
        const auto place = static_cast<uint32_t>(mChoices.below(count + 1));
        expectOfDevices("getDevice", ANeuralNetworks_getDevice(place, &device));
        return device;
    }

    void onCompilation() {
        ANeuralNetworksCompilation* const compilation = mCompilations.likely();
        switch (mChoices.below(8)) {
            case 0:
            case 1:
                if (mCompilations.isFull()) {
                    return;
                }
                if (mChoices.oneIn(2)) {
                    const std::array<const ANeuralNetworksDevice*, 2> devices = {anyDevice(),
                                                                                 anyDevice()};
                    expectOfArguments("createForDevices",
                                      ANeuralNetworksCompilation_createForDevices(
                                              mModels.likely(), devices.data(),
                                              1 + mChoices.below(2), mCompilations.out()));
                } else {
                    expectOfArguments("Compilation_create",
                                      ANeuralNetworksCompilation_create(mModels.likely(),
                                                                        mCompilations.out()));
                }
                mCompilations.keep();
                return finish(mCompilations.likely());
            case 2:
                return expectOfArguments("setPreference", ANeuralNetworksCompilation_setPreference(
                                                                  compilation, index()));
            case 3:
                return expectOfArguments(
                        "setPriority",
                        ANeuralNetworksCompilation_setPriority(
                                compilation,
                                mChoices.oneIn(4) ? index() : ANEURALNETWORKS_PRIORITY_HIGH));
            case 4:
                return expectOfArguments("Compilation_setTimeout",
                                         ANeuralNetworksCompilation_setTimeout(
                                                 compilation, mChoices.number<uint64_t>()));
            case 5: {
                uint32_t value = 0;
                expectOfArguments("getPreferredMemoryAlignmentForInput",
                                  ANeuralNetworksCompilation_getPreferredMemoryAlignmentForInput(
                                          compilation, number(), &value));
                return expectOfArguments(
                        "getPreferredMemoryPaddingForOutput",
                        ANeuralNetworksCompilation_getPreferredMemoryPaddingForOutput(
                                compilation, number(), &value));
            }
            case 6:
                return finish(compilation);
            default:
                return mCompilations.freeOne();
        }
    }

    void finish(ANeuralNetworksCompilation* compilation) {
        expectOfDevices("Compilation_finish", ANeuralNetworksCompilation_finish(compilation));
    }

    void bind(ANeuralNetworksExecution* execution, int32_t input) {
        Dimensions dimensions;
        ANeuralNetworksOperandType described = type(dimensions);
        const ANeuralNetworksOperandType* const said = typeOrNull(described);
        if (mChoices.oneIn(4)) {
            return expectOfArguments(
                    "setInputFromMemory",
                    ANeuralNetworksExecution_setInputFromMemory(
                            execution, input, said, mMemories.any(), number(), length()));
        }
        expectOfArguments("setInput", ANeuralNetworksExecution_setInput(execution, input, said,
                                                                        buffer(), length()));
    }

    void onExecution() {
        ANeuralNetworksExecution* execution = mExecutions.likely();
        switch (mChoices.below(12)) {
            case 0:
            case 1:
            case 2:
                if (mExecutions.isFull()) {
                    return;
                }
                expectOfArguments(
                        "Execution_create",
                        ANeuralNetworksExecution_create(mCompilations.likely(), mExecutions.out()));
                mExecutions.keep();
                execution = mExecutions.likely();
                if (mChoices.oneIn(4)) {
                    expectOfArguments("setReusable",
                                      ANeuralNetworksExecution_setReusable(execution, true));
                }
                bind(execution, 0);
                bind(execution, 1);
                expectOfArguments("setOutput", ANeuralNetworksExecution_setOutput(
                                                       execution, 0, nullptr, buffer(), length()));
                return compute(execution);
            case 3:
                return bind(execution, index());
            case 4:
                return expectOfArguments(
                        "setOutputFromMemory",
                        ANeuralNetworksExecution_setOutputFromMemory(
                                execution, index(), nullptr, mMemories.any(), number(), length()));
            case 5:
                expectOfArguments("setMeasureTiming", ANeuralNetworksExecution_setMeasureTiming(
                                                              execution, mChoices.oneIn(2)));
                return expectOfArguments("Execution_setTimeout",
                                         ANeuralNetworksExecution_setTimeout(
                                                 execution, mChoices.number<uint64_t>()));
            case 6:
                expectOfArguments("setLoopTimeout",
                                  ANeuralNetworksExecution_setLoopTimeout(
                                          execution, mChoices.number<uint64_t>()));
                return expectOfArguments("enableInputAndOutputPadding",
                                         ANeuralNetworksExecution_enableInputAndOutputPadding(
                                                 execution, mChoices.oneIn(2)));
            case 7: {
                uint32_t rank = 0;
                uint64_t duration = 0;
                std::array<uint32_t, 16> dimensions = {};
                const int32_t output = index();
                expectOfDevices(
                        "getOutputOperandRank",
                        ANeuralNetworksExecution_getOutputOperandRank(execution, output, &rank));
                require(rank <= dimensions.size(), "an output has few dimensions");
                expectOfDevices("getOutputOperandDimensions",
                                ANeuralNetworksExecution_getOutputOperandDimensions(
                                        execution, output, dimensions.data()));
                return expectOfDevices("getDuration", ANeuralNetworksExecution_getDuration(
                                                              execution, index(), &duration));
            }
            case 8:
                // One that runs would not be freed.
                mEvents.forEach([](ANeuralNetworksEvent* event) {
                    expectOfDevices("Event_wait", ANeuralNetworksEvent_wait(event));
                });
                return mExecutions.freeOne();
            default:
                return compute(execution);
        }
    }

    void compute(ANeuralNetworksExecution* execution) {
        const std::array<const ANeuralNetworksEvent*, 2> events = {mEvents.any(), mEvents.any()};
        switch (mChoices.below(4)) {
            case 0:
                return expectOfDevices("compute", ANeuralNetworksExecution_compute(execution));
            case 1:
                return expectOfDevices("burstCompute", ANeuralNetworksExecution_burstCompute(
                                                               execution, mBursts.any()));
            case 2:
                if (!mEvents.isFull()) {
                    expectOfDevices("startCompute", ANeuralNetworksExecution_startCompute(
                                                            execution, mEvents.out()));
                    mEvents.keep();
                }
                return;
            default:
                if (!mEvents.isFull()) {
                    expectOfDevices("startComputeWithDependencies",
                                    ANeuralNetworksExecution_startComputeWithDependencies(
                                            execution, events.data(),
                                            static_cast<uint32_t>(mChoices.below(3)),
                                            mChoices.oneIn(2) ? 0 : mChoices.number<uint64_t>(),
                                            mEvents.out()));
                    mEvents.keep();
                }
        }
    }

    void onMemory() {
        ANeuralNetworksMemoryDesc* const description = mDescriptions.likely();
        const std::array<uint32_t, 2> dimensions = {2, 3};
        switch (mChoices.below(8)) {
            case 0: {
                if (mMemories.isFull()) {
                    return;
                }
                const int fd = memfd_create("fuzz", MFD_CLOEXEC);
                (void)!ftruncate(fd, 256);
                expectOfArguments("createFromFd",
                                  ANeuralNetworksMemory_createFromFd(
                                          mChoices.oneIn(4) ? number() : 256,
                                          PROT_READ | PROT_WRITE, fd, number(), mMemories.out()));
                close(fd);
                return mMemories.keep();
            }
            case 1:
                if (!mDescriptions.isFull()) {
                    expectOfArguments("MemoryDesc_create",
                                      ANeuralNetworksMemoryDesc_create(mDescriptions.out()));
                    mDescriptions.keep();
                }
                return;
            case 2:
                return expectOfArguments("addInputRole",
                                         ANeuralNetworksMemoryDesc_addInputRole(
                                                 description, mCompilations.any(), number(),
                                                 mChoices.oneIn(8) ? 2.0F : 1.0F));
            case 3:
                return expectOfArguments("addOutputRole",
                                         ANeuralNetworksMemoryDesc_addOutputRole(
                                                 description, mCompilations.any(), number(), 0.5F));
            case 4:
                return expectOfArguments(
                        "setDimensions",
                        ANeuralNetworksMemoryDesc_setDimensions(
                                description, static_cast<uint32_t>(mChoices.below(3)),
                                dimensions.data()));
            case 5:
                expectOfArguments("MemoryDesc_finish",
                                  ANeuralNetworksMemoryDesc_finish(description));
                if (!mMemories.isFull()) {
                    expectOfDevices("createFromDesc", ANeuralNetworksMemory_createFromDesc(
                                                              description, mMemories.out()));
                    mMemories.keep();
                }
                return;
            case 6:
                return expectOfDevices("Memory_copy", ANeuralNetworksMemory_copy(mMemories.any(),
                                                                                 mMemories.any()));
            default:
                return mDescriptions.freeOne();
        }
    }

    void onOthers() {
        switch (mChoices.below(7)) {
            case 0:
                if (!mBursts.isFull()) {
                    expectOfDevices("Burst_create", ANeuralNetworksBurst_create(
                                                            mCompilations.likely(), mBursts.out()));
                    mBursts.keep();
                }
                return;
            case 1:
                return mBursts.freeOne();
            case 2: {
                if (mEvents.isFull()) {
                    return;
                }
                // Signalled, as a wait for it would be without end.
                const int fence = eventfd(1, EFD_CLOEXEC);
                expectOfArguments("createFromSyncFenceFd",
                                  ANeuralNetworksEvent_createFromSyncFenceFd(
                                          mChoices.oneIn(16) ? -1 : fence, mEvents.out()));
                mFences.push_back(fence);
                return mEvents.keep();
            }
            case 3: {
                int fence = -1;
                expectOfArguments("getSyncFenceFd",
                                  ANeuralNetworksEvent_getSyncFenceFd(mEvents.any(), &fence));
                if (fence >= 0) {
                    close(fence);
                }
                return;
            }
            case 4:
                return expectOfDevices("Event_wait", ANeuralNetworksEvent_wait(mEvents.any()));
            case 5:
                return mEvents.freeOne();
            default: {
                const char* name = nullptr;
                int64_t level = 0;
                int32_t type = 0;
                const ANeuralNetworksDevice* const device = anyDevice();
                expectOfArguments("Device_getName", ANeuralNetworksDevice_getName(device, &name));
                expectOfArguments("Device_getType", ANeuralNetworksDevice_getType(device, &type));
                return expectOfArguments("Device_getFeatureLevel",
                                         ANeuralNetworksDevice_getFeatureLevel(device, &level));
            }
        }
    }

    Choices& mChoices;
    // Freed last: what objects were told of.
    std::vector<std::unique_ptr<std::array<uint8_t, kBufferBytes>>> mBuffers;
    struct Fences : std::vector<int> {
        Fences() = default;
        ~Fences() {
            for (const int each : *this) {
                close(each);
            }
        }
        Fences(const Fences&) = delete;
        Fences& operator=(const Fences&) = delete;
    } mFences;
    Objects<ANeuralNetworksMemory, ANeuralNetworksMemory_free> mMemories{mChoices};
    Objects<ANeuralNetworksMemoryDesc, ANeuralNetworksMemoryDesc_free> mDescriptions{mChoices};
    Objects<ANeuralNetworksModel, ANeuralNetworksModel_free> mModels{mChoices};
    Objects<ANeuralNetworksCompilation, ANeuralNetworksCompilation_free> mCompilations{mChoices};
    Objects<ANeuralNetworksBurst, ANeuralNetworksBurst_free> mBursts{mChoices};
    Objects<ANeuralNetworksExecution, ANeuralNetworksExecution_free> mExecutions{mChoices};
    Objects<ANeuralNetworksEvent, ANeuralNetworksEvent_free> mEvents{mChoices};
};

// Before the first call: two devices that each refuse operations, and the reference.
const bool kHasDevices = setenv("HALYARD_NNAPI_DEVICES",
                                "in-process --name adds -u MUL --number-of-threads 1;"
                                "in-process --name multiplies -u ADD --number-of-threads 1",
                                1) == 0;

}  // namespace

void run(std::span<const uint8_t> bytes) {
    require(kHasDevices, "the devices can be named");
    SL_ANeuralNetworksDiagnostic_registerCallbacks(onCompilation, onExecution, nullptr);
    Choices choices(bytes);
    Calls calls(choices);
    while (!choices.empty()) {
        calls.make();
    }
}

}  // namespace halyard::fuzz
