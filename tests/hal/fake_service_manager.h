// SPDX-License-Identifier: Apache-2.0
//
// A hwservicemanager for the tests of its clients, and a process that reaches it.

#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <condition_variable>

#include "hal/binder/incoming_call.h"
#include "hal/hidl/hidl_object.h"
#include "tests/hal/loopback.h"

namespace halyard::hal::testing {

// A registered service, which is never called.
class UncalledService final : public LocalObject {
  public:
    WireStatus onTransact(IncomingCall& /*call*/) override {
        return WireStatus::UNKNOWN_TRANSACTION;
    }
};

// Takes one service, under whatever name, and notes what it is asked. Thread-safe.
class FakeServiceManager final : public hidl::HidlObject {
  public:
    struct Behaviour {
        bool knowsChains = true;  // as those from 1.2 on do
        bool notifies = true;     // knows registerForNotifications
        int refusals = 0;         // how many services it refuses first
        int forgotten = 0;        // and how many of those that it takes then it does not know after
    };
    explicit FakeServiceManager(const Behaviour& behaviour);

    // One line per call, but for list().
    std::vector<std::string> asked();
    // How many services it took.
    int added();
    // False if it takes too long.
    bool waitForAdded(int count);

    // Replaces the registered service from now on; null: there is none.
    void replace(const std::shared_ptr<RemoteObject>& service);
    // Who wants to hear of that, as registered last.
    std::shared_ptr<RemoteObject> listener();

  protected:
    Status serve(uint32_t code, Call& call) override;

  private:
    Status add(Call& call, bool withChain);
    Status get(Call& call);
    Status listen(Call& call);

    std::mutex mMutex;
    std::condition_variable mChanged;
    Behaviour mBehaviour;
    std::vector<std::string> mAsked;
    int mAdded = 0;
    std::shared_ptr<RemoteObject> mService;
    std::shared_ptr<RemoteObject> mListener;
};

// A process whose context manager that is, or its successor. Thread-safe.
class ProcessWithManager final : public LoopbackProcess {
  public:
    std::shared_ptr<RemoteObject> contextManager() override;
    std::shared_ptr<FakeServiceManager> startManager(
            const FakeServiceManager::Behaviour& behaviour = {});
    // That something was registered.
    void tellListener(FakeServiceManager& manager);

  private:
    std::mutex mMutex;
    std::shared_ptr<RemoteObject> mManager;
};

}  // namespace halyard::hal::testing
