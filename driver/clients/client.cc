// SPDX-License-Identifier: Apache-2.0

#include "driver/clients/client.h"

#include <unistd.h>

#include <string>
#include <utility>

namespace halyard::driver {

void Client::end() {
    mEnded.store(true);
    const Status gone = alive();
    mShares.fences->refuseWaiting(gone);  // first: what waits here may come to wait there
    mShares.preparing->refuseWaiting(gone);
    mShares.executing->refuseWaiting(gone);
    mIdle->dropAllOf(mNumber);
}

Status Client::alive() const {
    return mEnded.load() ? Status(StatusCode::UNAVAILABLE, "the client's process has died")
                         : Status();
}

Result<Client::Admission> Client::admit(size_t bytes) const {
    Admission admission;
    HALYARD_ASSIGN_OR_RETURN(admission.task, Reservation::create(mAccount.tasks, 1));
    HALYARD_ASSIGN_OR_RETURN(admission.memory, Reservation::create(mAccount.memory, bytes));
    HALYARD_RETURN_IF_ERROR(alive());
    return admission;
}

bool Client::hasWitness() const {
    const std::lock_guard lock(mMutex);
    return mWitness != nullptr;
}

void Client::keepWitness(std::shared_ptr<void> witness) {
    const std::lock_guard lock(mMutex);
    std::swap(mWitness, witness);  // one that is not needed goes outside the lock
}

Clients::Clients(Account device, const AccountLimits& limits, std::shared_ptr<IdleMemory> idle,
                 const Shared& shared)
    : mDevice(std::move(device)),
      mLimits(limits),
      mIdle(std::move(idle)),
      mShared(shared),
      mOwn(make({.pid = getpid(), .uid = getuid()}, mLastNumber, makeUser(getuid(), mDevice),
                mDevice, {})) {}

std::shared_ptr<User> Clients::makeUser(uint32_t uid, Account account) {
    return std::make_shared<User>(uid, std::move(account),
                                  User::Shares{.preparing = mShared.preparing.makeGroup(),
                                               .executing = mShared.executing.makeGroup(),
                                               .calls = mShared.calls.makeGroup()});
}

std::shared_ptr<User> Clients::userOf(uint32_t uid) {
    std::weak_ptr<User>& known = mByUid[uid];
    std::shared_ptr<User> user = known.lock();
    if (user == nullptr) {
        user = makeUser(uid, accountOfUser(mDevice, mLimits,
                                           [idle = mIdle, uid] { idle->dropAllOfUser(uid); }));
        known = user;
        std::erase_if(mByUid, [](const auto& entry) { return entry.second.expired(); });
    }
    return user;
}

std::shared_ptr<Client> Clients::make(ProcessId process, AccountNumber number,
                                      std::shared_ptr<User> user, Account account,
                                      Reservation place) {
    const User::Shares& shares = user->shares();
    Client::Shares own = {.preparing = shares.preparing->makeShare(),
                          .executing = shares.executing->makeShare(),
                          .fences = mShared.fences.makeShare(),
                          .calls = shares.calls->makeShare()};
    return std::make_shared<Client>(process, number, std::move(user), std::move(account),
                                    std::move(place), mIdle, std::move(own));
}

Result<std::shared_ptr<Client>> Clients::of(ProcessId process) {
    // Whatever ends with this reference ends outside the lock.
    std::shared_ptr<Client> former;
    std::shared_ptr<User> user;
    const std::lock_guard lock(mMutex);
    if (const auto known = mByPid.find(process.pid); known != mByPid.end()) {
        former = known->second.lock();
        // A process that has died may have left its number to another.
        if (former != nullptr && !former->ended().load() && former->process() == process) {
            return former;
        }
    }
    user = userOf(process.uid);
    Result<Reservation> place = Reservation::create(user->account().processes, 1);
    if (!place.ok()) {
        return place.status().withContext("an account for a process of user " +
                                          std::to_string(process.uid));
    }
    const AccountNumber number = ++mLastNumber;
    std::shared_ptr<Client> client =
            make(process, number, user,
                 accountOfProcess(user->account(), mLimits,
                                  [idle = mIdle, number] { idle->dropAllOf(number); }),
                 std::move(*place));
    std::erase_if(mByPid, [](const auto& entry) { return entry.second.expired(); });
    mByPid[process.pid] = client;
    return client;
}

std::vector<std::shared_ptr<Client>> Clients::open() const {
    std::vector<std::shared_ptr<Client>> clients;
    const std::lock_guard lock(mMutex);
    for (const auto& [pid, known] : mByPid) {
        if (std::shared_ptr<Client> client = known.lock()) {
            clients.push_back(std::move(client));
        }
    }
    return clients;
}

std::vector<std::shared_ptr<User>> Clients::users() const {
    std::vector<std::shared_ptr<User>> users;
    const std::lock_guard lock(mMutex);
    for (const auto& [uid, known] : mByUid) {
        if (std::shared_ptr<User> user = known.lock()) {
            users.push_back(std::move(user));
        }
    }
    return users;
}

}  // namespace halyard::driver
