// SPDX-License-Identifier: Apache-2.0
//
// Bursts and clients that break their rules: every packet is answered, whatever is in it, and what
// ends leaves nothing.

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/base/log.h"
#include "hal/hidl/burst_packets.h"
#include "hal/hidl/client/own_queue.h"
#include "hal/hidl/hidl_object.h"
#include "hal/hidl/types.h"
#include "tests/hal/add_model.h"
#include "tests/hal/hidl_objects_fixture.h"
#include "tests/hal/served_device.h"

namespace halyard::hal {
namespace {

using driver::ErrorStatus;
using hidl::nn::v1_2::FmqRequestDatum;
using hidl::nn::v1_2::FmqResultDatum;
using hidl::nn::v1_2::IBurstCallback;
using hidl::nn::v1_2::IBurstContext;
using hidl::nn::v1_3::IPreparedModel;
using testing::addRequest;
using testing::callMethod;
using testing::HidlObjects;

constexpr size_t kLength = 64;

// Gives the fixture's pool for every slot, or too few.
class Memories : public hidl::HidlObject {
  public:
    explicit Memories(const ExportedMemory& memory)
        : HidlObject(IBurstCallback::layout()), mMemory(memory) {}

    std::atomic<int> asked = 0;
    std::atomic<size_t> missing = 0;
    std::atomic<size_t> tooLong = 0;  // so many bytes more than there are
    std::atomic<bool> empty = false;  // of no bytes
    std::atomic<bool> null = false;   // without a handle
    std::atomic<ErrorStatus> status = ErrorStatus::NONE;
    std::string name = "ashmem";

  protected:
    Status serve(uint32_t /*code*/, Call& call) override {
        ++asked;
        HALYARD_ASSIGN_OR_RETURN(const auto* slots,
                                 hidl::readValue<hidl::HidlVec<int32_t>>(call.arguments));
        const size_t count = slots->count - std::min<size_t>(missing, slots->count);
        HALYARD_ASSIGN_OR_RETURN(auto* reply, call.endArguments());
        std::vector<hidl::HidlMemory> memories;
        for (size_t i = 0; i < count; ++i) {
            memories.push_back(hidl::makeMemory(*reply, name, mMemory.handle,
                                                empty ? 0 : mMemory.memory->size() + tooLong));
            if (null) {
                memories.back().handle = {};
            }
        }
        hidl::writeEnum(*reply, status.load());
        hidl::writeValue(*reply, hidl::makeVec(*reply, memories));
        return {};
    }

  private:
    const ExportedMemory mMemory;
};

class Bursts : public HidlObjects {
  protected:
    void SetUp() override {
        HidlObjects::SetUp();
        mMemories = std::make_shared<Memories>(mPools[0]);
        mRequests = hidl::OwnQueue::create(sizeof(FmqRequestDatum), kLength).value();
        mResults = hidl::OwnQueue::create(sizeof(FmqResultDatum), kLength).value();
        setInput({1.0F, 2.0F});
        mPacket.request = addRequest();
        mPacket.request.pools.clear();
        mPacket.slots = {5};
    }
    void TearDown() override {
        if (mContext != nullptr) {
            mContext->onLastRelease();
        }
        while (bursts() > 0) {
            std::this_thread::yield();
        }
        HidlObjects::TearDown();
    }

    // A device whose clients may make one call at a time; the client of this fixture.
    std::shared_ptr<driver::Client> serveWithOneCall() {
        driver::Options options = testing::referenceOptions();
        options.calls = {.perClient = 1, .perGroup = 8, .shared = 8, .most = 8};
        const testing::ServedDevice served = testing::serveDevice(mProcess, options).value();
        mDriver = served.driver;
        mDevice = served.object;
        mModel = testing::served(*mProcess, prepared(newest()));
        return mDriver->client({.pid = 4711, .uid = 1000}).value();
    }

