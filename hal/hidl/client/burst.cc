// SPDX-License-Identifier: Apache-2.0

#include "hal/hidl/client/burst.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "hal/client/answers.h"
#include "hal/client/sendable.h"
#include "hal/hidl/burst_packets.h"
#include "hal/hidl/client/own_queue.h"
#include "hal/hidl/client/wire_pools.h"
#include "hal/hidl/hidl_object.h"
#include "hal/hidl/types.h"
#include "hal/memory/shared_memory.h"

namespace halyard::hal::hidl {
namespace {

using driver::ErrorStatus;
using nn::v1_2::FmqRequestDatum;
using nn::v1_2::FmqResultDatum;
using nn::v1_2::IBurstCallback;
using nn::v1_2::IBurstContext;

// How often a service that does not answer is looked after.
constexpr std::chrono::milliseconds kLook{200};
// In data; as NNAPI's own runtime has them.
constexpr size_t kQueueLength = 1024;

// What the service asks for memory by slots. Thread-safe.
class SlotMemories : public HidlObject {
  public:
    SlotMemories() : HidlObject(IBurstCallback::layout()) {}

    void put(int32_t slot, driver::SharedMemory memory) {
        const std::lock_guard lock(mMutex);
        mMemories[slot] = std::move(memory);
    }
    void forget(int32_t slot) {
        const std::lock_guard lock(mMutex);
        mMemories.erase(slot);
    }

  protected:
    Status serve(uint32_t /*code*/, Call& call) override {
        HALYARD_ASSIGN_OR_RETURN(const auto* wire, readValue<HidlVec<int32_t>>(call.arguments));
        const std::vector<int32_t> slots(wire->view().begin(), wire->view().end());
        HALYARD_ASSIGN_OR_RETURN(auto* reply, call.endArguments());
        std::vector<HidlMemory> memories;
        bool known = true;
        const std::lock_guard lock(mMutex);
        for (const int32_t slot : slots) {
            const auto found = mMemories.find(slot);
            known = known && found != mMemories.end();
            if (known) {
                memories.push_back(wireMemory(*reply, *found->second));
            }
        }
        if (!known) {
            memories.clear();
        }
        writeEnum(*reply, known ? ErrorStatus::NONE : ErrorStatus::GENERAL_FAILURE);
        writeValue(*reply, makeVec(*reply, memories));
        return {};
    }

  private:
    std::mutex mMutex;
    std::map<int32_t, driver::SharedMemory> mMemories;
};

class ClientBurst : public driver::IBurst {
  public:
    ClientBurst(RemoteInterface context, OwnQueue requests, OwnQueue results,
                std::shared_ptr<SlotMemories> memories, std::shared_ptr<Liveness> service)
        : mContext(std::move(context)),
          mRequests(std::move(requests)),
          mResults(std::move(results)),
          mMemories(std::move(memories)),
          mService(std::move(service)) {}

    driver::ExecutionResult execute(const driver::Request& request,
                                    std::span<const int64_t> identifiers,
                                    const driver::ExecuteOptions& options) override {
        const std::lock_guard lock(mMutex);
        driver::ExecutionResult result;
        Status sent = checkSendable(request);
        if (sent.ok() && identifiers.size() != request.pools.size()) {
            sent = invalidArgument(std::to_string(identifiers.size()) + " identifiers for " +
                                   std::to_string(request.pools.size()) + " pools");
        }
        std::vector<int32_t> passing;  // slots of what need not be known again
        if (sent.ok()) {
            sent = send(request, identifiers, options, passing);
        }
        if (sent.ok()) {
            result = receive();
        } else {
            result.status = sent;
        }
        for (const int32_t slot : passing) {
            static_cast<void>(free(slot));
        }
        return result;
    }

    Status releaseMemory(int64_t identifier) override {
        const std::lock_guard lock(mMutex);
        const auto found = mSlots.find(identifier);
        if (found == mSlots.end()) {
            return {};
        }
        const int32_t slot = found->second;
        mSlots.erase(found);
        return free(slot);
    }

