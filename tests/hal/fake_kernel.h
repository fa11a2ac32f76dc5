// SPDX-License-Identifier: Apache-2.0
//
// A binder driver for tests: it hands out the returns it is given, and notes every command.

#pragma once

#include <linux/android/binder.h>

#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <thread>
#include <vector>

#include "engine/base/status.h"
#include "hal/binder/kernel.h"

namespace halyard::hal::testing {

// A BR_* stream under construction.
class Returns {
  public:
    Returns& add(uint32_t command) { return addBytes(command, {}); }
    template <typename Payload>
    Returns& add(uint32_t command, const Payload& payload) {
        return addBytes(command, {reinterpret_cast<const uint8_t*>(&payload), sizeof(payload)});
    }
    const std::vector<uint8_t>& bytes() const { return mBytes; }

  private:
    Returns& addBytes(uint32_t command, std::span<const uint8_t> payload);
    std::vector<uint8_t> mBytes;
};

// A command as it was written, with the data that it pointed to.
struct SentCommand {
    uint32_t code = 0;
    std::vector<uint8_t> payload;
    std::vector<uint8_t> data;
    std::vector<uint64_t> offsets;
    std::thread::id thread;

    template <typename Payload>
    Payload as() const {
        Payload value = {};
        std::memcpy(&value, payload.data(), std::min(sizeof(value), payload.size()));
        return value;
    }
    // The first word of the data.
    int32_t word() const;
};

// Like the driver, it keeps returns for one thread apart from work for any serving thread, and
// answers a reply or a oneway call with BR_TRANSACTION_COMPLETE. Buffers are allocations of their
// own, freed by BC_FREE_BUFFER, so that a sanitizer sees any use after that.
class FakeKernel final : public BinderKernel {
  public:
    // Work for whichever serving thread comes first.
    void deliver(const Returns& returns);
    // A parcel in the receive buffer, as the payload of BR_TRANSACTION or BR_REPLY.
    binder_transaction_data parcel(std::span<const uint8_t> data,
                                   std::span<const uint64_t> offsets = {});
    binder_transaction_data parcelOfWord(int32_t word);
    // A word and so many descriptors, which are open in this process from now on.
    binder_transaction_data parcelOfDescriptors(int32_t word, size_t count);
    // An array of descriptors that are open in this process, which is to close them, or to have
    // them closed by giving back the buffer.
    binder_transaction_data parcelOfArray(std::vector<int> descriptors);
    // A call to the object that lies at `pointer`.
    binder_transaction_data callTo(const void* pointer, uint32_t code, int32_t word,
                                   uint32_t flags = TF_ACCEPT_FDS);

    // The returns of a synchronous BC_TRANSACTION_SG to the calling thread. Set before calls are
    // made; runs without the lock. Default: BR_REPLY with the word 0.
    std::function<Returns(const SentCommand& call)> onCall;
    // The same for oneway calls and replies; BR_TRANSACTION_COMPLETE unless set.
    std::function<Returns(const SentCommand& sent)> onOneway;
    std::function<Returns(const SentCommand& sent)> onReply;
    // Makes writeRead() fail so from now on.
    void fail(Status failure);
    // How a single exchange fails. NOT_TAKEN: before the kernel took a command. TAKEN: after it
    // took all of them, before it gave anything. CUT_SHORT, GARBLED: what it gives makes no sense.
    enum class Fault : uint8_t { NOT_TAKEN, TAKEN, CUT_SHORT, GARBLED };
    // The exchange that comes after `others` more.
    void failExchange(size_t others, Fault fault);
    // How many there have been.
    size_t exchanges() const;
    // Whether it is an old one, that closes the descriptors of arrays whichever side frees their
    // buffer.
    bool closesForAll = false;
    // The failures of these.
    Status maxThreadsFailure;
    Status contextManagerFailure;

    // All commands of a code so far.
    std::vector<SentCommand> sent(uint32_t code) const;
    // All codes so far but those of buffers, in order.
    std::vector<uint32_t> sentCodes() const;
    // Waits until `count` commands of the code were sent; false if it takes too long.
    bool waitForSent(uint32_t code, size_t count) const;
    // Waits until all that deliver() was given has been fetched and its threads wait again.
    bool waitUntilIdle() const;
    size_t buffersInUse() const;
    bool wrongFree() const;
    uint32_t maxThreads() const { return mMaxThreads; }
    size_t exitedThreads() const;

    Exchange writeRead(std::span<const uint8_t> commands, std::span<uint8_t> returns) override;
    Status freeBufferOnly(uint64_t address) override;
    Status setMaxThreads(uint32_t threads) override;
    Status becomeContextManager(uint64_t pointer, const ObjectFlags& flags) override;
    void wakeThreads() override;
    void exitThread() override;
    bool inReceiveBuffer(uint64_t address, uint64_t size) const override;

    uint64_t contextManager = 0;
    ObjectFlags contextManagerFlags = {.takesDescriptors = false, .mostNice = 0};

  private:
    struct Thread {
        std::deque<std::vector<uint8_t>> own;
        bool serves = false;
        bool needsReturn = false;
        bool waits = false;
    };
    using Lock = std::unique_lock<std::mutex>;
    Status take(Lock& lock, Thread& thread, std::span<const uint8_t> commands);
    // Takes back what was never given to anybody, as a thread's end does.
    void discard(const std::vector<uint8_t>& returns);
    void answer(Lock& lock, Thread& thread, const SentCommand& sent);

    mutable std::mutex mMutex;
    mutable std::condition_variable mChanged;
    std::map<std::thread::id, Thread> mThreads;
    // Served, and left to begin anew: what they owe is still to come.
    std::set<std::thread::id> mComingBack;
    std::deque<std::vector<uint8_t>> mWork;
    std::vector<SentCommand> mSent;
    std::map<uint64_t, std::vector<uint64_t>> mBuffers;  // by address
    std::map<uint64_t, std::vector<int>> mArrays;        // of these
    Status mFailure;
    size_t mExchanges = 0;
    size_t mFaultyExchange = static_cast<size_t>(-1);
    Fault mFault = Fault::NOT_TAKEN;
    bool mWrongFree = false;
    uint32_t mMaxThreads = 0;
    size_t mExited = 0;
};

}  // namespace halyard::hal::testing
