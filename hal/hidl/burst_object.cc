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

#include "driver/model/error_status.h"
#include "driver/model/footprint.h"
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

// An event word that says that there is data wakes the thread even where there is none. Once for a
// request is as it should be, as the word is set after the data that it tells of has been taken;
// a client that does nothing but set it would have the thread look without end.
class EmptyWakes {
  public:
    using Clock = std::chrono::steady_clock;

    // The packet came.
    void dataCame() { mInARow = 0; }
    // Nothing came of a wait from `begin` on: pauses where that has become usual.
    void nothingCame(Clock::time_point begin) {
        if (Clock::now() - begin >= kPause) {
            mInARow = 0;
        } else if (++mInARow > kUsual) {
            std::this_thread::sleep_for(kPause);
        }
    }

  private:
    static constexpr int kUsual = 4;
    static constexpr std::chrono::milliseconds kPause{1};

    int mInARow = 0;
};

// Bytes of a slot, beside its mapping: two blocks of a map and of a memory, and the allocator's
// overhead. A client has 2^32 of them to fill.
constexpr size_t kSlotBytes = 1024;

// Bytes of the service's memory that a burst takes for as long as it lasts: requests as read and as
// decoded, and results to be written.
size_t footprintOf(const MessageQueue& requests, const MessageQueue& results, size_t outputs) {
    constexpr size_t kOverhead = 4096;
    return kOverhead + requests.capacity() * (1 + kRequestBytesPerPacketByte) + results.capacity() +
           driver::resultFootprintOf(outputs);
}

}  // namespace

class BurstObject::Burst {
  public:
    Burst(std::weak_ptr<BinderProcess> process, std::shared_ptr<const driver::PreparedModel> model,
          std::shared_ptr<RemoteObject> callback, MessageQueue requests, MessageQueue results,
          Reservation place, Reservation memory)
        : mProcess(std::move(process)),
          mModel(std::move(model)),
          mCallback(std::move(callback)),
          mRequests(std::move(requests)),
          mResults(std::move(results)),
          mPlace(std::move(place)),
          mMemory(std::move(memory)) {}

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
        EmptyWakes wakes;
        while (!mStopped && mModel->client()->alive().ok()) {
            const Status read = mRequests.read(packet);
            if (read.ok() && packet.empty()) {
                const auto begin = EmptyWakes::Clock::now();
                mRequests.awaitData(kLongestSleep);
                wakes.nothingCame(begin);
                continue;
            }
            wakes.dataCame();
            driver::ExecutionResult result;
            Status asked = read.ok() ? Status() : internalError(std::string(read.message()));
            driver::Request request;
            driver::ExecuteOptions options;
            if (asked.ok()) {
                asked = readRequest(packet, request, options);
            }
            if (asked.ok()) {
                mModel->execute(request, HalVersion::V1_2, options, result);
            } else {
                result.status = asked;
            }
            if (!asked.ok() || result.status.code() == StatusCode::INTERNAL) {
                // A request that is not executed takes no slot of a scheduler: this limits their
                // rate.
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
        Reservation held;
    };

    // Given back when the thread ends: the object may stay longer.
    void giveBack() {
        std::map<int32_t, Slot> slots;
        {
            const std::lock_guard lock(mMutex);
            slots.swap(mSlots);
        }
        mMemory = {};
        mPlace = {};
    }

    // A request that has as many arguments as the model, with its pools.
    Status readRequest(std::span<const std::byte> packet, driver::Request& request,
                       driver::ExecuteOptions& options) {
        // The contract has no more to say of a packet that is none.
        const auto noPacket = [](const Status& why) {
            return internalError(std::string(why.message()));
        };
        const Result<BurstCounts> counts = readBurstCounts(packet);
        if (!counts.ok()) {
            return noPacket(counts.status());
        }
        const driver::ModelBoundary& boundary = mModel->boundary();
        if (counts->inputs != boundary.inputs.size() ||
            counts->outputs != boundary.outputs.size()) {
            return invalidArgument("a request of " + std::to_string(counts->inputs) +
                                   " inputs and " + std::to_string(counts->outputs) +
                                   " outputs, where the model has " +
                                   std::to_string(boundary.inputs.size()) + " and " +
                                   std::to_string(boundary.outputs.size()));
        }
        Result<BurstRequest> read = readBurstRequest(packet);
        if (!read.ok()) {
            return noPacket(read.status());
        }
        HALYARD_ASSIGN_OR_RETURN(read->request.pools, poolsOf(read->slots));
        request = std::move(read->request);
        options.measureTiming = read->measureTiming;
        return {};
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
            Result<Slot> slot = take(memories->view()[i], *account);
            if (!slot.ok()) {
                return slot.status().withContext("slot " + std::to_string(slots[i]));
            }
            found.emplace(slots[i], std::move(*slot));
        }
        const std::lock_guard lock(mMutex);
        mSlots.merge(found);
        return {};
    }

    // Nothing is kept that no request could use, and what is kept is paid for.
    static Result<Slot> take(const HidlMemory& wire, const driver::Account& account) {
        if (!isKnownMemory(wire.name.view())) {
            return unsupported("memory of this kind can't be mapped");
        }
        if (!nativeHandle(wire.handle).valid) {
            return invalidArgument("null handle");
        }
        Slot slot;
        HALYARD_ASSIGN_OR_RETURN(slot.held, Reservation::create(account.memory, kSlotBytes));
        slot.memory = importMemory(wire.name.view(), nativeHandle(wire.handle), wire.size,
                                   {.uses = Uses::MANY, .account = &account});
        HALYARD_ASSIGN_OR_RETURN(slot.whole, slot.memory->useWhole(&account));
        return slot;
    }

    const std::weak_ptr<BinderProcess> mProcess;
    const std::shared_ptr<const driver::PreparedModel> mModel;
    const std::shared_ptr<RemoteObject> mCallback;
    MessageQueue mRequests;
    MessageQueue mResults;
    Reservation mPlace;  // the thread's
    Reservation mMemory;
    std::atomic<bool> mStopped = false;
    std::mutex mMutex;
    std::map<int32_t, Slot> mSlots;
};

Result<std::shared_ptr<BurstObject>> BurstObject::start(
        std::weak_ptr<BinderProcess> process, std::shared_ptr<const driver::PreparedModel> model,
        std::shared_ptr<RemoteObject> callback, MessageQueue requests, MessageQueue results) {
    HALYARD_ASSIGN_OR_RETURN(Reservation place,
                             Reservation::create(model->client()->account().bursts, 1));
    HALYARD_ASSIGN_OR_RETURN(
            Reservation memory,
            Reservation::create(model->client()->account().memory,
                                footprintOf(requests, results, model->boundary().outputs.size())));
    auto burst = std::make_shared<Burst>(std::move(process), std::move(model), std::move(callback),
                                         std::move(requests), std::move(results), std::move(place),
                                         std::move(memory));
    // Detached: a client that never answers keeps the thread until it dies.
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
