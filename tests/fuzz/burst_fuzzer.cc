// SPDX-License-Identifier: Apache-2.0
//
// A burst under a client that writes what it likes into its queues and gives what memory it likes:
// packets with data changed, left out and added, counters and event words of its own. Every packet
// is answered with one that can be read, whatever is in it, and a good one as good ones are.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hal/hidl/burst_packets.h"
#include "hal/hidl/client/own_queue.h"
#include "hal/hidl/service_objects.h"
#include "hal/hidl/types.h"
#include "tests/fuzz/choices.h"
#include "tests/fuzz/finding.h"
#include "tests/fuzz/target.h"
#include "tests/fuzz/tried_device.h"
#include "tests/hal/add_model.h"
#include "tests/hal/hidl_client.h"

namespace halyard::fuzz {
namespace {

using driver::ErrorStatus;
using hal::hidl::nn::v1_2::FmqRequestDatum;
using hal::hidl::nn::v1_2::FmqResultDatum;
using hal::hidl::nn::v1_2::IBurstCallback;
using hal::hidl::nn::v1_2::IBurstContext;
using hal::hidl::nn::v1_3::IPreparedModel;

constexpr size_t kMostRounds = 6;
constexpr size_t kLength = 64;
constexpr std::chrono::seconds kPatience{20};

// Gives memory for slots: right, too little, too small, or none.
class Memories final : public hal::hidl::HidlObject {
  public:
    Memories() : HidlObject(IBurstCallback::layout()) {}

    enum class Manner : uint8_t { RIGHT, TOO_FEW, TOO_MANY, SMALL, FAILS };
    std::atomic<Manner> manner = Manner::RIGHT;

  protected:
    Status serve(uint32_t /*code*/, Call& call) override {
        HALYARD_ASSIGN_OR_RETURN(const auto* slots,
                                 hal::hidl::readValue<hal::hidl::HidlVec<int32_t>>(call.arguments));
        const Manner now = manner;
        const size_t count = now == Manner::TOO_FEW    ? 0
                             : now == Manner::TOO_MANY ? slots->count + 1
                                                       : slots->count;
        const hal::ExportedMemory& memory = now == Manner::SMALL ? mSmall : mMemory;
        HALYARD_ASSIGN_OR_RETURN(auto* reply, call.endArguments());
        const std::vector<hal::hidl::HidlMemory> memories(
                count,
                hal::hidl::makeMemory(*reply, "ashmem", memory.handle, memory.memory->size()));
        hal::hidl::writeEnum(
                *reply, now == Manner::FAILS ? ErrorStatus::GENERAL_FAILURE : ErrorStatus::NONE);
        hal::hidl::writeValue(*reply, hal::hidl::makeVec(*reply, memories));
        return {};
    }

  private:
    const hal::ExportedMemory mMemory = hal::createSharedMemory(4096).value();
    const hal::ExportedMemory mSmall = hal::createSharedMemory(4).value();
};

struct Burst {
    std::shared_ptr<hal::testing::LoopbackProcess> process =
            std::make_shared<hal::testing::LoopbackProcess>();
    std::shared_ptr<hal::LocalObject> model;
    std::shared_ptr<Memories> memories = std::make_shared<Memories>();
    hal::hidl::OwnQueue requests;
    hal::hidl::OwnQueue results;
    std::shared_ptr<hal::LocalObject> context;
    std::vector<std::byte> good;

    Burst() {
        const auto device = hal::makeDeviceObject(process, makeDevice(1)).value();
        hal::testing::HidlClient client(*process, device, hal::testing::allVersions().back());
        const auto callback = hal::testing::RecordingCallback::forModels();
        require(client.prepare(hal::testing::addModel(), callback).ok(), "the sample prepares");
        model = served(*process, callback->wait().model);
        require(model != nullptr, "the sample prepares");
        hal::hidl::BurstRequest request = {.request = hal::testing::addRequest(), .slots = {5}};
        request.request.pools.clear();
        good = hal::hidl::writeBurstRequest(request);
        configure();
    }

    // With new queues, as what was in the old ones may be anything.
    void configure() {
        if (context != nullptr) {
            context->onLastRelease();
        }
        requests = hal::hidl::OwnQueue::create(sizeof(FmqRequestDatum), kLength).value();
        results = hal::hidl::OwnQueue::create(sizeof(FmqResultDatum), kLength).value();
        // A burst that ended a moment ago may still count.
        const auto end = std::chrono::steady_clock::now() + kPatience;
        while (!tryToConfigure()) {
            require(std::chrono::steady_clock::now() < end, "what ends makes room for another");
        }
    }

    std::vector<std::byte> answer() {
        const auto end = std::chrono::steady_clock::now() + kPatience;
        std::vector<std::byte> packet;
        while (packet.empty()) {
            require(std::chrono::steady_clock::now() < end, "every packet is answered");
            results.queue.awaitData(std::chrono::milliseconds(100));
            require(results.queue.read(packet).ok(), "the service's counters are right");
        }
        return packet;
    }

