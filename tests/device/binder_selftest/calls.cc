// SPDX-License-Identifier: Apache-2.0

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "tests/device/binder_selftest/claims.h"
#include "tests/device/binder_selftest/client.h"

namespace halyard::hal::selftest {

void checkCalls(Client& client) {
    claim(eventually([&] { return client.numberIs(8, INCREMENT, 7); }), "a call gets its answer");
    claim(client.number(999).status().code() == StatusCode::UNSUPPORTED,
          "an unknown code is told as such");
    claim(client.number(INCREMENT, ParcelWriter()).status().code() == StatusCode::INVALID_ARGUMENT,
          "a parcel without arguments is refused");
    claim(client.number(BAD_REPLY).status().code() == StatusCode::INTERNAL,
          "a reply that the kernel refuses reaches the caller as a failure");
    claim(client.numberIs(2, INCREMENT, 1), "the thread that gave it lives on");

    Result<std::unique_ptr<Reply>> big = [&] {
        ParcelWriter size;
        size.writeInt32(900 * 1024);
        return client.process->transact(client.hub, BIG, size);
    }();
    claim(big.ok() && (*big)->reader().readBuffer(900 * 1024).ok(), "900 KiB come back in a reply");
    big = internalError("freed");
    claim(client.number(BIG, 2 * 1024 * 1024).status().code() == StatusCode::INTERNAL,
          "a reply larger than the receive buffer is a failure");
    bool many = true;
    for (int i = 0; i < 20 && many; ++i) {
        ParcelWriter size;
        size.writeInt32(700 * 1024);
        many = client.process->transact(client.hub, BIG, size).ok();
    }
    claim(many, "buffers are given back, one large reply after the other");

    bool sent = true;
    for (int i = 1; i <= 10; ++i) {
        sent = sent && client.send(NOTE, i).ok();
    }
    claim(sent && eventually([&] { return client.numberIs(55, NOTED); }),
          "oneway calls all arrive");
}

void checkReceiveBuffer(Client& client) {
    std::atomic<int> held = 0;
    std::vector<std::thread> callers;
    for (int i = 0; i < 3; ++i) {
        callers.emplace_back([&] {
            ParcelWriter large;
            large.writeBuffer(large.keepZeroed(kLargeArgument));
            held += client.process->transact(client.hub, HOLD, large).ok() ? 1 : 0;
        });
        // One after the other arrives, while all before it are at work.
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
    }
    for (std::thread& caller : callers) {
        caller.join();
    }
    claim(held == 3, "calls at work hold no part of the receive buffer");
}

void checkThreads(Client& client) {
    // One thread was started; the kernel asks for the others as calls pile up.
    std::atomic<int> met = 0;
    std::vector<std::thread> callers;
    constexpr int kCallers = 1 + static_cast<int>(kSpawnedThreads);
    for (int i = 0; i < kCallers; ++i) {
        callers.emplace_back([&] { met += client.numberIs(1, MEET, kCallers) ? 1 : 0; });
    }
    for (std::thread& caller : callers) {
        caller.join();
    }
    claim(met == kCallers, "4 threads are spawned and serve at once");
}

}  // namespace halyard::hal::selftest
