// SPDX-License-Identifier: Apache-2.0

#include "driver/client.h"

#include <unistd.h>

#include <functional>
#include <utility>

namespace halyard::driver {
namespace {

std::shared_ptr<Budget> partOf(const std::shared_ptr<Budget>& whole, size_t limit,
                               std::function<void()> reclaim = nullptr) {
    return std::make_shared<Budget>(limit == 0 ? whole->limit() : limit, whole, std::move(reclaim));
}

}  // namespace

void Client::end() {
    mEnded.store(true);
    const Status gone = alive();
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

Clients::Clients(Account device, const Limits& limits, std::shared_ptr<IdleExecutions> idle,
                 Scheduler& preparing, Scheduler& executing, CallGate& calls)
    : mDevice(std::move(device)),
      mLimits(limits),
      mIdle(std::move(idle)),
      mPreparing(preparing),
      mExecuting(executing),
      mCalls(calls),
      mOwn(make({.pid = getpid(), .uid = getuid()}, mDevice)) {}

Account Clients::partOfDevice(AccountNumber number) const {
    return {.memory = partOf(mDevice.memory, mLimits.memory,
                             [idle = mIdle, number] { idle->dropAllOf(number); }),
            .addressSpace = partOf(mDevice.addressSpace, mLimits.addressSpace),
            .mappings = partOf(mDevice.mappings, mLimits.mappings),
            .models = partOf(mDevice.models, mLimits.models),
            .tasks = partOf(mDevice.tasks, mLimits.tasks)};
}

std::shared_ptr<Client> Clients::make(ProcessId process, Account account) {
    return std::make_shared<Client>(process, mLastNumber, std::move(account), mIdle,
                                    Client::Shares{.preparing = mPreparing.makeShare(),
                                                   .executing = mExecuting.makeShare(),
                                                   .calls = mCalls.makeShare()});
}

std::shared_ptr<Client> Clients::of(ProcessId process) {
    const std::lock_guard lock(mMutex);
    std::weak_ptr<Client>& known = mByPid[process.pid];
    std::shared_ptr<Client> client = known.lock();
    // A process that has died may have left its number to another.
    if (client == nullptr || client->ended().load() || client->process() != process) {
        client = make(process, partOfDevice(++mLastNumber));
        known = client;
        std::erase_if(mByPid, [](const auto& entry) { return entry.second.expired(); });
    }
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

}  // namespace halyard::driver
