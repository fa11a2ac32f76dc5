// SPDX-License-Identifier: Apache-2.0

#include "hal/hidl/client/burst_channel.h"

#include <chrono>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include "hal/client/answers.h"
#include "hal/hidl/client/own_queue.h"
#include "hal/hidl/client/wire_pools.h"
#include "hal/hidl/hidl_object.h"
#include "hal/hidl/types.h"

namespace halyard::hal::hidl {
namespace {

using driver::ErrorStatus;
using nn::v1_2::FmqRequestDatum;
using nn::v1_2::FmqResultDatum;
using nn::v1_2::IBurstCallback;
using nn::v1_2::IBurstContext;

// How often a service that does not answer is looked after.
constexpr std::chrono::milliseconds kLook{200};

// The callback that the service asks for memory by slots. Thread-safe.
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

class ClientBurstChannel final : public BurstChannel {
  public:
    ClientBurstChannel(RemoteInterface context, OwnQueue requests, OwnQueue results,
                       std::shared_ptr<SlotMemories> memories, std::shared_ptr<Liveness> service)
        : mContext(std::move(context)),
          mRequests(std::move(requests)),
          mResults(std::move(results)),
          mMemories(std::move(memories)),
          mService(std::move(service)) {}

    void put(int32_t slot, driver::SharedMemory memory) override {
        mMemories->put(slot, std::move(memory));
    }

    Status free(int32_t slot) override {
        mMemories->forget(slot);
        return mContext
                .call(IBurstContext::freeMemory,
                      [slot](ParcelWriter& arguments) { arguments.writeInt32(slot); })
                .status();
    }

    Status send(std::span<const std::byte> packet) override {
        return mRequests.queue.write(packet)
                       ? Status()
                       : internalError("the request does not fit into the queue");
    }

    Result<std::vector<std::byte>> receive(const Deadline& deadline) override {
        std::vector<std::byte> packet;
        for (;;) {
            HALYARD_RETURN_IF_ERROR(mResults.queue.read(packet));
            if (!packet.empty()) {
                return packet;
            }
            if (mService->hasDied()) {
                return serviceDied("burst");
            }
            if (driver::hasPassed(deadline)) {
                return Status(StatusCode::DEADLINE_EXCEEDED, "the burst does not answer");
            }
            mResults.queue.awaitData(kLook);
        }
    }

  private:
    const RemoteInterface mContext;
    OwnQueue mRequests;
    OwnQueue mResults;
    const std::shared_ptr<SlotMemories> mMemories;
    const std::shared_ptr<Liveness> mService;
};

}  // namespace

Result<std::unique_ptr<BurstChannel>> openBurstChannel(const RemoteInterface& model,
                                                       std::shared_ptr<Liveness> service,
                                                       const BurstChannel::Lengths& lengths) {
    constexpr std::string_view kMethod = "configureExecutionBurst";
    HALYARD_ASSIGN_OR_RETURN(OwnQueue requests,
                             OwnQueue::create(sizeof(FmqRequestDatum), lengths.requests));
    HALYARD_ASSIGN_OR_RETURN(OwnQueue results,
                             OwnQueue::create(sizeof(FmqResultDatum), lengths.results));
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
    return std::unique_ptr<BurstChannel>(std::make_unique<ClientBurstChannel>(
            std::move(*context), std::move(requests), std::move(results), std::move(memories),
            std::move(service)));
}

}  // namespace halyard::hal::hidl
