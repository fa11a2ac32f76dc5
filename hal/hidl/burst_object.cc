// SPDX-License-Identifier: Apache-2.0

#include "hal/hidl/burst_object.h"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "driver/error_status.h"
#include "engine/base/log.h"
#include "hal/hidl/burst_packets.h"
#include "hal/hidl/callbacks.h"
#include "hal/hidl/hidl_memory.h"
#include "hal/hidl/types.h"
#include "hal/memory/shared_memory.h"

namespace halyard::hal::hidl {

using driver::ErrorStatus;
using driver::HalVersion;
using nn::v1_2::IBurstCallback;
using nn::v1_2::IBurstContext;

namespace {

// A client that clears the event word itself is noticed so late at most.
constexpr std::chrono::seconds kLongestSleep{1};
constexpr std::chrono::milliseconds kBetweenFailures{1};

}  // namespace

class BurstObject::Burst {
  public:
    Burst(std::weak_ptr<BinderProcess> process, std::shared_ptr<const driver::PreparedModel> model,
          std::shared_ptr<RemoteObject> callback, MessageQueue requests, MessageQueue results,
          Reservation place)
        : mProcess(std::move(process)),
          mModel(std::move(model)),
          mCallback(std::move(callback)),
          mRequests(std::move(requests)),
          mResults(std::move(results)),
          mPlace(std::move(place)) {}

    void stop() {
        mStopped = true;
        mRequests.wake();
    }

    void forget(int32_t slot) {
        Slot last;  // its end may take its time
        const std::lock_guard lock(mMutex);
        if (const auto found = mSlots.find(slot); found != mSlots.end()) {
            last = std::move(found->second);
            mSlots.erase(found);
        }
    }

    static void* runOwned(void* burst) {
        const std::unique_ptr<std::shared_ptr<Burst>> own(
                static_cast<std::shared_ptr<Burst>*>(burst));
        (*own)->run();
        (*own)->giveBack();
        return nullptr;
    }

    void run() {
        std::vector<std::byte> packet;
        while (!mStopped && mModel->client()->alive().ok()) {
            const Status read = mRequests.read(packet);
            if (read.ok() && packet.empty()) {
                mRequests.awaitData(kLongestSleep);
                continue;
            }
            driver::ExecutionResult result;
            if (read.ok()) {
                serve(packet, result);
            } else {
                result.status = internalError(std::string(read.message()));
            }
            if (result.status.code() == StatusCode::INTERNAL) {
                // What is no packet takes no turn of a scheduler, and comes no faster than this.
                std::this_thread::sleep_for(kBetweenFailures);
            }
            if (!result.status.ok()) {
                log(LogLevel::WARNING, "burst: " + result.status.toString());
            }
            answer(result);
        }
    }

  private:
    struct Slot {
        driver::SharedMemory memory;
        driver::MemoryUse whole;  // what requests use lies in it
    };

    // What the thread has taken, once it ends: the object may stay longer.
    void giveBack() {
        std::map<int32_t, Slot> slots;
        {
            const std::lock_guard lock(mMutex);
            slots.swap(mSlots);
        }
        mPlace = {};
    }

    void serve(std::span<const std::byte> packet, driver::ExecutionResult& result) {
        Result<BurstRequest> request = readBurstRequest(packet);
        if (!request.ok()) {
            // The contract has no more to say of a packet that is none.
            result.status = internalError(std::string(request.status().message()));
            return;
        }
        Result<std::vector<driver::RequestPool>> pools = poolsOf(request->slots);
        if (!pools.ok()) {
            result.status = pools.status();
            return;
        }
        request->request.pools = std::move(*pools);
        driver::ExecuteOptions options;
        options.measureTiming = request->measureTiming;
        mModel->execute(request->request, HalVersion::V1_2, options, result);
    }

    void answer(const driver::ExecutionResult& result) {
        if (mResults.write(writeBurstResult(result))) {
            return;
        }
        driver::ExecutionResult failure;
        failure.status = internalError("the result does not fit into the queue");
        log(LogLevel::WARNING, "burst: " + failure.status.toString());
        static_cast<void>(mResults.write(writeBurstResult(failure)));
    }

    Result<std::vector<driver::RequestPool>> poolsOf(const std::vector<int32_t>& slots) {
        std::set<int32_t> unknown;
        {
            const std::lock_guard lock(mMutex);
            for (const int32_t slot : slots) {
                if (!mSlots.contains(slot)) {
                    unknown.insert(slot);
                }
            }
        }
        if (!unknown.empty()) {
            HALYARD_RETURN_IF_ERROR(ask({unknown.begin(), unknown.end()}));
        }
        std::vector<driver::RequestPool> pools;
        const std::lock_guard lock(mMutex);
        for (const int32_t slot : slots) {
            const auto found = mSlots.find(slot);
            if (found == mSlots.end()) {
                return internalError("slot " + std::to_string(slot) + " was freed meanwhile");
            }
            pools.emplace_back(found->second.memory);
        }
        return pools;
    }

