// SPDX-License-Identifier: Apache-2.0

#include "harness/device/ndk/device.h"

#include <sys/mman.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "driver/model/extensions.h"
#include "harness/device/ndk/library.h"
#include "harness/device/ndk/model.h"

namespace halyard::ndk {
namespace {

using driver::ExecuteOptions;
using driver::ExecutionResult;
using driver::HalVersion;

// What belongs to a library: given back to it at the end.
template <typename T>
class Owned {
  public:
    Owned(std::shared_ptr<const Library> library, void (*free)(T*))
        : mLibrary(std::move(library)), mFree(free) {}
    ~Owned() { mFree(mObject); }
    Owned(const Owned&) = delete;
    Owned& operator=(const Owned&) = delete;

    T** out() { return &mObject; }
    T* get() const { return mObject; }
    T* release() { return std::exchange(mObject, nullptr); }

  private:
    const std::shared_ptr<const Library> mLibrary;
    void (*const mFree)(T*);
    T* mObject = nullptr;
};

// Shared memory that the library was told of, by its descriptor.
class Memories {
  public:
    explicit Memories(std::shared_ptr<const Library> library) : mLibrary(std::move(library)) {}
    ~Memories() {
        for (const auto& [memory, known] : mKnown) {
            mLibrary->ANeuralNetworksMemory_free(known.object);
        }
    }
    Memories(const Memories&) = delete;
    Memories& operator=(const Memories&) = delete;

    // Null: it has no descriptor of its own.
    Result<ANeuralNetworksMemory*> of(const driver::SharedMemory& memory) {
        const driver::MemoryHandle* const handle = memory->handle();
        if (handle == nullptr || handle->descriptors.size() != 1 || !handle->numbers.empty()) {
            return static_cast<ANeuralNetworksMemory*>(nullptr);
        }
        const std::lock_guard lock(mMutex);
        Known& known = mKnown[memory.get()];
        if (known.object == nullptr) {
            HALYARD_RETURN_IF_ERROR(statusOf(mLibrary->ANeuralNetworksMemory_createFromFd(
                                                     memory->size(), PROT_READ | PROT_WRITE,
                                                     handle->descriptors.front(), 0, &known.object),
                                             "Memory_createFromFd"));
            known.memory = memory;
        }
        return known.object;
    }

  private:
    struct Known {
        driver::SharedMemory memory;  // so that its address stays its own
        ANeuralNetworksMemory* object = nullptr;
    };

    const std::shared_ptr<const Library> mLibrary;
    std::mutex mMutex;
    std::map<const driver::Memory*, Known> mKnown;
};

// What all executions of a model share.
struct Compiled {
    Compiled(std::shared_ptr<const BuiltModel> of, const ANeuralNetworksDevice* on)
        : model(std::move(of)),
          device(on),
          object(model->library, model->library->ANeuralNetworksCompilation_free),
          memories(model->library) {}

    const Library& library() const { return *model->library; }

    const std::shared_ptr<const BuiltModel> model;
    const ANeuralNetworksDevice* const device;  // null: those that the library chose
    Owned<ANeuralNetworksCompilation> object;
    Memories memories;
};

using CompiledModel = std::shared_ptr<Compiled>;

uint64_t remaining(const Deadline& deadline) {
    const auto left = *deadline - std::chrono::steady_clock::now();
    return static_cast<uint64_t>(std::max<int64_t>(
            std::chrono::duration_cast<std::chrono::nanoseconds>(left).count(), 1));
}

class Execution {
  public:
    explicit Execution(CompiledModel compiled)
        : mCompiled(std::move(compiled)),
          mObject(mCompiled->model->library, mCompiled->library().ANeuralNetworksExecution_free) {}

