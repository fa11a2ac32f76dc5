// SPDX-License-Identifier: Apache-2.0
//
// Client: the account of one process that uses the device. Whatever the process makes the device
// hold is charged to it, against limits below the device's own, and ends with it. So what one
// client does leaves room for the others.
//
// Descriptors are not in the account: none outlives the call that it came with (model/memory.h).

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "driver/call_gate.h"
#include "driver/execute/idle_executions.h"
#include "driver/execute/precedence.h"
#include "driver/scheduler.h"
#include "engine/base/budget.h"
#include "engine/base/checkpoint.h"
#include "engine/base/status.h"

namespace halyard::driver {

// What can run short, of a device or of one client's part of it. Thread-safe.
struct Account {
    // Bytes of constants that are copied, of graphs, of arenas, of requests that wait.
    std::shared_ptr<Budget> memory;
    // Mapped pools: bytes of address space, and how many mappings.
    std::shared_ptr<Budget> addressSpace;
    std::shared_ptr<Budget> mappings;
    // Prepared models, those that are being prepared among them.
    std::shared_ptr<Budget> models;
    // Work that waits for its turn or runs, on threads of the device.
    std::shared_ptr<Budget> tasks;
};

// A process, as the kernel names it.
struct ProcessId {
    int32_t pid = 0;
    uint32_t uid = 0;

    bool operator==(const ProcessId&) const = default;
};

// Thread-safe. Shared by the models it has prepared and the work it has asked for; made by Clients.
class Client {
  public:
    // What the client's own parts of the schedulers and of the gate stand for.
    struct Shares {
        std::shared_ptr<Scheduler::Share> preparing;
        std::shared_ptr<Scheduler::Share> executing;
        std::shared_ptr<CallGate::Share> calls;
    };

    // What work that is asked for takes of the account until it has ended: it is charged while it
    // waits as while it runs.
    struct Admission {
        Reservation task;
        Reservation memory;
    };

    Client(ProcessId process, AccountNumber number, Account account,
           std::shared_ptr<IdleExecutions> idle, Shares shares)
        : mProcess(process),
          mNumber(number),
          mAccount(std::move(account)),
          mIdle(std::move(idle)),
          mShares(std::move(shares)) {}
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    const ProcessId& process() const { return mProcess; }
    // Unlike the process's number, never used again.
    AccountNumber number() const { return mNumber; }
    const Account& account() const { return mAccount; }
    const Shares& shares() const { return mShares; }

    // The process has died: work that waits is told so and never runs, work that runs stops at its
    // next checkpoint, and nothing new begins. Any thread, any number of times.
    void end();
    // Of its executions while they run.
    Precedence& precedence() const { return mPrecedence; }
    // Set by end(); outlived by the client.
    const std::atomic<bool>& ended() const { return mEnded; }
    // UNAVAILABLE once it has ended.
    Status alive() const;

    // For work on a thread of the device, which keeps so many bytes of the client's for as long as
    // it waits. RESOURCE_EXHAUSTED, or as alive().
    Result<Admission> admit(size_t bytes) const;

    // Keeps what tells of the process's death until the account closes; one is enough.
    bool hasWitness() const;
    void keepWitness(std::shared_ptr<void> witness);

  private:
    const ProcessId mProcess;
    const AccountNumber mNumber;
    const Account mAccount;
    const std::shared_ptr<IdleExecutions> mIdle;
    const Shares mShares;
    mutable Precedence mPrecedence;
    std::atomic<bool> mEnded = false;
    mutable std::mutex mMutex;
    std::shared_ptr<void> mWitness;
};

// The accounts that are open. Thread-safe.
class Clients {
  public:
    // How many of each a client may take; what is 0 is the device's own limit.
    struct Limits {
        size_t memory = 0;
        size_t addressSpace = 0;
        size_t mappings = 0;
        size_t models = 0;
        size_t tasks = 0;
    };
    // The schedulers and the gate outlive this.
    Clients(Account device, const Limits& limits, std::shared_ptr<IdleExecutions> idle,
            Scheduler& preparing, Scheduler& executing, CallGate& calls);

    // The account of that process: the one that is open, unless its process has died, or a new one.
    std::shared_ptr<Client> of(ProcessId process);
    // That of this process: of the device's own limits, never closed.
    const std::shared_ptr<Client>& own() const { return mOwn; }
    // All that are open but this process's, in no order.
    std::vector<std::shared_ptr<Client>> open() const;

  private:
    std::shared_ptr<Client> make(ProcessId process, Account account);
    Account partOfDevice(AccountNumber number) const;

    const Account mDevice;
    const Limits mLimits;
    const std::shared_ptr<IdleExecutions> mIdle;
    Scheduler& mPreparing;
    Scheduler& mExecuting;
    CallGate& mCalls;
    AccountNumber mLastNumber = 0;
    const std::shared_ptr<Client> mOwn;
    mutable std::mutex mMutex;  // guards what changes
    std::unordered_map<int32_t, std::weak_ptr<Client>> mByPid;
};

}  // namespace halyard::driver
