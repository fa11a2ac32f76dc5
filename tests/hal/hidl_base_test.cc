// SPDX-License-Identifier: Apache-2.0
//
// The methods of every HIDL object: IBase, and the checks before a method is served.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "hal/hidl/hidl_object.h"
#include "hal/hidl/types.h"
#include "tests/hal/hidl_client.h"
#include "tests/hal/loopback.h"
#include "tests/hal/open_descriptors.h"
#include "tests/hal/time_limit.h"

namespace halyard::hal {

namespace {

using hidl::base::v1_0::DebugInfo;
using hidl::base::v1_0::IBase;
using hidl::nn::v1_2::IBurstContext;
using hidl::nn::v1_3::IPreparedModel;
using testing::callMethod;
using testing::LoopbackProcess;

class Pipe {
  public:
    Pipe() { EXPECT_EQ(pipe2(mEnds, O_CLOEXEC), 0); }
    ~Pipe() {
        closeReader();
        closeWriter();
    }
    int writer() const { return mEnds[1]; }
    void closeReader() { shut(mEnds[0]); }
    void closeWriter() { shut(mEnds[1]); }
    std::string readAll() {
        closeWriter();
        std::string text;
        char piece[4096];
        for (ssize_t got; (got = read(mEnds[0], piece, sizeof(piece))) > 0;) {
            text.append(piece, static_cast<size_t>(got));
        }
        return text;
    }

  private:
    static void shut(int& fd) {
        if (fd >= 0) {
            close(fd);
        }
        fd = -1;
    }
    int mEnds[2] = {-1, -1};
};

// An IBurstContext that counts its calls.
class Counter : public hidl::HidlObject {
  public:
    Counter() : HidlObject(IBurstContext::layout()) {}
    int32_t lastSlot = 0;
    int calls = 0;
    std::string longText;  // instead of the debug text, unless it is empty

  protected:
    Status serve(uint32_t /*code*/, Call& call) override {
        HALYARD_ASSIGN_OR_RETURN(lastSlot, call.arguments.readInt32());
        HALYARD_RETURN_IF_ERROR(call.endArguments().status());
        ++calls;
        return {};
    }
    std::string debugText(std::span<const std::string> options) const override {
        if (!longText.empty()) {
            return longText;
        }
        std::string text = std::to_string(calls) + " calls";
        for (const std::string& option : options) {
            text += " " + option;
        }
        return text;
    }
};

class HidlBase : public ::testing::Test {
  protected:
    void TearDown() override { mProcess->stop(); }

    Result<std::unique_ptr<Reply>> callBase(uint32_t code) {
        return callMethod(*mProcess, mObject, IBase::layout(), code, [](ParcelWriter&) {});
    }
    // The answer to a call with one number, or none.
    WireStatus answerTo(uint32_t code, bool oneway, std::string_view token,
                        std::optional<int32_t> argument = std::nullopt) {
        ParcelWriter writer;
        hidl::writeInterfaceToken(writer, token);
        if (argument.has_value()) {
            writer.writeInt32(*argument);
        }
        Result<LoopbackProcess::Answer> answer =
                mProcess->call(mObject, code, oneway, testing::capture(writer));
        EXPECT_TRUE(answer.ok());
        return answer->status;
    }
    WireStatus debug(int fd) {
        ParcelWriter writer;
        hidl::writeRequestHead(writer, IBase::layout(), IBase::debug);
        const NativeHandle handle{.fds = {fd}, .ints = {}};
        hidl::writeNativeHandle(writer, fd < 0 ? nullptr : &handle);
        const std::vector<hidl::HidlString> options = {hidl::makeString(writer, "-a"),
                                                       hidl::makeString(writer, "b")};
        hidl::writeValue(writer, hidl::makeVec(writer, options));
        Result<LoopbackProcess::Answer> answer =
                mProcess->call(mObject, IBase::debug, false, testing::capture(writer));
        EXPECT_TRUE(answer.ok());
        return answer->status;
    }

