// SPDX-License-Identifier: Apache-2.0

#include "driver/device.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "driver/backends.h"
#include "driver/device_state.h"
#include "driver/lowest_version.h"
#include "driver/model/validate.h"
#include "driver/prepare/support.h"

namespace halyard::driver {
namespace {

// Requests that run at the same time; each splits its work over the thread pool in turn.
constexpr size_t kExecutingSlots = 4;
constexpr size_t kPreparingSlots = 2;
constexpr size_t kSchedulerCapacity = 1024;
constexpr size_t kMaxThreads = 64;

// Below 1, or the framework would never choose the device over its own CPU path.
constexpr PerformanceInfo kPerformance = {.execTime = 0.5F, .powerUsage = 0.5F};

Capabilities makeCapabilities() {
    constexpr std::array kTypes = {
            OperandType::FLOAT32,
            OperandType::INT32,
            OperandType::UINT32,
            OperandType::TENSOR_FLOAT32,
            OperandType::TENSOR_INT32,
            OperandType::TENSOR_QUANT8_ASYMM,
            OperandType::BOOL,
            OperandType::TENSOR_QUANT16_SYMM,
            OperandType::TENSOR_FLOAT16,
            OperandType::TENSOR_BOOL8,
            OperandType::FLOAT16,
            OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL,
            OperandType::TENSOR_QUANT16_ASYMM,
            OperandType::TENSOR_QUANT8_SYMM,
            OperandType::TENSOR_QUANT8_ASYMM_SIGNED,
    };
    static_assert(std::ranges::is_sorted(kTypes));
    Capabilities capabilities = {.relaxedFloat32toFloat16PerformanceScalar = kPerformance,
                                 .relaxedFloat32toFloat16PerformanceTensor = kPerformance,
                                 .operandPerformance = {},
                                 .ifPerformance = kPerformance,
                                 .whilePerformance = kPerformance};
    for (const OperandType type : kTypes) {
        capabilities.operandPerformance.push_back({.type = type, .info = kPerformance});
    }
    return capabilities;
}

// Structure and signatures: what is quickly told, and all that makes a model invalid.
Status validate(const Model& model, HalVersion version, const PrepareOptions& options) {
    HALYARD_RETURN_IF_ERROR(validatePreference(options.preference));
    HALYARD_RETURN_IF_ERROR(validatePriority(options.priority));
    HALYARD_RETURN_IF_ERROR(validateForVersion(model, version));
    if (hasPassed(options.deadline)) {
        return {StatusCode::DEADLINE_EXCEEDED, "the deadline had passed before the start"};
    }
    return {};
}

Status validate(const Options& options) {
    if (options.threads > kMaxThreads) {
        return invalidArgument(std::to_string(options.threads) + " threads; the limit is " +
                               std::to_string(kMaxThreads));
    }
    if (options.maxMemoryMib > kMostMemoryMib) {
        return invalidArgument(std::to_string(options.maxMemoryMib) +
                               " MiB of memory; the limit is " + std::to_string(kMostMemoryMib));
    }
    return {};
}

// In bytes. Half of the machine's memory leaves the other half to the clients, whose models and
// requests lie in memory of their own, and to all else.
size_t memoryLimit(const Options& options) {
    if (options.maxMemoryMib > 0) {
        return options.maxMemoryMib << 20;
    }
    constexpr uint64_t kWhereNotTold = uint64_t{1} << 30;
    const int64_t pages = sysconf(_SC_PHYS_PAGES);
    const int64_t pageSize = sysconf(_SC_PAGESIZE);
    const uint64_t half = pages > 0 && pageSize > 0 ? static_cast<uint64_t>(pages) / 2 *
                                                              static_cast<uint64_t>(pageSize)
                                                    : kWhereNotTold;
    return static_cast<size_t>(std::min<uint64_t>(half, std::numeric_limits<size_t>::max() / 2));
}

engine::BackendList listOf(const std::vector<std::unique_ptr<const engine::Backend>>& backends) {
    engine::BackendList list;
    for (const std::unique_ptr<const engine::Backend>& backend : backends) {
        list.push_back(backend.get());
    }
    return list;
}

}  // namespace

DeviceState::DeviceState(Options deviceOptions,
                         std::vector<std::unique_ptr<const engine::Backend>> deviceBackends)
    : options(std::move(deviceOptions)),
      backends(std::move(deviceBackends)),
      backendList(listOf(backends)),
      threads(std::make_shared<ThreadPool>(options.threads)),
      idle(std::make_shared<IdleExecutions>()),
      memory(std::make_shared<Budget>(memoryLimit(options),
                                      [weak = std::weak_ptr(idle)] {
                                          if (const auto executions = weak.lock()) {
                                              executions->dropAll();
                                          }
                                      })),
      preparing(kPreparingSlots, kSchedulerCapacity),
      executing(kExecutingSlots, kSchedulerCapacity) {}

Device::Device(std::shared_ptr<DeviceState> state, Capabilities capabilities)
    : mState(std::move(state)), mCapabilities(std::move(capabilities)) {}

Device::~Device() = default;

Result<std::unique_ptr<Device>> Device::create(Options options) {
    HALYARD_RETURN_IF_ERROR(validate(options));
    HALYARD_ASSIGN_OR_RETURN(auto backends, makeBackends(options.backends));
    return create(std::move(options), std::move(backends));
}

Result<std::unique_ptr<Device>> Device::create(
        Options options, std::vector<std::unique_ptr<const engine::Backend>> backends) {
    HALYARD_RETURN_IF_ERROR(validate(options));
    auto state = std::make_shared<DeviceState>(std::move(options), std::move(backends));
    return std::unique_ptr<Device>(new Device(std::move(state), makeCapabilities()));
}

std::string_view Device::versionString() const {
    return "halyard " HALYARD_VERSION;
}

std::vector<std::string> Device::backendNames() const {
    std::vector<std::string> names;
    for (const engine::Backend* backend : mState->backendList) {
        names.emplace_back(backend->name());
    }
    return names;
}

Result<std::vector<bool>> Device::supportedOperations(const Model& model,
                                                      HalVersion version) const {
    HALYARD_RETURN_IF_ERROR(validateForVersion(model, version));
    return driver::supportedOperations(*mState, model);
}

Result<std::shared_ptr<PreparedModel>> Device::prepare(const Model& model, HalVersion version,
                                                       const PrepareOptions& options) const {
    HALYARD_RETURN_IF_ERROR(validate(model, version, options));
    return compileModel(mState, model, options);
}

Status Device::prepareAsync(Model model, HalVersion version, const PrepareOptions& options,
                            PrepareCallback callback) const {
    if (callback == nullptr) {
        return invalidArgument("prepareModel needs a callback");
    }
    const Status valid = validate(model, version, options);
    if (!valid.ok()) {
        callback(valid, nullptr);
        return valid.code() == StatusCode::INVALID_ARGUMENT ? valid : Status();
    }
    const auto shared = std::make_shared<PrepareCallback>(std::move(callback));
    auto task = [shared, options, state = mState, model = std::move(model)] {
        Result<std::shared_ptr<PreparedModel>> prepared = compileModel(state, model, options);
        if (prepared.ok()) {
            (*shared)(Status(), std::move(*prepared));
        } else {
            (*shared)(prepared.status(), nullptr);
        }
    };
    Status posted = mState->preparing.post(options.priority, std::move(task));
    if (!posted.ok()) {
        (*shared)(posted, nullptr);
    }
    return posted;
}

std::string Device::report() const {
    std::string text = "version\t" + std::string(versionString()) + "\n";
    for (const std::string& name : backendNames()) {
        text += "backend\t" + name + "\n";
    }
    text += "threads\t" + std::to_string(mState->threads->threadCount()) + "\n";
    text += "memory\t" + std::to_string(mState->memory->reserved()) + "\t" +
            std::to_string(mState->memory->limit()) + "\n";
    for (const OperationType type : mState->options.unsupportedOperations) {
        text += "unsupported_operation\t" + describe(type) + "\n";
    }
    if (!mState->options.dumpDirectory.empty()) {
        text += "dump_directory\t" + mState->options.dumpDirectory + "\n";
    }
    text += "live_models\t" + std::to_string(mState->liveModels.load()) + "\n";
    return text;
}

}  // namespace halyard::driver
