// SPDX-License-Identifier: Apache-2.0

#include "driver/device/device.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "driver/clients/charged_work.h"
#include "driver/execute/device_state.h"
#include "driver/model/error_status.h"
#include "driver/model/extensions.h"
#include "driver/model/footprint.h"
#include "driver/model/pools.h"
#include "driver/model/validate.h"
#include "driver/ops/lowest_version.h"
#include "driver/options/backends.h"
#include "driver/options/capabilities_file.h"
#include "driver/prepare/compilation_cache.h"
#include "driver/prepare/load_model.h"
#include "driver/prepare/support.h"
#include "engine/base/heap.h"
#include "engine/base/log.h"
#include "engine/base/version.h"

namespace halyard::driver {
namespace {

constexpr size_t kMaxThreads = 64;

DeviceType typeOf(const engine::Backend& backend) {
    switch (backend.deviceType()) {
        case engine::DeviceType::CPU:
            return DeviceType::CPU;
        case engine::DeviceType::GPU:
            return DeviceType::GPU;
        case engine::DeviceType::ACCELERATOR:
            return DeviceType::ACCELERATOR;
        case engine::DeviceType::OTHER:
            break;
    }
    return DeviceType::OTHER;
}

// Structure and signatures: what is quickly told, and all that makes a model invalid.
Status validate(const Model& model, HalVersion version, const PrepareOptions& options) {
    HALYARD_RETURN_IF_ERROR(validatePreference(options.preference));
    HALYARD_RETURN_IF_ERROR(validatePriority(options.priority));
    HALYARD_RETURN_IF_ERROR(validateForVersion(model, version));
    return hasPassed(options.deadline) ? deadlineHadPassed() : Status();
}

Status validate(const Options& options) {
    if (options.threads > kMaxThreads) {
        return invalidArgument(std::to_string(options.threads) + " threads; the limit is " +
                               std::to_string(kMaxThreads));
    }
    for (const size_t mib :
         {options.maxMemoryMib, options.maxClientMemoryMib, options.maxDeviceMemoryMib}) {
        if (mib > kMostMemoryMib) {
            return invalidArgument(std::to_string(mib) + " MiB of memory; the limit is " +
                                   std::to_string(kMostMemoryMib));
        }
    }
    for (const size_t limit : {options.maxPartitions, options.minNodesPerPartition}) {
        if (limit > kMostPartitionNodes) {
            return invalidArgument(std::to_string(limit) + " partitions or nodes; the limit is " +
                                   std::to_string(kMostPartitionNodes));
        }
    }
    if (options.maxRunningSeconds > kMostRunningSeconds) {
        return invalidArgument(std::to_string(options.maxRunningSeconds) +
                               " seconds; the limit is " + std::to_string(kMostRunningSeconds));
    }
    return {};
}

size_t waitingOf(const User::Shares& shares) {
    return shares.preparing->waiting() + shares.executing->waiting();
}

size_t waitingOf(const Client::Shares& shares) {
    return shares.preparing->waiting() + shares.executing->waiting() + shares.fences->waiting();
}

// The fields that clients and users have alike, in a line of the report.
template <typename Part>
std::string describeHoldings(const Part& part) {
    std::string text;
    const auto add = [&text](std::string_view name, uint64_t value) {
        text.append("\t").append(name).append("\t").append(std::to_string(value));
    };
    const Account& account = part.account();
    const auto& shares = part.shares();
    add("models", account.models->reserved());
    add("memory", account.memory->reserved());
    add("device_memory", account.deviceMemory->reserved());
    add("address_space", account.addressSpace->reserved());
    add("mappings", account.mappings->reserved());
    add("shared_memory", account.sharedMemory->reserved());
    add("descriptors", account.descriptors->reserved());
    add("tasks", account.tasks->reserved());
    add("bursts", account.bursts->reserved());
    add("waiting", waitingOf(shares));
    add("running", shares.preparing->running() + shares.executing->running());
    add("calls", shares.calls->inside());
    return text + "\n";
}

std::string describe(const Client& client) {
    return "client\tpid\t" + std::to_string(client.process().pid) + "\tuid\t" +
           std::to_string(client.process().uid) + describeHoldings(client);
}

std::string describe(const User& user) {
    return "user\tuid\t" + std::to_string(user.uid()) + "\tprocesses\t" +
           std::to_string(user.account().processes->reserved()) + describeHoldings(user);
}

}  // namespace

Device::Device(std::shared_ptr<DeviceState> state, Capabilities capabilities)
    : mState(std::move(state)), mCapabilities(std::move(capabilities)) {}

Device::~Device() = default;

Result<std::unique_ptr<Device>> Device::create(Options options) {
    HALYARD_RETURN_IF_ERROR(validate(options));
    HALYARD_ASSIGN_OR_RETURN(auto backends, makeBackends(options));
    std::shared_ptr<const CacheKey> key = openCacheKey(options);
    return create(std::move(options), std::move(backends), std::move(key));
}

Result<std::unique_ptr<Device>> Device::create(
        Options options, std::vector<std::unique_ptr<const engine::Backend>> backends,
        std::shared_ptr<const CacheKey> key) {
    HALYARD_RETURN_IF_ERROR(validate(options));
    std::vector<std::string> names;
    for (const std::unique_ptr<const engine::Backend>& backend : backends) {
        names.emplace_back(backend->name());
    }
    HALYARD_ASSIGN_OR_RETURN(PlacementPolicy placement, PlacementPolicy::create(options, names));
    Capabilities capabilities = defaultCapabilities();
    if (!options.capabilitiesFile.empty()) {
        HALYARD_ASSIGN_OR_RETURN(capabilities, readCapabilities(options.capabilitiesFile));
    }
    HALYARD_ASSIGN_OR_RETURN(std::unique_ptr<TraceMarker> marker,
                             TraceMarker::open(options.traceMarkerFile));
    auto state =
            std::make_shared<DeviceState>(std::move(options), std::move(backends),
                                          std::move(placement), std::move(marker), std::move(key));
    return std::unique_ptr<Device>(new Device(std::move(state), std::move(capabilities)));
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

NumberOfCacheFiles Device::numberOfCacheFiles() const {
    return driver::numberOfCacheFiles();
}

DeviceType Device::type() const {
    return mState->backendList.empty() ? DeviceType::OTHER : typeOf(*mState->backendList.front());
}

DeviceStatus Device::status() const {
    return mState->preparing.busy() || mState->executing.busy() ? DeviceStatus::BUSY
                                                                : DeviceStatus::AVAILABLE;
}

const std::vector<Extension>& Device::extensions() const {
    return knownExtensions();
}

Result<std::shared_ptr<Client>> Device::client(ProcessId process) const {
    return mState->clients.of(process);
}

Result<std::vector<bool>> Device::supportedOperations(const Model& model, HalVersion version,
                                                      const std::shared_ptr<Client>& client,
                                                      Verdicts* verdicts) const {
    const Status valid = validateForVersion(model, version, verdicts);
    // Where the structure is valid, what operations with valid signatures come to can be told.
    if (!valid.ok() &&
        (verdicts == nullptr || verdicts->empty() || !validateModel(model, version).ok())) {
        return valid;
    }
    const Client& asker = client == nullptr ? *mState->clients.own() : *client;
    HALYARD_ASSIGN_OR_RETURN(const CallGate::Permit permit, asker.shares().calls->enter());
    // Operations whose constants can't be mapped are not supported; the others may be.
    PoolUses pools;
    static_cast<void>(usePools(model, &asker.account(), pools));
    HALYARD_ASSIGN_OR_RETURN(const Scheduler::Slot slot,
                             asker.shares().preparing->enter(Priority::MEDIUM, std::nullopt));
    const TimeLimit limit = mState->timeLimit(std::nullopt);
    const ChargedWork work(mState->processors, asker);
    Result<std::vector<bool>> supported = driver::supportedOperations(
            *mState, asker, model, std::move(pools),
            Checkpoint(limit.deadline(), &asker.ended()).unless(work.condition()), verdicts);
    HALYARD_RETURN_IF_ERROR(valid);
    if (!supported.ok()) {
        return limit.explain(supported.status());
    }
    return supported;
}

Result<std::shared_ptr<PreparedModel>> Device::prepare(const Model& model, HalVersion version,
                                                       const PrepareOptions& options) const {
    HALYARD_RETURN_IF_ERROR(validate(model, version, options));
    noteIgnored(options.hints, "prepareModel");
    const Client& client = options.client == nullptr ? *mState->clients.own() : *options.client;
    PoolUses pools;
    HALYARD_RETURN_IF_ERROR(usePools(model, &client.account(), pools));
    Reservation held;
    const std::shared_ptr<const CompilationCache> cache = usableCache(options.cache, client, held);
    Result<std::shared_ptr<PreparedModel>> prepared =
            compileModel(mState, model, std::move(pools), options);
    if (prepared.ok() && cache != nullptr) {
        keepModel(*mState, *prepared, cache, options.deadline);
    }
    return prepared;
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
    noteIgnored(options.hints, "prepareModel");
    const std::shared_ptr<Client> client =
            options.client == nullptr ? mState->clients.own() : options.client;
    Result<Client::Admission> admission = client->admit(footprintOf(model));
    if (!admission.ok()) {
        callback(admission.status(), nullptr);
        return admission.status();
    }
    PoolUses pools;
    {
        // It works on the caller's thread, like all that asks for a permit.
        const Result<CallGate::Permit> permit = client->shares().calls->enter();
        if (!permit.ok()) {
            callback(permit.status(), nullptr);
            return permit.status();
        }
        if (const Status used = usePools(model, &client->account(), pools); !used.ok()) {
            callback(used, nullptr);
            return {};
        }
    }
    struct Preparation {
        PrepareCallback callback;
        Model model;
        PoolUses pools;
        Client::Admission admission;
        Reservation descriptors = {};  // of the cache's files
    };
    model.pools.clear();  // what is used of them is
    const auto preparation = std::make_shared<Preparation>(Preparation{
            std::move(callback), std::move(model), std::move(pools), std::move(admission).value()});
    PrepareOptions kept = options;
    kept.cache = usableCache(options.cache, *client, preparation->descriptors);
    // Hints are ignored: they need not wait with the rest.
    kept.hints = {};
    auto work = [preparation, kept = std::move(kept), state = mState](const Status& slot) {
        Result<std::shared_ptr<PreparedModel>> prepared =
                slot.ok() ? compileModel(state, preparation->model, std::move(preparation->pools),
                                         kept)
                          : slot;
        if (prepared.ok() && kept.cache != nullptr) {
            keepModel(*state, *prepared, kept.cache, kept.deadline);
        }
        // The model stands on its own now.
        preparation->model = {};
        preparation->pools = {};
        preparation->admission.memory = {};
        preparation->descriptors = {};
        preparation->callback(prepared.status(), prepared.ok() ? std::move(*prepared) : nullptr);
    };
    Status posted =
            client->shares().preparing->post(options.priority, options.deadline, std::move(work));
    if (!posted.ok()) {
        preparation->callback(posted, nullptr);
    }
    return posted;
}

Result<std::shared_ptr<PreparedModel>> Device::prepareFromCache(
        const PrepareOptions& options) const {
    if (hasPassed(options.deadline)) {
        return deadlineHadPassed();
    }
    const std::shared_ptr<Client> client =
            options.client == nullptr ? mState->clients.own() : options.client;
    HALYARD_ASSIGN_OR_RETURN(const KeptModel kept,
                             findKeptModel(*mState, client, options.cache, options.deadline));
    return loadKeptModel(mState, kept, options);
}

Status Device::prepareFromCacheAsync(const PrepareOptions& options,
                                     PrepareCallback callback) const {
    if (callback == nullptr) {
        return invalidArgument("prepareModelFromCache needs a callback");
    }
    if (hasPassed(options.deadline)) {
        callback(deadlineHadPassed(), nullptr);
        return {};
    }
    const std::shared_ptr<Client> client =
            options.client == nullptr ? mState->clients.own() : options.client;
    struct Loading {
        PrepareCallback callback;
        KeptModel kept;
        Client::Admission admission;
        Reservation descriptors;
    };
    const auto begin = [&]() -> Result<Loading> {
        Loading loading;
        HALYARD_ASSIGN_OR_RETURN(loading.admission, client->admit(sizeof(Loading)));
        HALYARD_ASSIGN_OR_RETURN(const CallGate::Permit permit, client->shares().calls->enter());
        HALYARD_ASSIGN_OR_RETURN(loading.kept,
                                 findKeptModel(*mState, client, options.cache, options.deadline));
        HALYARD_ASSIGN_OR_RETURN(loading.descriptors,
                                 Reservation::create(client->account().descriptors,
                                                     options.cache->modelFiles.size() +
                                                             options.cache->dataFiles.size()));
        return loading;
    };
    Result<Loading> begun = begin();
    if (!begun.ok()) {
        callback(begun.status(), nullptr);
        return begun.status();
    }
    const auto loading = std::make_shared<Loading>(std::move(*begun));
    loading->callback = std::move(callback);
    PrepareOptions kept = options;
    kept.hints = {};
    auto work = [loading, kept = std::move(kept), state = mState](const Status& slot) {
        Result<std::shared_ptr<PreparedModel>> prepared =
                slot.ok() ? loadKeptModel(state, loading->kept, kept) : slot;
        loading->admission.memory = {};
        loading->descriptors = {};
        loading->callback(prepared.status(), prepared.ok() ? std::move(*prepared) : nullptr);
    };
    Status posted = client->shares().preparing->post(loading->kept.priority, options.deadline,
                                                     std::move(work));
    if (!posted.ok()) {
        loading->callback(posted, nullptr);
    }
    return posted;
}

Result<std::shared_ptr<PreparedModel>> Device::load(const Memory& file,
                                                    const PrepareOptions& options) const {
    HALYARD_RETURN_IF_ERROR(validatePriority(options.priority));
    return loadModel(mState, file, options);
}

Result<std::shared_ptr<ManagedBuffer>> Device::allocate(
        const ManagedBuffer::Description& description,
        const std::shared_ptr<Client>& client) const {
    const std::shared_ptr<Client>& owner = client == nullptr ? mState->clients.own() : client;
    HALYARD_RETURN_IF_ERROR(owner->alive());
    // Filling a large one takes its time.
    HALYARD_ASSIGN_OR_RETURN(const CallGate::Permit permit, owner->shares().calls->enter());
    return mState->buffers->allocate(description, owner);
}

std::string Device::report() const {
    std::string text = "version\t" + std::string(versionString()) + "\n";
    for (const std::string& name : backendNames()) {
        text += "backend\t" + name + "\n";
    }
    text += "threads\t" + std::to_string(mState->threads->threadCount()) + "\n";
    text += "memory\t" + std::to_string(mState->account.memory->reserved()) + "\t" +
            std::to_string(mState->account.memory->limit()) + "\n";
    if (const Budget& onDevices = *mState->account.deviceMemory; onDevices.limit() > 0) {
        text += "memory_of_devices\t" + std::to_string(onDevices.reserved()) + "\t" +
                std::to_string(onDevices.limit()) + "\n";
    }
    if (const std::optional<HeapUse> heap = heapUse()) {
        text += "heap\t" + std::to_string(heap->inUse) + "\t" + std::to_string(heap->held) + "\n";
    }
    for (const OperationType type : mState->options.unsupportedOperations) {
        text += "unsupported_operation\t" + describe(type) + "\n";
    }
    if (!mState->options.dumpDirectory.empty()) {
        text += "dump_directory\t" + mState->options.dumpDirectory + "\n";
    }
    text += "live_models\t" + std::to_string(mState->liveModels.load()) + "\n";
    for (const std::shared_ptr<User>& user : mState->clients.users()) {
        text += describe(*user);
    }
    for (const std::shared_ptr<Client>& client : mState->clients.open()) {
        text += describe(*client);
    }
    return text;
}

}  // namespace halyard::driver