    driver::ExecutionResult send(std::span<const std::byte> packet) {
        require(requests.queue.write(packet), "what was answered was taken");
        const std::vector<std::byte> answered = answer();
        for (size_t at = 0; at < answered.size(); at += sizeof(FmqResultDatum)) {
            for (size_t pad = 1; pad < 8; ++pad) {
                require(answered[at + pad] == std::byte{0}, "what is padding is zero");
            }
        }
        auto result = hal::hidl::readBurstResult(answered);
        require(result.ok(), "an answer can be read", result.status().toString());
        return std::move(*result);
    }

  private:
    bool tryToConfigure() {
        auto reply = hal::testing::callMethod(*process, model, IPreparedModel::layout(),
                                              IPreparedModel::configureExecutionBurst,
                                              [this](hal::ParcelWriter& writer) {
                                                  writer.writeObject(hal::ObjectRef(memories));
                                                  requests.write<FmqRequestDatum>(writer);
                                                  results.write<FmqResultDatum>(writer);
                                              });
        require(reply.ok(), "a burst is answered", reply.status().toString());
        const ErrorStatus status = *hal::hidl::readEnum<ErrorStatus>((*reply)->reader());
        const hal::ObjectRef object = *(*reply)->reader().readObject();
        context = status == ErrorStatus::NONE ? served(*process, object) : nullptr;
        return context != nullptr;
    }
};

// A good packet with some of its data changed.
std::vector<std::byte> packetFrom(Choices& choices, const std::vector<std::byte>& good) {
    constexpr size_t kDatum = sizeof(FmqRequestDatum);
    std::vector<std::byte> packet = good;
    for (size_t edits = choices.below(4); edits > 0; --edits) {
        const size_t data = packet.size() / kDatum;
        const size_t datum = choices.below(data + 1);
        const auto place = packet.begin() + static_cast<ptrdiff_t>(datum * kDatum);
        switch (choices.below(5)) {
            case 0: {  // a field or a few
                const size_t at = choices.below(packet.size() + 1);
                const std::span<const uint8_t> bytes = choices.take(1 + choices.below(8));
                const size_t count = std::min(bytes.size(), packet.size() - at);
                std::memcpy(packet.data() + at, bytes.data(), count);
                break;
            }
            case 1:
                if (datum < data) {
                    packet.erase(place, place + kDatum);
                }
                break;
            case 2: {
                std::array<std::byte, kDatum> added = {};
                const std::span<const uint8_t> bytes = choices.take(kDatum);
                std::memcpy(added.data(), bytes.data(), bytes.size());
                packet.insert(place, added.begin(), added.end());
                break;
            }
            case 3:
                if (datum < data) {
                    const std::vector<std::byte> twin(place, place + kDatum);
                    packet.insert(place, twin.begin(), twin.end());
                }
                break;
            default:
                packet.resize(datum * kDatum);
                break;
        }
        // The first says how many there are: mostly what is right, so that more is read.
        if (!packet.empty() && !choices.oneIn(4)) {
            const auto count = static_cast<uint32_t>(packet.size() / kDatum);
            std::memcpy(packet.data() + offsetof(FmqRequestDatum, packetInformation), &count,
                        sizeof count);
        }
    }
    packet.resize(std::min(packet.size(), kLength * kDatum));
    return packet;
}

// Writes over a counter or an event word of either queue.
void writeOver(Choices& choices, Burst& burst) {
    const hal::hidl::OwnQueue& queue = choices.oneIn(2) ? burst.results : burst.requests;
    constexpr std::array<size_t, 3> kParts = {0, 1, 3};
    const size_t part = kParts[choices.below(kParts.size())];
    const uint64_t value = choices.number<uint64_t>();
    std::memcpy(queue.memory.memory->map()->data() + queue.grantors[part].offset, &value,
                queue.grantors[part].extent);
}

}  // namespace

void run(std::span<const uint8_t> bytes) {
    Choices choices(bytes);
    // Never destroyed: its threads outlive the last run.
    static Burst& burst = *new Burst;
    for (size_t round = 0; round < kMostRounds && !choices.empty(); ++round) {
        burst.memories->manner = static_cast<Memories::Manner>(choices.below(5));
        if (choices.oneIn(8)) {
            static_cast<void>(hal::testing::callMethod(
                    *burst.process, burst.context, IBurstContext::layout(),
                    IBurstContext::freeMemory, [&](hal::ParcelWriter& writer) {
                        writer.writeInt32(choices.oneIn(2) ? 5 : choices.number<int32_t>());
                    }));
        }
        if (choices.oneIn(8)) {
            writeOver(choices, burst);
            static_cast<void>(burst.requests.queue.write(packetFrom(choices, burst.good)));
            burst.configure();
            continue;
        }
        const std::vector<std::byte> packet = packetFrom(choices, burst.good);
        if (!packet.empty()) {
            static_cast<void>(burst.send(packet));
        }
    }
    burst.memories->manner = Memories::Manner::RIGHT;
    // Of a memory that was too small, the burst may know the slot still.
    static_cast<void>(hal::testing::callMethod(
            *burst.process, burst.context, IBurstContext::layout(), IBurstContext::freeMemory,
            [](hal::ParcelWriter& writer) { writer.writeInt32(5); }));
    const driver::ExecutionResult last = burst.send(burst.good);
    require(last.status.ok(), "a good packet is executed", last.status.toString());
}

}  // namespace halyard::fuzz