    ErrorStatus configure() {
        const std::shared_ptr<LocalObject> model =
                mModel != nullptr ? mModel : served(*mProcess, prepared(newest()));
        const Result<std::unique_ptr<Reply>> reply = callMethod(
                *mProcess, model, IPreparedModel::layout(), IPreparedModel::configureExecutionBurst,
                [&](ParcelWriter& writer) {
                    writer.writeObject(mMemories == nullptr ? ObjectRef() : ObjectRef(mMemories));
                    mRequests.write<FmqRequestDatum>(writer);
                    mResults.write<FmqResultDatum>(writer);
                });
        EXPECT_TRUE(reply.ok()) << reply.status().toString();
        const ErrorStatus status = *hidl::readEnum<ErrorStatus>((*reply)->reader());
        const ObjectRef object = *(*reply)->reader().readObject();
        EXPECT_EQ(isNull(object), status != ErrorStatus::NONE);
        if (!isNull(object)) {
            mContext = served(*mProcess, object);
        }
        return status;
    }

    // The answer to a packet.
    driver::ExecutionResult send(std::span<const std::byte> packet) {
        EXPECT_TRUE(mRequests.queue.write(packet));
        std::vector<std::byte> answer;
        while (answer.empty()) {
            mResults.queue.awaitData(std::chrono::milliseconds(100));
            EXPECT_TRUE(mResults.queue.read(answer).ok());
        }
        mAnswer = answer;
        return hidl::readBurstResult(answer).value();
    }
    driver::ExecutionResult send() { return send(hidl::writeBurstRequest(mPacket)); }

    // Of the client's line of the report.
    int64_t reported(const std::string& field) const {
        const std::string report = mDriver->report();
        const size_t line = report.find("client\tpid\t4711\t");
        const size_t found = report.find("\t" + field + "\t", line);
        return found == std::string::npos ? -1
                                          : std::stoll(report.substr(found + field.size() + 2));
    }
    int64_t bursts() const { return reported("bursts"); }

    std::shared_ptr<Memories> mMemories;
    hidl::OwnQueue mRequests;
    hidl::OwnQueue mResults;
    hidl::BurstRequest mPacket;
    std::vector<std::byte> mAnswer;
    std::shared_ptr<LocalObject> mModel;  // null: one for each burst
    std::shared_ptr<LocalObject> mContext;
};

TEST_F(Bursts, AnswerPacketAfterPacket) {
    ASSERT_EQ(configure(), ErrorStatus::NONE);
    for (int round = 0; round < 100; ++round) {
        setInput({static_cast<float>(round), 2.0F});
        const driver::ExecutionResult result = send();
        ASSERT_TRUE(result.status.ok()) << result.status.toString();
        EXPECT_EQ(output(), (std::array{10.0F + static_cast<float>(round), 22.0F}));
    }
    EXPECT_EQ(mMemories->asked, 1) << "what is known is not asked for";
}

TEST_F(Bursts, LeavePaddingZero) {
    ASSERT_EQ(configure(), ErrorStatus::NONE);
    ASSERT_TRUE(send().status.ok());
    ASSERT_GE(mAnswer.size(), sizeof(FmqResultDatum));
    for (size_t at = 0; at < mAnswer.size(); at += sizeof(FmqResultDatum)) {
        for (size_t pad = 1; pad < 8; ++pad) {
            EXPECT_EQ(mAnswer[at + pad], std::byte{0}) << at << "+" << pad;
        }
    }
}

TEST_F(Bursts, AnswerPacketsThatAreNone) {
    ASSERT_EQ(configure(), ErrorStatus::NONE);
    const std::vector<std::byte> good = hidl::writeBurstRequest(mPacket);
    constexpr size_t kDatum = sizeof(FmqRequestDatum);
    for (size_t at = 0; at < good.size(); at += kDatum) {
        const auto from = good.begin() + static_cast<ptrdiff_t>(at);
        std::vector<std::byte> removed = good;
        removed.erase(removed.begin() + static_cast<ptrdiff_t>(at),
                      removed.begin() + static_cast<ptrdiff_t>(at + kDatum));
        std::vector<std::byte> added = good;
        added.insert(added.begin() + static_cast<ptrdiff_t>(at), from, from + kDatum);
        std::vector<std::byte> changed = good;
        changed[at] ^= std::byte{1};
        for (const std::vector<std::byte>& wrong : {removed, added, changed}) {
            if (!wrong.empty()) {
                EXPECT_EQ(send(wrong).status.code(), StatusCode::INTERNAL) << at / kDatum;
            }
        }
    }
    for (size_t at = 0; at < good.size(); ++at) {
        std::vector<std::byte> other = good;
        other[at] ^= std::byte{0x80};
        static_cast<void>(send(other));
    }
    EXPECT_TRUE(send(good).status.ok()) << "and it goes on";
}

TEST_F(Bursts, SayWhatIsWrongWithARequest) {
    ASSERT_EQ(configure(), ErrorStatus::NONE);
    mPacket.request.inputs[0].location.offset = 1 << 20;
    EXPECT_EQ(send().status.code(), StatusCode::INVALID_ARGUMENT);
    mPacket.request = addRequest();
    mPacket.slots = {6};
    mMemories->missing = 1;
    EXPECT_EQ(send().status.code(), StatusCode::INTERNAL);
    mMemories->missing = 0;
    EXPECT_TRUE(send().status.ok());
}

TEST_F(Bursts, LookAtNoArgumentsWhereTheirNumberIsNotTheModels) {
    ASSERT_EQ(configure(), ErrorStatus::NONE);
    const std::vector<std::byte> good = hidl::writeBurstRequest(mPacket);
    FmqRequestDatum first;
    std::memcpy(static_cast<void*>(&first), good.data(), sizeof(first));
    for (uint32_t* const count : {&first.packetInformation.numberOfInputOperands,
                                  &first.packetInformation.numberOfOutputOperands}) {
        for (const uint32_t other : {0U, 2U, 0xffffffffU}) {
            const uint32_t kept = std::exchange(*count, other);
            std::vector<std::byte> wrong = good;
            std::memcpy(wrong.data(), static_cast<const void*>(&first), sizeof(first));
            EXPECT_EQ(send(wrong).status.code(), StatusCode::INVALID_ARGUMENT) << other;
            *count = kept;
        }
    }
    EXPECT_TRUE(send(good).status.ok());
}

TEST_F(Bursts, PauseAfterMemoryThatCantBeUsed) {
    ASSERT_EQ(configure(), ErrorStatus::NONE);
    mMemories->tooLong = 1 << 20;
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 50; ++i) {
        ASSERT_EQ(send().status.code(), StatusCode::INVALID_ARGUMENT);
    }
    EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(50));
    mMemories->tooLong = 0;
    EXPECT_TRUE(send().status.ok());
}