    // Asks the client for the memory of these slots, and keeps it in use.
    Status ask(const std::vector<int32_t>& slots) {
        const std::shared_ptr<BinderProcess> process = mProcess.lock();
        if (process == nullptr) {
            return {StatusCode::UNAVAILABLE, "the service ends"};
        }
        ParcelWriter arguments;
        writeRequestHead(arguments, IBurstCallback::layout(), IBurstCallback::getMemories);
        writeValue(arguments, makeVec(arguments, slots));
        HALYARD_ASSIGN_OR_RETURN(
                const std::unique_ptr<Reply> reply,
                process->transact(mCallback, IBurstCallback::getMemories, arguments));
        ParcelReader& reader = reply->reader();
        HALYARD_RETURN_IF_ERROR(readReplyHead(reader));
        HALYARD_ASSIGN_OR_RETURN(const ErrorStatus status, readEnum<ErrorStatus>(reader));
        HALYARD_ASSIGN_OR_RETURN(const auto* memories, readValue<HidlVec<HidlMemory>>(reader));
        if (status != ErrorStatus::NONE || memories->count != slots.size()) {
            return internalError("getMemories gives " + std::to_string(memories->count) +
                                 " memories for " + std::to_string(slots.size()) + " slots");
        }
        const driver::Account* const account = &mModel->client()->account();
        std::map<int32_t, Slot> found;
        for (size_t i = 0; i < slots.size(); ++i) {
            const HidlMemory& wire = memories->view()[i];
            Slot slot = {
                    .memory = importMemory(std::string(wire.name.view()), nativeHandle(wire.handle),
                                           wire.size, {.uses = Uses::MANY, .account = account}),
                    .whole = {}};
            Result<driver::MemoryUse> whole = slot.memory->useWhole(account);
            if (!whole.ok()) {
                return whole.status().withContext("slot " + std::to_string(slots[i]));
            }
            slot.whole = std::move(*whole);
            found.emplace(slots[i], std::move(slot));
        }
        const std::lock_guard lock(mMutex);
        mSlots.merge(found);
        return {};
    }

    const std::weak_ptr<BinderProcess> mProcess;
    const std::shared_ptr<const driver::PreparedModel> mModel;
    const std::shared_ptr<RemoteObject> mCallback;
    MessageQueue mRequests;
    MessageQueue mResults;
    Reservation mPlace;  // the thread's
    std::atomic<bool> mStopped = false;
    std::mutex mMutex;
    std::map<int32_t, Slot> mSlots;
};

Result<std::shared_ptr<BurstObject>> BurstObject::start(
        std::weak_ptr<BinderProcess> process, std::shared_ptr<const driver::PreparedModel> model,
        std::shared_ptr<RemoteObject> callback, MessageQueue requests, MessageQueue results) {
    HALYARD_ASSIGN_OR_RETURN(Reservation place,
                             Reservation::create(model->client()->account().bursts, 1));
    auto burst = std::make_shared<Burst>(std::move(process), std::move(model), std::move(callback),
                                         std::move(requests), std::move(results), std::move(place));
    // Nobody waits for it: a client that never answers keeps it until it dies.
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    auto own = std::make_unique<std::shared_ptr<Burst>>(burst);
    pthread_t thread = {};
    const int error = pthread_create(&thread, &attributes, &Burst::runOwned, own.get());
    pthread_attr_destroy(&attributes);
    if (error != 0) {
        return Status(StatusCode::RESOURCE_EXHAUSTED, "no thread is left for a burst");
    }
    static_cast<void>(own.release());  // the thread's now
    return std::shared_ptr<BurstObject>(new BurstObject(std::move(burst)));
}

BurstObject::BurstObject(std::shared_ptr<Burst> burst)
    : HidlObject(IBurstContext::layout()), mBurst(std::move(burst)) {}

BurstObject::~BurstObject() {
    mBurst->stop();
}

void BurstObject::onLastRelease() {
    mBurst->stop();
}

Status BurstObject::serve(uint32_t /*code*/, Call& call) {
    HALYARD_ASSIGN_OR_RETURN(const int32_t slot, call.arguments.readInt32());
    HALYARD_RETURN_IF_ERROR(call.endArguments().status());
    mBurst->forget(slot);
    return {};
}

}  // namespace halyard::hal::hidl