  private:
    Status send(const driver::Request& request, std::span<const int64_t> identifiers,
                const driver::ExecuteOptions& options, std::vector<int32_t>& passing) {
        BurstRequest packet;
        packet.request.inputs = request.inputs;
        packet.request.outputs = request.outputs;
        packet.measureTiming = options.measureTiming;
        for (size_t i = 0; i < request.pools.size(); ++i) {
            const auto* const memory = std::get_if<driver::SharedMemory>(&request.pools[i]);
            if (memory == nullptr) {
                return unsupported("bursts of HIDL know no buffers");
            }
            const auto known = mSlots.find(identifiers[i]);
            if (identifiers[i] >= 0 && known != mSlots.end()) {
                packet.slots.push_back(known->second);
                continue;
            }
            mMemories->put(++mLastSlot, *memory);
            packet.slots.push_back(mLastSlot);
            if (identifiers[i] >= 0) {
                mSlots.emplace(identifiers[i], mLastSlot);
            } else {
                passing.push_back(mLastSlot);
            }
        }
        return mRequests.queue.write(writeBurstRequest(packet))
                       ? Status()
                       : internalError("the request does not fit into the queue");
    }

    driver::ExecutionResult receive() {
        driver::ExecutionResult result;
        std::vector<std::byte> packet;
        for (;;) {
            result.status = mResults.queue.read(packet);
            if (!result.status.ok()) {
                return result;
            }
            if (!packet.empty()) {
                Result<driver::ExecutionResult> read = readBurstResult(packet);
                result.status = read.status();
                return read.ok() ? std::move(*read) : result;
            }
            if (mService->hasDied()) {
                result.status = serviceDied("burst");
                return result;
            }
            mResults.queue.awaitData(kLook);
        }
    }

    Status free(int32_t slot) {
        mMemories->forget(slot);
        return mContext
                .call(IBurstContext::freeMemory,
                      [slot](ParcelWriter& arguments) { arguments.writeInt32(slot); })
                .status();
    }

    const RemoteInterface mContext;
    std::mutex mMutex;
    OwnQueue mRequests;
    OwnQueue mResults;
    const std::shared_ptr<SlotMemories> mMemories;
    const std::shared_ptr<Liveness> mService;
    std::map<int64_t, int32_t> mSlots;  // by identifier
    int32_t mLastSlot = 0;
};

}  // namespace

Result<std::shared_ptr<driver::IBurst>> configureBurst(const RemoteInterface& model,
                                                       std::shared_ptr<Liveness> service) {
    constexpr std::string_view kMethod = "configureExecutionBurst";
    HALYARD_ASSIGN_OR_RETURN(OwnQueue requests,
                             OwnQueue::create(sizeof(FmqRequestDatum), kQueueLength));
    HALYARD_ASSIGN_OR_RETURN(OwnQueue results,
                             OwnQueue::create(sizeof(FmqResultDatum), kQueueLength));
    auto memories = std::make_shared<SlotMemories>();
    const Result<std::unique_ptr<Reply>> reply = model.call(
            nn::v1_2::IPreparedModel::configureExecutionBurst, [&](ParcelWriter& arguments) {
                arguments.writeObject(std::shared_ptr<LocalObject>(memories));
                requests.write<FmqRequestDatum>(arguments);
                results.write<FmqResultDatum>(arguments);
            });
    if (!reply.ok()) {
        return callFailed(kMethod, reply.status());
    }
    const Result<ErrorStatus> status = readEnum<ErrorStatus>((*reply)->reader());
    HALYARD_RETURN_IF_ERROR(status.ok() ? answered(kMethod, *status)
                                        : callFailed(kMethod, status.status()));
    const Result<ObjectRef> object = (*reply)->reader().readObject();
    auto context =
            object.ok() ? RemoteInterface::cast(model.process(), *object, IBurstContext::layout())
                        : object.status();
    if (!context.ok()) {
        return callFailed(kMethod, context.status());
    }
    return std::shared_ptr<driver::IBurst>(std::make_shared<ClientBurst>(
            std::move(*context), std::move(requests), std::move(results), std::move(memories),
            std::move(service)));
}

}  // namespace halyard::hal::hidl