// How often the service looks is told by how often it takes the word back.
TEST_F(Bursts, PauseWhereAClientOnlySaysThatThereIsData) {
    ASSERT_EQ(configure(), ErrorStatus::NONE);
    constexpr uint32_t kNotEmpty = 2;
    constexpr std::chrono::milliseconds kTime{300};
    std::atomic_ref<uint32_t> word(*reinterpret_cast<uint32_t*>(
            mRequests.memory.memory->map()->data() + mRequests.grantors[3].offset));
    int looks = 0;
    for (const auto end = std::chrono::steady_clock::now() + kTime;
         std::chrono::steady_clock::now() < end;) {
        if ((word.load() & kNotEmpty) == 0) {
            ++looks;
            mRequests.queue.wake();
        }
        std::this_thread::yield();
    }
    EXPECT_GT(looks, 0);
    EXPECT_LE(looks, 2 * kTime.count());
    EXPECT_TRUE(send().status.ok()) << "and it goes on";
}

TEST_F(Bursts, AreChargedForTheirQueuesAndWhatRequestsBecome) {
    mRequests = hidl::OwnQueue::create(sizeof(FmqRequestDatum), 4096).value();
    const std::shared_ptr<driver::Client> client =
            mDriver->client({.pid = 4711, .uid = 1000}).value();
    ASSERT_EQ(configure(), ErrorStatus::NONE);
    const int64_t with = reported("memory");
    mContext->onLastRelease();
    while (bursts() > 0) {
        std::this_thread::yield();
    }
    EXPECT_GE(with, reported("memory") + static_cast<int64_t>(5 * 4096 * sizeof(FmqRequestDatum) +
                                                              kLength * sizeof(FmqResultDatum)));
    const Result<Reservation> rest = Reservation::create(
            client->account().memory,
            client->account().memory->limit() - client->account().memory->reserved() - 100'000);
    ASSERT_TRUE(rest.ok()) << rest.status().toString();
    EXPECT_EQ(configure(), ErrorStatus::GENERAL_FAILURE) << "which 1.2 has for it";
}

TEST_F(Bursts, AreNotMadeForWhomTooManyCallsAreServed) {
    const std::shared_ptr<driver::Client> client = serveWithOneCall();
    {
        const Result<driver::CallGate::Permit> call = client->shares().calls->enter();
        ASSERT_TRUE(call.ok());
        ASSERT_EQ(configure(), ErrorStatus::GENERAL_FAILURE);
    }
    EXPECT_EQ(configure(), ErrorStatus::NONE);
}

TEST_F(Bursts, FailWhereTheResultDoesNotFit) {
    mResults = hidl::OwnQueue::create(sizeof(FmqResultDatum), 2).value();
    ASSERT_EQ(configure(), ErrorStatus::NONE);
    EXPECT_EQ(send().status.code(), StatusCode::INTERNAL);
    EXPECT_FALSE(send().timing.timeInDriver.has_value());
}

TEST_F(Bursts, ForgetMemoryThatIsFreed) {
    ASSERT_EQ(configure(), ErrorStatus::NONE);
    ASSERT_TRUE(send().status.ok());
    for (const int32_t slot : {5, 5, -1}) {
        EXPECT_TRUE(callMethod(*mProcess, mContext, IBurstContext::layout(),
                               IBurstContext::freeMemory,
                               [slot](ParcelWriter& writer) { writer.writeInt32(slot); })
                            .ok());
    }
    ASSERT_TRUE(send().status.ok());
    EXPECT_EQ(mMemories->asked, 2);
}

TEST_F(Bursts, KeepNothingOfAKindThatCantBeMapped) {
    ASSERT_EQ(configure(), ErrorStatus::NONE);
    ASSERT_TRUE(send().status.ok());
    const int64_t before = reported("memory");
    mMemories->name = std::string(100'000, 'x');
    mMemories->empty = true;
    for (int32_t slot = 100; slot < 120; ++slot) {
        mPacket.slots = {5, slot};
        EXPECT_FALSE(send().status.ok());
        EXPECT_FALSE(send().status.ok());
    }
    EXPECT_EQ(mMemories->asked, 1 + 2 * 20) << "it is asked for each time: nothing is kept";
    EXPECT_EQ(reported("memory"), before);
}

TEST_F(Bursts, KeepNothingWithoutAHandleOrOfAClientThatHasNone) {
    ASSERT_EQ(configure(), ErrorStatus::NONE);
    ASSERT_TRUE(send().status.ok());
    const int64_t before = reported("memory");
    mMemories->empty = true;
    mMemories->null = true;
    mPacket.slots = {5, 6};
    EXPECT_FALSE(send().status.ok());
    EXPECT_FALSE(send().status.ok());
    mMemories->null = false;
    mMemories->empty = false;
    for (const ErrorStatus status : {ErrorStatus::GENERAL_FAILURE, static_cast<ErrorStatus>(99)}) {
        mMemories->status = status;
        EXPECT_FALSE(send().status.ok());
    }
    EXPECT_EQ(reported("memory"), before) << "nothing is kept";
    mMemories->status = ErrorStatus::NONE;
    EXPECT_TRUE(send().status.ok());
    EXPECT_EQ(mMemories->asked, 1 + 5);
}

// A slot is memory of the service's, and a burst has 2^32 of them.
TEST_F(Bursts, AreChargedForEachSlot) {
    constexpr int64_t kSlot = 1024;
    ASSERT_EQ(configure(), ErrorStatus::NONE);
    ASSERT_TRUE(send().status.ok());
    const int64_t before = reported("memory");
    mMemories->empty = true;
    constexpr int32_t kSlots = 50;
    for (int32_t slot = 100; slot < 100 + kSlots; ++slot) {
        mPacket.slots = {5, slot};
        static_cast<void>(send());
    }
    EXPECT_EQ(mMemories->asked, 1 + kSlots);
    EXPECT_GE(reported("memory"), before + kSlots * kSlot);
    for (int32_t slot = 100; slot < 100 + kSlots; ++slot) {
        EXPECT_TRUE(callMethod(*mProcess, mContext, IBurstContext::layout(),
                               IBurstContext::freeMemory,
                               [slot](ParcelWriter& writer) { writer.writeInt32(slot); })
                            .ok());
    }
    EXPECT_EQ(reported("memory"), before);
    // A client whose account is full gets no more of them.
    const std::shared_ptr<driver::Client> client =
            mDriver->client({.pid = 4711, .uid = 1000}).value();
    const std::shared_ptr<Budget>& memory = client->account().memory;
    const Result<Reservation> rest =
            Reservation::create(memory, memory->limit() - memory->reserved() - kSlot / 2);
    ASSERT_TRUE(rest.ok()) << rest.status().toString();
    mPacket.slots = {5};
    EXPECT_TRUE(send().status.ok()) << "what it has it keeps";
    mPacket.slots = {5, 99};
    EXPECT_FALSE(send().status.ok());
}

TEST_F(Bursts, AreRefusedWithWrongQueues) {
    const auto refused = [&](const std::function<void(hidl::OwnQueue&)>& change) {
        hidl::OwnQueue kept = mRequests;
        change(mRequests);
        EXPECT_EQ(configure(), ErrorStatus::INVALID_ARGUMENT);
        mRequests = kept;
    };
    refused([](hidl::OwnQueue& queue) { queue.quantum = 23; });
    refused([](hidl::OwnQueue& queue) { queue.grantors[0].fdIndex = 1; });
    refused([](hidl::OwnQueue& queue) { queue.grantors[1].offset = 9; });
    refused([](hidl::OwnQueue& queue) { queue.grantors[1].extent = 4; });
    refused([](hidl::OwnQueue& queue) { queue.grantors[2].extent = 0; });
    refused([](hidl::OwnQueue& queue) { queue.grantors[2].extent += 1; });
    refused([](hidl::OwnQueue& queue) { queue.grantors[2].extent = uint64_t{24} << 32; });
    refused([](hidl::OwnQueue& queue) { queue.grantors[3].extent = 2; });
    refused([](hidl::OwnQueue& queue) { queue.grantors[3].offset = 1 << 20; });
    // Requests as read lie in the service's memory.
    const auto withRing = [](hidl::OwnQueue& queue, uint64_t length) {
        queue.memory = createSharedMemory(1 << 20).value();
        queue.grantors[2].extent = length * sizeof(FmqRequestDatum);
        queue.grantors[3].offset = 1 << 19;
    };
    refused([&](hidl::OwnQueue& queue) { withRing(queue, (1 << 18) / 24 + 1); });
    const std::shared_ptr<Memories> kept = std::exchange(mMemories, nullptr);
    EXPECT_EQ(configure(), ErrorStatus::INVALID_ARGUMENT) << "no callback";
    mMemories = kept;
    withRing(mRequests, (1 << 18) / 24);
    EXPECT_EQ(configure(), ErrorStatus::NONE);
}

TEST_F(Bursts, PassOverCountersThatContradictEachOther) {
    ASSERT_EQ(configure(), ErrorStatus::NONE);
    ASSERT_TRUE(send().status.ok());
    uint8_t* const queue = mRequests.memory.memory->map()->data();
    const uint64_t wrong = uint64_t{1} << 40;
    std::memcpy(queue + 8, &wrong, sizeof(wrong));
    mRequests.queue.wake();
    std::vector<std::byte> answer;
    while (answer.empty()) {
        mResults.queue.awaitData(std::chrono::milliseconds(100));
        ASSERT_TRUE(mResults.queue.read(answer).ok());
    }
    const Result<driver::ExecutionResult> result = hidl::readBurstResult(answer);
    ASSERT_TRUE(result.ok()) << result.status().toString();
    EXPECT_EQ(result->status.code(), StatusCode::INTERNAL);
    mResults.queue.awaitData(std::chrono::milliseconds(50));
    ASSERT_TRUE(mResults.queue.read(answer).ok());
    EXPECT_TRUE(answer.empty()) << "once";
}

TEST_F(Bursts, EndWithTheirLastUser) {
    ASSERT_EQ(configure(), ErrorStatus::NONE);
    EXPECT_EQ(bursts(), 1);
    mContext->onLastRelease();
    mContext = nullptr;
    while (bursts() > 0) {
        std::this_thread::yield();
    }
    EXPECT_EQ(bursts(), 0);
}

TEST_F(Bursts, AreNoMoreThanAClientMayHave) {
    std::vector<std::shared_ptr<LocalObject>> contexts;
    ErrorStatus status = ErrorStatus::NONE;
    while (contexts.size() < 1000 && (status = configure()) == ErrorStatus::NONE) {
        contexts.push_back(mContext);
    }
    EXPECT_EQ(status, ErrorStatus::GENERAL_FAILURE) << "which 1.2 has for it";
    EXPECT_EQ(contexts.size(), 16U);
    for (const auto& context : contexts) {
        context->onLastRelease();
    }
}

}  // namespace
}  // namespace halyard::hal