    const testing::TimeLimit mTimeLimit;
    std::shared_ptr<LoopbackProcess> mProcess = std::make_shared<LoopbackProcess>();
    std::shared_ptr<Counter> mObject = std::make_shared<Counter>();
};

TEST_F(HidlBase, AnswersPing) {
    Result<std::unique_ptr<Reply>> reply = callBase(IBase::ping);
    ASSERT_TRUE(reply.ok()) << reply.status().toString();
    EXPECT_EQ((*reply)->reader().remaining(), 0U);
}

TEST_F(HidlBase, NamesItsChainLeafFirst) {
    Result<std::unique_ptr<Reply>> reply = callBase(IBase::interfaceChain);
    ASSERT_TRUE(reply.ok());
    Result<const hidl::HidlVec<hidl::HidlString>*> chain =
            hidl::readValue<hidl::HidlVec<hidl::HidlString>>((*reply)->reader());
    ASSERT_TRUE(chain.ok());
    ASSERT_EQ((*chain)->count, 2U);
    EXPECT_EQ((*chain)->view()[0].view(), "android.hardware.neuralnetworks@1.2::IBurstContext");
    EXPECT_EQ((*chain)->view()[1].view(), "android.hidl.base@1.0::IBase");

    reply = callBase(IBase::interfaceDescriptor);
    ASSERT_TRUE(reply.ok());
    Result<const hidl::HidlString*> descriptor =
            hidl::readValue<hidl::HidlString>((*reply)->reader());
    ASSERT_TRUE(descriptor.ok());
    EXPECT_EQ((*descriptor)->view(), "android.hardware.neuralnetworks@1.2::IBurstContext");
}

TEST_F(HidlBase, GivesOneHashPerChainEntry) {
    Result<std::unique_ptr<Reply>> reply = callBase(IBase::getHashChain);
    ASSERT_TRUE(reply.ok());
    using Hashes = hidl::HidlVec<std::array<uint8_t, 32>>;
    Result<const Hashes*> hashes = hidl::readValue<Hashes>((*reply)->reader());
    ASSERT_TRUE(hashes.ok());
    ASSERT_EQ((*hashes)->count, 2U);
    // The published hash of android.hidl.base@1.0::IBase begins ec7fd79e and ends 83b18ca4c.
    EXPECT_EQ((*hashes)->view()[1].front(), 0xec);
    EXPECT_EQ((*hashes)->view()[1].back(), 0x4c);
}

TEST_F(HidlBase, TellsItsProcess) {
    Result<std::unique_ptr<Reply>> reply = callBase(IBase::getDebugInfo);
    ASSERT_TRUE(reply.ok());
    Result<const DebugInfo*> info = hidl::readValue<DebugInfo>((*reply)->reader());
    ASSERT_TRUE(info.ok());
    EXPECT_EQ((*info)->pid, getpid());
    EXPECT_EQ((*info)->ptr, 0U);
    EXPECT_EQ((*info)->arch, sizeof(void*) == 8 ? DebugInfo::Architecture::IS_64BIT
                                                : DebugInfo::Architecture::IS_32BIT);
}

TEST_F(HidlBase, TakesOnewayNotices) {
    const auto& descriptor = IBase::layout().descriptor;
    EXPECT_EQ(answerTo(IBase::notifySyspropsChanged, true, descriptor), WireStatus::OK);
    EXPECT_EQ(answerTo(IBase::setHALInstrumentation, true, descriptor), WireStatus::OK);
}

TEST_F(HidlBase, WritesDebugText) {
    Pipe pipe;
    EXPECT_EQ(debug(pipe.writer()), WireStatus::OK);
    EXPECT_EQ(pipe.readAll(), "0 calls -a b");
}

// A writer to a full pipe without a reader waits for as long as that lasts.
class Unread {
  public:
    explicit Unread(int writer, int other = -1) : mWriter(writer), mOther(other) {}
    ~Unread() {
        close(mWriter);
        close(mOther);
    }
    Unread(const Unread&) = delete;
    Unread& operator=(const Unread&) = delete;

    static Unread pipe() {
        int ends[2] = {-1, -1};
        EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
        return Unread(ends[1], ends[0]).filled();
    }
    static Unread socket() {
        int ends[2] = {-1, -1};
        EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        return Unread(ends[1], ends[0]).filled();
    }
    static Unread eventCounter() {
        const int fd = eventfd(0, EFD_CLOEXEC);
        const uint64_t most = 0xfffffffffffffffe;
        EXPECT_EQ(write(fd, &most, sizeof(most)), static_cast<ssize_t>(sizeof(most)));
        return Unread(fd);
    }
    int writer() const { return mWriter; }

  private:
    Unread(Unread&& other) noexcept
        : mWriter(std::exchange(other.mWriter, -1)), mOther(std::exchange(other.mOther, -1)) {}
    Unread filled() && {
        // Non-blocking only for as long as it is filled.
        const int flags = fcntl(mWriter, F_GETFL);
        fcntl(mWriter, F_SETFL, flags | O_NONBLOCK);
        const std::string piece(4096, 'x');
        while (write(mWriter, piece.data(), piece.size()) > 0) {
        }
        fcntl(mWriter, F_SETFL, flags);
        return std::move(*this);
    }