    Status prepare(const driver::Request& request, const ExecuteOptions& options, bool isReusable) {
        const Library& library = mCompiled->library();
        HALYARD_RETURN_IF_ERROR(statusOf(
                library.ANeuralNetworksExecution_create(mCompiled->object.get(), mObject.out()),
                "Execution_create"));
        if (isReusable) {
            HALYARD_RETURN_IF_ERROR(
                    statusOf(library.ANeuralNetworksExecution_setReusable(mObject.get(), true),
                             "setReusable"));
        }
        const auto isPadded = [](const driver::RequestArgument& argument) {
            return argument.location.padding > 0;
        };
        if (std::ranges::any_of(request.inputs, isPadded) ||
            std::ranges::any_of(request.outputs, isPadded)) {
            HALYARD_RETURN_IF_ERROR(
                    statusOf(library.ANeuralNetworksExecution_enableInputAndOutputPadding(
                                     mObject.get(), true),
                             "enableInputAndOutputPadding"));
        }
        if (mCompiled->device != nullptr) {
            if (options.measureTiming) {
                HALYARD_RETURN_IF_ERROR(statusOf(
                        library.ANeuralNetworksExecution_setMeasureTiming(mObject.get(), true),
                        "setMeasureTiming"));
            }
            if (options.deadline.has_value()) {
                HALYARD_RETURN_IF_ERROR(
                        statusOf(library.ANeuralNetworksExecution_setTimeout(
                                         mObject.get(), remaining(options.deadline)),
                                 "setTimeout"));
            }
        }
        if (options.loopTimeout != driver::kDefaultLoopTimeout) {
            HALYARD_RETURN_IF_ERROR(statusOf(
                    library.ANeuralNetworksExecution_setLoopTimeout(
                            mObject.get(), static_cast<uint64_t>(options.loopTimeout.count())),
                    "setLoopTimeout"));
        }
        mMeasures = options.measureTiming && mCompiled->device != nullptr;
        mOutputs = request.outputs.size();
        for (size_t i = 0; i < request.inputs.size(); ++i) {
            HALYARD_RETURN_IF_ERROR(bind(request, true, i));
        }
        for (size_t i = 0; i < request.outputs.size(); ++i) {
            HALYARD_RETURN_IF_ERROR(bind(request, false, i));
        }
        return {};
    }

    ANeuralNetworksExecution* get() const { return mObject.get(); }

    // What it answered, and what can be asked then.
    ExecutionResult result(Status status) const {
        const Library& library = mCompiled->library();
        ExecutionResult result;
        result.status = std::move(status);
        const bool isTooSmall = result.status.code() == StatusCode::OUTPUT_TOO_SMALL;
        if (!result.status.ok() && !isTooSmall) {
            return result;
        }
        for (size_t i = 0; i < mOutputs; ++i) {
            const auto index = static_cast<int32_t>(i);
            uint32_t rank = 0;
            const int code =
                    library.ANeuralNetworksExecution_getOutputOperandRank(get(), index, &rank);
            driver::OutputShape& shape = result.outputShapes.emplace_back();
            shape.isSufficient = code != ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE;
            shape.dimensions.resize(rank);
            if (rank > 0) {
                static_cast<void>(library.ANeuralNetworksExecution_getOutputOperandDimensions(
                        get(), index, shape.dimensions.data()));
            }
        }
        if (mMeasures && result.status.ok()) {
            result.timing.timeOnDevice = duration(ANEURALNETWORKS_DURATION_ON_HARDWARE);
            result.timing.timeInDriver = duration(ANEURALNETWORKS_DURATION_IN_DRIVER);
        }
        return result;
    }

  private:
    driver::Duration duration(int32_t code) const {
        uint64_t nanoseconds = UINT64_MAX;
        static_cast<void>(mCompiled->library().ANeuralNetworksExecution_getDuration(get(), code,
                                                                                    &nanoseconds));
        return nanoseconds == UINT64_MAX ? driver::Duration()
                                         : driver::Duration(std::chrono::nanoseconds(nanoseconds));
    }

