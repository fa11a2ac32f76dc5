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

  protected:
    Status serve(uint32_t /*code*/, Call& call) override {
        ++asked;
        HALYARD_ASSIGN_OR_RETURN(const auto* slots,
                                 hidl::readValue<hidl::HidlVec<int32_t>>(call.arguments));
        const size_t count = slots->count - std::min<size_t>(missing, slots->count);
        HALYARD_ASSIGN_OR_RETURN(auto* reply, call.endArguments());
        std::vector<hidl::HidlMemory> memories;
        for (size_t i = 0; i < count; ++i) {
            memories.push_back(
                    hidl::makeMemory(*reply, "ashmem", mMemory.handle, mMemory.memory->size()));
        }
        hidl::writeEnum(*reply, ErrorStatus::NONE);
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

    ErrorStatus configure() {
        const std::shared_ptr<LocalObject> model = served(*mProcess, prepared(newest()));
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

    // What a packet is answered with.
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

    int64_t bursts() const {
        const std::string report = mDriver->report();
        const size_t line = report.find("client\tpid\t4711\t");
        const size_t found = report.find("\tbursts\t", line);
        return found == std::string::npos ? -1 : std::stoll(report.substr(found + 8));
    }

    std::shared_ptr<Memories> mMemories;
    hidl::OwnQueue mRequests;
    hidl::OwnQueue mResults;
    hidl::BurstRequest mPacket;
    std::vector<std::byte> mAnswer;
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
    const std::shared_ptr<Memories> kept = std::exchange(mMemories, nullptr);
    EXPECT_EQ(configure(), ErrorStatus::INVALID_ARGUMENT) << "no callback";
    mMemories = kept;
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
