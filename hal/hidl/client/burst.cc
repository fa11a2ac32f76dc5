// SPDX-License-Identifier: Apache-2.0

#include "hal/hidl/client/burst.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "hal/client/sendable.h"
#include "hal/hidl/burst_packets.h"
#include "hal/hidl/client/burst_channel.h"

namespace halyard::hal::hidl {
namespace {

class ClientBurst : public driver::IBurst {
  public:
    explicit ClientBurst(std::unique_ptr<BurstChannel> channel) : mChannel(std::move(channel)) {}

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
            static_cast<void>(mChannel->free(slot));
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
        return mChannel->free(slot);
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
            mChannel->put(++mLastSlot, *memory);
            packet.slots.push_back(mLastSlot);
            if (identifiers[i] >= 0) {
                mSlots.emplace(identifiers[i], mLastSlot);
            } else {
                passing.push_back(mLastSlot);
            }
        }
        return mChannel->send(writeBurstRequest(packet));
    }

    driver::ExecutionResult receive() {
        const Result<std::vector<std::byte>> packet = mChannel->receive(std::nullopt);
        Result<driver::ExecutionResult> read =
                packet.ok() ? readBurstResult(*packet)
                            : Result<driver::ExecutionResult>(packet.status());
        return read.ok() ? std::move(*read)
                         : driver::ExecutionResult{
                                   .status = read.status(), .outputShapes = {}, .timing = {}};
    }

    std::mutex mMutex;
    const std::unique_ptr<BurstChannel> mChannel;
    std::map<int64_t, int32_t> mSlots;  // by identifier
    int32_t mLastSlot = 0;
};

}  // namespace

std::shared_ptr<driver::IBurst> makeClientBurst(std::unique_ptr<BurstChannel> channel) {
    return std::make_shared<ClientBurst>(std::move(channel));
}

}  // namespace halyard::hal::hidl