    Status bind(const driver::Request& request, bool isInput, size_t index) {
        const Library& library = mCompiled->library();
        const driver::RequestArgument& argument =
                isInput ? request.inputs[index] : request.outputs[index];
        const auto number = static_cast<int32_t>(index);
        const driver::Subgraph& main = mCompiled->model->source.main;
        const std::vector<uint32_t>& boundary = isInput ? main.inputIndexes : main.outputIndexes;
        ANeuralNetworksOperandType type = {};
        const bool hasType = !argument.dimensions.empty() && index < boundary.size();
        if (hasType) {
            const driver::Operand& operand = main.operands[boundary[index]];
            type = {.type = static_cast<int32_t>(operand.type),
                    .dimensionCount = static_cast<uint32_t>(argument.dimensions.size()),
                    .dimensions = argument.dimensions.data(),
                    .scale = operand.scale,
                    .zeroPoint = operand.zeroPoint};
        }
        const ANeuralNetworksOperandType* const said = hasType ? &type : nullptr;
        const driver::DataLocation& location = argument.location;
        const size_t length = location.length + location.padding;
        const auto bindPointer = [&](uint8_t* bytes, size_t size) {
            return isInput ? statusOf(library.ANeuralNetworksExecution_setInput(get(), number, said,
                                                                                bytes, size),
                                      "setInput")
                           : statusOf(library.ANeuralNetworksExecution_setOutput(get(), number,
                                                                                 said, bytes, size),
                                      "setOutput");
        };
        if (argument.hasNoValue) {
            return bindPointer(nullptr, 0);
        }
        if (!isInput && length == 0) {
            // No elements will come; a buffer of no bytes would be no buffer.
            return bindPointer(&mNoElements, 1);
        }
        const auto* const pool =
                location.poolIndex < request.pools.size()
                        ? std::get_if<driver::SharedMemory>(&request.pools[location.poolIndex])
                        : nullptr;
        if (pool == nullptr || *pool == nullptr) {
            return invalidArgument("an argument lies in no memory that a program has");
        }
        HALYARD_ASSIGN_OR_RETURN(ANeuralNetworksMemory* const memory,
                                 mCompiled->memories.of(*pool));
        if (memory != nullptr) {
            return isInput ? statusOf(library.ANeuralNetworksExecution_setInputFromMemory(
                                              get(), number, said, memory, location.offset, length),
                                      "setInputFromMemory")
                           : statusOf(library.ANeuralNetworksExecution_setOutputFromMemory(
                                              get(), number, said, memory, location.offset, length),
                                      "setOutputFromMemory");
        }
        if (location.offset > (*pool)->size() || length > (*pool)->size() - location.offset) {
            return invalidArgument("an argument lies outside of its pool");
        }
        HALYARD_ASSIGN_OR_RETURN(const std::span<uint8_t> bytes, (*pool)->map());
        return bindPointer(bytes.data() + location.offset, length);
    }

    const CompiledModel mCompiled;
    Owned<ANeuralNetworksExecution> mObject;
    size_t mOutputs = 0;
    bool mMeasures = false;
    uint8_t mNoElements = 0;
};

ExecutionResult failed(Status status) {
    ExecutionResult result;
    result.status = std::move(status);
    return result;
}

class NdkBurst final : public driver::IBurst {
  public:
    explicit NdkBurst(CompiledModel compiled)
        : mCompiled(std::move(compiled)),
          mObject(mCompiled->model->library, mCompiled->library().ANeuralNetworksBurst_free) {}

    Status open() {
        return statusOf(mCompiled->library().ANeuralNetworksBurst_create(mCompiled->object.get(),
                                                                         mObject.out()),
                        "Burst_create");
    }
    ExecutionResult execute(const driver::Request& request, std::span<const int64_t> /*known*/,
                            const ExecuteOptions& options) override {
        Execution execution(mCompiled);
        if (Status status = execution.prepare(request, options, false); !status.ok()) {
            return failed(std::move(status));
        }
        return execution.result(statusOf(mCompiled->library().ANeuralNetworksExecution_burstCompute(
                                                 execution.get(), mObject.get()),
                                         "burstCompute"));
    }
    // The library knows its memories by their objects.
    Status releaseMemory(int64_t /*identifier*/) override { return {}; }

  private:
    const CompiledModel mCompiled;
    Owned<ANeuralNetworksBurst> mObject;
};

class NdkExecution final : public driver::IExecution {
  public:
    explicit NdkExecution(CompiledModel compiled)
        : mCompiled(compiled), mExecution(std::move(compiled)) {}

    Status open(const driver::Request& request, const ExecuteOptions& options) {
        return mExecution.prepare(request, options, true);
    }
    ExecutionResult execute(const Deadline& /*deadline*/) override {
        return mExecution.result(
                statusOf(mCompiled->library().ANeuralNetworksExecution_compute(mExecution.get()),
                         "compute"));
    }
    Result<driver::FencedExecution> executeFenced(const driver::Fences& /*waitFor*/,
                                                  const Deadline& /*deadline*/,
                                                  const driver::Duration& /*after*/) override {
        return unsupported("a reusable execution behind fences is not told through C");
    }