    int mWriter;
    int mOther;
};

TEST_F(HidlBase, WritesDebugTextToSockets) {
    int ends[2] = {-1, -1};
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    EXPECT_EQ(debug(ends[1]), WireStatus::OK);
    char text[64] = {};
    EXPECT_EQ(read(ends[0], text, sizeof(text)), 12);
    EXPECT_STREQ(text, "0 calls -a b");
    close(ends[0]);
    close(ends[1]);
}

TEST_F(HidlBase, WaitsForNoReaderOfDebugTextForLong) {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(debug(Unread::pipe().writer()), WireStatus::OK);
    EXPECT_EQ(debug(Unread::socket().writer()), WireStatus::OK);
    EXPECT_EQ(debug(Unread::eventCounter().writer()), WireStatus::OK);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST_F(HidlBase, WritesDebugTextOnlyToPipesAndSockets) {
    const int file = memfd_create("test", MFD_CLOEXEC);
    EXPECT_EQ(debug(file), WireStatus::OK);
    EXPECT_EQ(lseek(file, 0, SEEK_END), 0);
    close(file);
    const int counter = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    EXPECT_EQ(debug(counter), WireStatus::OK);
    uint64_t count = 0;
    EXPECT_LT(read(counter, &count, sizeof(count)), 0);
    close(counter);
}

// The client shares the open file, and may make it blocking at any time.
TEST_F(HidlBase, IsNotMadeToWaitByTheFlagsOfTheClient) {
    const Unread pipe = Unread::pipe();
    std::atomic<bool> done = false;
    std::thread client([&] {
        const int flags = fcntl(pipe.writer(), F_GETFL);
        for (bool blocking = false; !done; blocking = !blocking) {
            fcntl(pipe.writer(), F_SETFL, blocking ? flags : flags | O_NONBLOCK);
        }
    });
    EXPECT_EQ(debug(pipe.writer()), WireStatus::OK);
    done = true;
    client.join();
}

// Room that poll() has seen is gone again when it comes to writing, and none comes any more.
TEST_F(HidlBase, IsNotMadeToWaitByAnotherWriter) {
    mObject->longText = std::string(1 << 20, 'y');
    for (int round = 0; round < 4; ++round) {
        const Unread pipe = Unread::pipe();
        std::thread other([&] {
            const int own = open(("/proc/self/fd/" + std::to_string(pipe.writer())).c_str(),
                                 O_RDWR | O_NONBLOCK | O_CLOEXEC);
            std::array<char, 4096> piece = {};
            const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
            bool filled = true;
            while (filled && std::chrono::steady_clock::now() < end) {
                filled = read(own, piece.data(), piece.size()) > 0;
                while (write(own, piece.data(), piece.size()) > 0) {
                }
            }
            close(own);
        });
        EXPECT_EQ(debug(pipe.writer()), WireStatus::OK);
        other.join();
    }
}

TEST_F(HidlBase, WritesNoDebugTextWithoutDescriptor) {
    EXPECT_EQ(debug(-1), WireStatus::OK);
}

TEST_F(HidlBase, SurvivesDebugReaderThatIsGone) {
    Pipe pipe;
    pipe.closeReader();
    EXPECT_EQ(debug(pipe.writer()), WireStatus::OK);
    EXPECT_EQ(answerTo(IBase::ping, false, IBase::layout().descriptor), WireStatus::OK);
}

TEST_F(HidlBase, RefusesToDebugForApps) {
    Pipe pipe;
    mProcess->caller.euid = 10000;
    EXPECT_EQ(debug(pipe.writer()), WireStatus::PERMISSION_DENIED);
    mProcess->caller.euid = 9999;
    EXPECT_EQ(debug(pipe.writer()), WireStatus::OK);
    EXPECT_EQ(pipe.readAll(), "0 calls -a b");
}

TEST_F(HidlBase, RefusesWhatFollowsTheLastArgument) {
    const std::string_view own = IBurstContext::layout().descriptor;
    const std::string_view base = IBase::layout().descriptor;
    EXPECT_EQ(answerTo(IBase::ping, false, base, 5), WireStatus::BAD_VALUE);
    EXPECT_EQ(answerTo(IBase::notifySyspropsChanged, true, base, 5), WireStatus::BAD_VALUE);
    ParcelWriter writer;
    hidl::writeInterfaceToken(writer, own);
    writer.writeInt32(1);
    writer.writeInt32(2);
    EXPECT_EQ(mProcess->call(mObject, IBurstContext::freeMemory, false, testing::capture(writer))
                      ->status,
              WireStatus::BAD_VALUE);
    EXPECT_EQ(mObject->calls, 0);
}

// Whatever is refused, and wherever: what came with it is closed.
TEST_F(HidlBase, KeepsNoDescriptorOfACallThatIsRefused) {
    const size_t before = testing::openDescriptors();
    const auto call = [&](uint32_t code, bool oneway, std::string_view token) {
        ParcelWriter writer;
        hidl::writeInterfaceToken(writer, token);
        for (int i = 0; i < 254; ++i) {
            writer.writeDescriptor(0);
        }
        return mProcess->call(mObject, code, oneway, testing::capture(writer))->status;
    };
    const std::string_view own = IBurstContext::layout().descriptor;
    for (int round = 0; round < 10; ++round) {
        EXPECT_EQ(call(12345, false, own), WireStatus::UNKNOWN_TRANSACTION);
        EXPECT_EQ(call(IBurstContext::freeMemory, false, "x"), WireStatus::BAD_TYPE);
        EXPECT_EQ(call(IBurstContext::freeMemory, true, own), WireStatus::UNKNOWN_ERROR);
        EXPECT_EQ(call(IBurstContext::freeMemory, false, own), WireStatus::BAD_VALUE);
        EXPECT_EQ(call(IBase::debug, false, IBase::layout().descriptor), WireStatus::BAD_VALUE);
        EXPECT_EQ(call(IBase::notifySyspropsChanged, true, IBase::layout().descriptor),
                  WireStatus::BAD_VALUE);
    }
    EXPECT_LE(testing::openDescriptors(), before);
}

TEST_F(HidlBase, ServesMethodOfItsOwn) {
    EXPECT_EQ(answerTo(IBurstContext::freeMemory, false, IBurstContext::layout().descriptor, 5),
              WireStatus::OK);
    EXPECT_EQ(mObject->calls, 1);
    EXPECT_EQ(mObject->lastSlot, 5);
}

TEST_F(HidlBase, RefusesWrongTokens) {
    EXPECT_EQ(answerTo(IBurstContext::freeMemory, false, IBase::layout().descriptor),
              WireStatus::BAD_TYPE);
    EXPECT_EQ(answerTo(IBase::ping, false, IBurstContext::layout().descriptor),
              WireStatus::BAD_TYPE);
    EXPECT_EQ(answerTo(IBurstContext::freeMemory, false, ""), WireStatus::BAD_TYPE);
    EXPECT_EQ(mObject->calls, 0);
}

TEST_F(HidlBase, RefusesCallsWithoutAToken) {
    for (const std::vector<uint8_t>& data :
         {std::vector<uint8_t>(), std::vector<uint8_t>{'a', 'b', 'c', 'd'}}) {
        testing::SentParcel sent;
        sent.data = data;
        const Result<LoopbackProcess::Answer> answer =
                mProcess->call(mObject, IBase::ping, false, sent);
        ASSERT_TRUE(answer.ok());
        EXPECT_EQ(answer->status, WireStatus::BAD_TYPE);
    }
    EXPECT_EQ(mObject->calls, 0);
}

TEST_F(HidlBase, RefusesCallsThatAreOnewayByMistakeOrNot) {
    EXPECT_EQ(answerTo(IBurstContext::freeMemory, true, IBurstContext::layout().descriptor),
              WireStatus::UNKNOWN_ERROR);
    EXPECT_EQ(answerTo(IBase::notifySyspropsChanged, false, IBase::layout().descriptor),
              WireStatus::UNKNOWN_ERROR);
    EXPECT_EQ(mObject->calls, 0);
}

TEST_F(HidlBase, KnowsNoOtherCodes) {
    for (uint32_t code :
         {0U, 2U, 0xffffffffU, uint32_t{IBase::linkToDeath}, uint32_t{IBase::unlinkToDeath}}) {
        EXPECT_EQ(answerTo(code, false, IBurstContext::layout().descriptor),
                  WireStatus::UNKNOWN_TRANSACTION);
    }
}

TEST_F(HidlBase, AnswersArgumentsThatAreCutShort) {
    ParcelWriter writer;
    hidl::writeRequestHead(writer, IBurstContext::layout(), IBurstContext::freeMemory);
    Result<LoopbackProcess::Answer> answer =
            mProcess->call(mObject, IBurstContext::freeMemory, false, testing::capture(writer));
    ASSERT_TRUE(answer.ok());
    EXPECT_EQ(answer->status, WireStatus::BAD_VALUE);
    EXPECT_EQ(mObject->calls, 0);
}

TEST(InterfaceLayouts, ListInheritedMethodsWithTheirOwnTokens) {
    const hidl::InterfaceLayout& layout = IPreparedModel::layout();
    ASSERT_EQ(layout.chain.size(), 4U);
    EXPECT_EQ(layout.hashes.size(), 4U);
    EXPECT_EQ(layout.chain.back(), IBase::layout().descriptor);
    const hidl::MethodLayout* execute = findMethod(layout, IPreparedModel::execute);
    ASSERT_NE(execute, nullptr);
    EXPECT_EQ(execute->token, "android.hardware.neuralnetworks@1.0::IPreparedModel");
    const hidl::MethodLayout* ping = findMethod(layout, IBase::ping);
    ASSERT_NE(ping, nullptr);
    EXPECT_EQ(ping->token, IBase::layout().descriptor);
}

}  // namespace

}  // namespace halyard::hal
