// SPDX-License-Identifier: Apache-2.0

#include <unistd.h>

#include <atomic>
#include <memory>

#include "hal/binder/incoming_call.h"
#include "tests/device/binder_selftest/claims.h"
#include "tests/device/binder_selftest/client.h"

namespace halyard::hal::selftest {

namespace {

// An object of the client's.
class Incrementer : public LocalObject {
  public:
    explicit Incrementer(BinderProcess& process) : mProcess(process) {}

    WireStatus onTransact(IncomingCall& call) override {
        if (call.code() == INCREMENT) {
            Result<int32_t> number = call.arguments().readInt32();
            Result<ParcelWriter*> reply = call.endArguments();
            if (!number.ok() || !reply.ok()) {
                return WireStatus::NOT_ENOUGH_DATA;
            }
            servedOn = gettid();
            (*reply)->writeInt32(*number + 1);
            return WireStatus::OK;
        }
        if (call.code() == RECURSE) {
            auto other = asRemote(call.arguments().readObject());
            ParcelWriter again;
            again.writeObject(shared_from_this());
            Result<std::unique_ptr<Reply>> deeper = mProcess.transact(other, RECURSE, again);
            return deeper.ok() ? WireStatus::OK : WireStatus::UNKNOWN_ERROR;
        }
        return WireStatus::UNKNOWN_TRANSACTION;
    }
    void onLastRelease() override { ++lastReleases; }

    std::atomic<int> servedOn = 0;
    std::atomic<int> lastReleases = 0;

  private:
    BinderProcess& mProcess;
};

}  // namespace

void checkObjects(Client& client) {
    auto local = std::make_shared<Incrementer>(*client.process);
    ParcelWriter arguments;
    arguments.writeObject(local);
    arguments.writeInt32(41);
    Result<int32_t> answer = client.number(CALL_BACK, arguments);
    claim(answer.ok() && *answer == 42, "a nested call comes back to the caller");
    claim(local->servedOn == gettid(), "and is served by the thread that waits");
    // Two owners are left: this function and the parcel.
    claim(eventually([&] { return local->lastReleases == 1 && local.use_count() == 2; }),
          "the object is let go once the other side has");

    ParcelWriter own;
    own.writeObject(local);
    claim(client.number(IS_OWN, own).ok() && *client.number(IS_OWN, own) == 0,
          "an object of ours is remote over there");
    ParcelWriter recursion;
    recursion.writeObject(local);
    claim(!client.number(RECURSE, recursion).ok() && client.numberIs(6, INCREMENT, 5),
          "endless recursion between two processes ends, and both live on");

    std::shared_ptr<RemoteObject> made = client.makeObject();
    if (!claim(made != nullptr, "an object comes in a reply")) {
        return;
    }
    ParcelWriter home;
    home.writeObject(made);
    Result<int32_t> isOwn = client.number(IS_OWN, home);
    claim(isOwn.ok() && *isOwn == 1, "and comes home as itself");
    Result<int32_t> called = callForNumber(*client.process, made, 77, ParcelWriter());
    claim(called.ok() && *called == 77, "and can be called");
    claim(client.numberIs(0, COUNT_RELEASED), "it lives as long as its handle");
    made = nullptr;
}

void checkRelease(Client& client) {
    claim(eventually([&] {
              // The parcel that carried the handle is gone too.
              return client.numberIs(1, COUNT_RELEASED);
          }),
          "an object is destroyed after its last remote user");
}

}  // namespace halyard::hal::selftest