  private:
    const CompiledModel mCompiled;
    Execution mExecution;
};

class NdkPreparedModel final : public driver::IPreparedModel {
  public:
    explicit NdkPreparedModel(CompiledModel compiled) : mCompiled(std::move(compiled)) {}

    ExecutionResult execute(const driver::Request& request,
                            const ExecuteOptions& options) override {
        Execution execution(mCompiled);
        if (Status status = execution.prepare(request, options, false); !status.ok()) {
            return failed(std::move(status));
        }
        return execution.result(statusOf(
                mCompiled->library().ANeuralNetworksExecution_compute(execution.get()), "compute"));
    }

    // The callback runs before this returns. A support library has no startCompute.
    Status executeAsync(driver::Request request, const ExecuteOptions& options,
                        driver::ExecuteCallback callback) override {
        const Library& library = mCompiled->library();
        Execution execution(mCompiled);
        Status status = execution.prepare(request, options, false);
        Owned<ANeuralNetworksEvent> event(mCompiled->model->library,
                                          library.ANeuralNetworksEvent_free);
        if (status.ok() && library.ANeuralNetworksExecution_startCompute == nullptr) {
            status = statusOf(library.ANeuralNetworksExecution_compute(execution.get()), "compute");
        } else if (status.ok()) {
            status = statusOf(
                    library.ANeuralNetworksExecution_startCompute(execution.get(), event.out()),
                    "startCompute");
            if (status.ok()) {
                status = statusOf(library.ANeuralNetworksEvent_wait(event.get()), "Event_wait");
            }
        }
        const bool isInvalid = status.code() == StatusCode::INVALID_ARGUMENT;
        callback(execution.result(status));
        return isInvalid ? status : Status();
    }

    Result<driver::FencedExecution> executeFenced(const driver::Request& request,
                                                  const ExecuteOptions& options) override {
        const Library& library = mCompiled->library();
        auto execution = std::make_shared<Execution>(mCompiled);
        HALYARD_RETURN_IF_ERROR(execution->prepare(request, options, false));
        std::vector<std::unique_ptr<Owned<ANeuralNetworksEvent>>> owned;
        std::vector<const ANeuralNetworksEvent*> dependencies;
        for (const auto& fence : options.waitFor) {
            auto& event = owned.emplace_back(std::make_unique<Owned<ANeuralNetworksEvent>>(
                    mCompiled->model->library, library.ANeuralNetworksEvent_free));
            HALYARD_RETURN_IF_ERROR(statusOf(
                    library.ANeuralNetworksEvent_createFromSyncFenceFd(fence->get(), event->out()),
                    "createFromSyncFenceFd"));
            dependencies.push_back(event->get());
        }
        const uint64_t after = options.durationAfterFences.has_value()
                                       ? static_cast<uint64_t>(options.durationAfterFences->count())
                                       : 0;
        Owned<ANeuralNetworksEvent> event(mCompiled->model->library,
                                          library.ANeuralNetworksEvent_free);
        HALYARD_RETURN_IF_ERROR(
                statusOf(library.ANeuralNetworksExecution_startComputeWithDependencies(
                                 execution->get(), dependencies.data(),
                                 static_cast<uint32_t>(dependencies.size()), after, event.out()),
                         "startComputeWithDependencies"));
        const Status status = statusOf(library.ANeuralNetworksEvent_wait(event.get()), "wait");
        HALYARD_RETURN_IF_ERROR(status);
        return driver::FencedExecution{
                .done = nullptr, .info = [result = execution->result(status)] {
                    return driver::FencedExecution::Info{.status = result.status,
                                                         .launched = result.timing,
                                                         .fenced = result.timing};
                }};
    }

    Result<std::shared_ptr<driver::IBurst>> makeBurst() override {
        auto burst = std::make_shared<NdkBurst>(mCompiled);
        HALYARD_RETURN_IF_ERROR(burst->open());
        return std::shared_ptr<driver::IBurst>(std::move(burst));
    }

    Result<std::shared_ptr<driver::IExecution>> makeExecution(
            const driver::Request& request, const ExecuteOptions& options) override {
        auto execution = std::make_shared<NdkExecution>(mCompiled);
        HALYARD_RETURN_IF_ERROR(execution->open(request, options));
        return std::shared_ptr<driver::IExecution>(std::move(execution));
    }

