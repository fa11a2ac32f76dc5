// SPDX-License-Identifier: Apache-2.0
//
// Client: the account of one process that uses the device, and User: the part of the device that
// the processes of one user have together. Whatever a process makes the device hold is charged to
// it and to its user, against limits below the device's own, and ends with it. So what one client
// does leaves room for the others, and so does what many of one user do.
//
// Descriptors are in the account as far as they outlive the call that they came with: those of
// memory that is used many times, and fences that are waited for.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "driver/clients/account.h"
#include "driver/clients/call_gate.h"
#include "driver/clients/fence_watch.h"
#include "driver/clients/idle_memory.h"
#include "driver/clients/precedence.h"
#include "driver/clients/scheduler.h"
#include "engine/base/budget.h"
#include "engine/base/checkpoint.h"
#include "engine/base/status.h"

namespace halyard::driver {

// A process, as the kernel names it.
struct ProcessId {
    int32_t pid = 0;
    uint32_t uid = 0;

    bool operator==(const ProcessId&) const = default;
};

// All processes of one user. Thread-safe; lives as long as an account of one of them.
class User {
  public:
    // The user's groups in the schedulers and in the call gate.
    struct Shares {
        std::shared_ptr<Scheduler::Group> preparing;
        std::shared_ptr<Scheduler::Group> executing;
        std::shared_ptr<CallGate::Group> calls;
    };

    User(uint32_t uid, Account account, Shares shares)
        : mUid(uid), mAccount(std::move(account)), mShares(std::move(shares)) {}
    User(const User&) = delete;
    User& operator=(const User&) = delete;

    uint32_t uid() const { return mUid; }
    const Account& account() const { return mAccount; }
    const Shares& shares() const { return mShares; }
    // Of its executions while they run: NNAPI lets priorities count among those of one user.
    Precedence& precedence() const { return mPrecedence; }

  private:
    const uint32_t mUid;
    const Account mAccount;
    const Shares mShares;
    mutable Precedence mPrecedence;
};

// Thread-safe. Shared by the models it has prepared and the work it has asked for; made by Clients.
class Client {
  public:
    // As User::Shares, of the process.
    struct Shares {
        std::shared_ptr<Scheduler::Share> preparing;
        std::shared_ptr<Scheduler::Share> executing;
        std::shared_ptr<FenceWatch::Share> fences;
        std::shared_ptr<CallGate::Share> calls;
    };

    // Charged to the account for work from when it is asked for until it has ended, while it waits
    // as while it runs.
    struct Admission {
        Reservation task;
        Reservation memory;
    };

    // Charged to the account for a prepared model, beyond what its program charges.
    struct Holdings {
        Reservation place;  // among the client's models
        Reservation memory;
    };

    // `place`: among the processes that have an account.
    Client(ProcessId process, AccountNumber number, std::shared_ptr<User> user, Account account,
           Reservation place, std::shared_ptr<IdleMemory> idle, Shares shares)
        : mProcess(process),
          mNumber(number),
          mUser(std::move(user)),
          mAccount(std::move(account)),
          mPlace(std::move(place)),
          mIdle(std::move(idle)),
          mShares(std::move(shares)) {}
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    const ProcessId& process() const { return mProcess; }
    // Unlike the process's number, never used again.
    AccountNumber number() const { return mNumber; }
    const std::shared_ptr<User>& user() const { return mUser; }
    const Account& account() const { return mAccount; }
    const Shares& shares() const { return mShares; }

    // The process has died: work that waits is told so and never runs, work that runs stops at its
    // next checkpoint, and nothing new begins. Any thread, any number of times.
    void end();
    // Its user's.
    Precedence& precedence() const { return mUser->precedence(); }
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
    const std::shared_ptr<User> mUser;
    const Account mAccount;
    const Reservation mPlace;
    const std::shared_ptr<IdleMemory> mIdle;
    const Shares mShares;
    std::atomic<bool> mEnded = false;
    mutable std::mutex mMutex;
    std::shared_ptr<void> mWitness;
};

// The accounts that are open. Thread-safe.
class Clients {
  public:
    // Clients have shares of these, which outlive this.
    struct Shared {
        Scheduler& preparing;
        Scheduler& executing;
        FenceWatch& fences;
        CallGate& calls;
    };
    Clients(Account device, const AccountLimits& limits, std::shared_ptr<IdleMemory> idle,
            const Shared& shared);

    // The account of that process: the one that is open, unless its process has died, or a new one.
    // RESOURCE_EXHAUSTED where its user, or all together, have too many.
    Result<std::shared_ptr<Client>> of(ProcessId process);
    // That of this process: of the device's own limits, never closed.
    const std::shared_ptr<Client>& own() const { return mOwn; }
    // All that are open but this process's, in no order.
    std::vector<std::shared_ptr<Client>> open() const;
    // Their users.
    std::vector<std::shared_ptr<User>> users() const;

  private:
    std::shared_ptr<User> makeUser(uint32_t uid, Account account);
    std::shared_ptr<User> userOf(uint32_t uid);
    std::shared_ptr<Client> make(ProcessId process, AccountNumber number,
                                 std::shared_ptr<User> user, Account account, Reservation place);

    const Account mDevice;
    const AccountLimits mLimits;
    const std::shared_ptr<IdleMemory> mIdle;
    const Shared mShared;
    AccountNumber mLastNumber = 0;
    const std::shared_ptr<Client> mOwn;
    mutable std::mutex mMutex;  // guards what changes
    std::unordered_map<int32_t, std::weak_ptr<Client>> mByPid;
    std::unordered_map<uint32_t, std::weak_ptr<User>> mByUid;
};

}  // namespace halyard::driver