    std::string report() override { return ""; }

  private:
    const CompiledModel mCompiled;
};

class NdkDevice final : public driver::IDevice {
  public:
    NdkDevice(std::shared_ptr<const Library> library,
              std::vector<const ANeuralNetworksDevice*> devices, bool isChosen, HalVersion version)
        : mLibrary(std::move(library)),
          mDevices(std::move(devices)),
          mIsChosen(isChosen),
          mVersion(version) {}

    HalVersion version() const override { return mVersion; }
    Result<std::string> versionString() override {
        const char* version = nullptr;
        HALYARD_RETURN_IF_ERROR(
                statusOf(mLibrary->ANeuralNetworksDevice_getVersion(mDevices.front(), &version),
                         "getVersion"));
        return std::string(version);
    }
    Result<driver::DeviceType> type() override {
        int32_t type = 0;
        HALYARD_RETURN_IF_ERROR(statusOf(
                mLibrary->ANeuralNetworksDevice_getType(mDevices.front(), &type), "getType"));
        return static_cast<driver::DeviceType>(type);
    }
    // The functions tell none.
    Result<driver::Capabilities> capabilities() override { return driver::Capabilities(); }
    Result<driver::DeviceStatus> status() override {
        return unsupported("NNAPI's C functions tell no status");
    }
    // By the names that this program knows: there is no list of them.
    Result<std::vector<driver::Extension>> extensions() override {
        std::vector<driver::Extension> found;
        for (const driver::Extension& known : driver::knownExtensions()) {
            bool has = false;
            if (mLibrary->ANeuralNetworksDevice_getExtensionSupport != nullptr &&
                mLibrary->ANeuralNetworksDevice_getExtensionSupport(
                        mDevices.front(), known.name.c_str(), &has) == ANEURALNETWORKS_NO_ERROR &&
                has) {
                found.push_back(known);
            }
        }
        return found;
    }

    Result<std::vector<bool>> supportedOperations(const driver::Model& model) override {
        HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<const BuiltModel> built,
                                 build(mLibrary, model));
        const size_t count = model.main.operations.size();
        const auto flags = std::make_unique<bool[]>(count);
        HALYARD_RETURN_IF_ERROR(
                statusOf(mLibrary->ANeuralNetworksModel_getSupportedOperationsForDevices(
                                 built->whole(), mDevices.data(),
                                 static_cast<uint32_t>(mDevices.size()), flags.get()),
                         "getSupportedOperationsForDevices"));
        return std::vector<bool>(flags.get(), flags.get() + count);
    }

    Result<std::shared_ptr<driver::IPreparedModel>> prepare(
            const driver::Model& model, const driver::PrepareOptions& options) override {
        HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<const BuiltModel> built, build(mLibrary, model));
        auto compiled = std::make_shared<Compiled>(std::move(built),
                                                   mIsChosen ? mDevices.front() : nullptr);
        ANeuralNetworksCompilation** const out = compiled->object.out();
        HALYARD_RETURN_IF_ERROR(
                mIsChosen ? statusOf(mLibrary->ANeuralNetworksCompilation_createForDevices(
                                             compiled->model->whole(), mDevices.data(), 1, out),
                                     "createForDevices")
                          : statusOf(mLibrary->ANeuralNetworksCompilation_create(
                                             compiled->model->whole(), out),
                                     "Compilation_create"));
        HALYARD_RETURN_IF_ERROR(statusOf(mLibrary->ANeuralNetworksCompilation_setPreference(
                                                 *out, static_cast<int32_t>(options.preference)),
                                         "setPreference"));
        if (mLibrary->ANeuralNetworksCompilation_setPriority != nullptr) {
            const int priority =
                    options.priority == driver::Priority::LOW    ? ANEURALNETWORKS_PRIORITY_LOW
                    : options.priority == driver::Priority::HIGH ? ANEURALNETWORKS_PRIORITY_HIGH
                                                                 : ANEURALNETWORKS_PRIORITY_MEDIUM;
            HALYARD_RETURN_IF_ERROR(
                    statusOf(mLibrary->ANeuralNetworksCompilation_setPriority(*out, priority),
                             "setPriority"));
        }
        if (options.deadline.has_value() && mIsChosen) {
            HALYARD_RETURN_IF_ERROR(statusOf(mLibrary->ANeuralNetworksCompilation_setTimeout(
                                                     *out, remaining(options.deadline)),
                                             "Compilation_setTimeout"));
        }
        HALYARD_RETURN_IF_ERROR(
                statusOf(mLibrary->ANeuralNetworksCompilation_finish(*out), "Compilation_finish"));
        return std::shared_ptr<driver::IPreparedModel>(
                std::make_shared<NdkPreparedModel>(std::move(compiled)));
    }

    Status prepareAsync(driver::Model model, const driver::PrepareOptions& options,
                        driver::PreparedCallback callback) override {
        Result<std::shared_ptr<driver::IPreparedModel>> prepared = prepare(model, options);
        const Status status = prepared.status();
        callback(status, prepared.ok() ? *std::move(prepared) : nullptr);
        return status.code() == StatusCode::INVALID_ARGUMENT ? status : Status();
    }

    Result<driver::NumberOfCacheFiles> numberOfCacheFiles() override {
        return unsupported("the library names its own files");
    }
    Result<std::shared_ptr<driver::IPreparedModel>> prepareFromCache(
            const driver::PrepareOptions& /*options*/) override {
        return unsupported("the library opens its own files");
    }
    Status prepareFromCacheAsync(const driver::PrepareOptions& /*options*/,
                                 driver::PreparedCallback callback) override {
        callback(unsupported("the library opens its own files"), nullptr);
        return {};
    }
    Result<std::shared_ptr<driver::IBuffer>> allocate(
            const driver::BufferDescription& /*description*/) override {
        return unsupported("memory of a library's device has no token");
    }

    Status ping() override { return {}; }
    Result<std::string> report() override { return std::string(); }

  private:
    const std::shared_ptr<const Library> mLibrary;
    const std::vector<const ANeuralNetworksDevice*> mDevices;
    const bool mIsChosen;  // the first of them alone
    const HalVersion mVersion;
};

Result<HalVersion> versionOf(int64_t level) {
    for (const HalVersion version : driver::allVersions()) {
        if (static_cast<int64_t>(featureLevelOf(version)) == level) {
            return version;
        }
    }
    return internalError("the device is of feature level " + std::to_string(level));
}

}  // namespace

Result<std::shared_ptr<driver::IDevice>> openLibrary(const LibraryAddress& address) {
    HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<const Library> library,
                             load(address.path, address.isSupportLibrary));
    uint32_t count = 0;
    HALYARD_RETURN_IF_ERROR(
            statusOf(library->ANeuralNetworks_getDeviceCount(&count), "getDeviceCount")
                    .withCode(StatusCode::UNAVAILABLE));
    std::vector<const ANeuralNetworksDevice*> devices;
    std::string names;
    int64_t level = 0;
    const bool isChosen = address.isSupportLibrary || !address.device.empty();
    for (uint32_t i = 0; i < count; ++i) {
        ANeuralNetworksDevice* device = nullptr;
        const char* name = nullptr;
        int64_t own = 0;
        HALYARD_RETURN_IF_ERROR(
                statusOf(library->ANeuralNetworks_getDevice(i, &device), "getDevice"));
        HALYARD_RETURN_IF_ERROR(
                statusOf(library->ANeuralNetworksDevice_getName(device, &name), "getName"));
        HALYARD_RETURN_IF_ERROR(statusOf(
                library->ANeuralNetworksDevice_getFeatureLevel(device, &own), "getFeatureLevel"));
        names.append(names.empty() ? "" : ", ").append(name);
        const bool isMeant = address.device.empty() || address.device == name;
        if (isMeant && (!isChosen || devices.empty())) {
            devices.push_back(device);
            level = std::max(level, own);
        }
    }
    if (devices.empty()) {
        return Status(StatusCode::UNAVAILABLE,
                      address.device.empty()
                              ? "the library has no device"
                              : "the library has no device " + address.device + ", but " + names);
    }
    HALYARD_ASSIGN_OR_RETURN(const HalVersion version, versionOf(level));
    return std::shared_ptr<driver::IDevice>(
            std::make_shared<NdkDevice>(std::move(library), std::move(devices), isChosen, version));
}

}  // namespace halyard::ndk
