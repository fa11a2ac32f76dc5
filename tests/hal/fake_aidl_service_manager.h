// SPDX-License-Identifier: Apache-2.0
//
// A servicemanager for the tests of its clients, and a process that reaches it.

#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "hal/aidl/aidl_object.h"
#include "tests/hal/loopback.h"

namespace halyard::hal::testing {

// Takes what is declared. Thread-safe.
class FakeAidlServiceManager final : public aidl::AidlObject {
  public:
    FakeAidlServiceManager(const aidl::Release& release, std::set<std::string> declared);

    // How many services it took.
    int added();
    // False if it takes too long.
    bool waitForAdded(int count);
    // Replaces a registered service from now on; null: there is none.
    void replace(const std::string& name, const ObjectRef& service);
    std::shared_ptr<RemoteObject> listener();

  protected:
    uint32_t methodOf(uint32_t code) const override;
    Status serve(uint32_t code, Call& call) override;

  private:
    Status add(Call& call);
    Status listen(Call& call);

    const std::set<std::string> mDeclared;
    std::mutex mMutex;
    std::condition_variable mChanged;
    std::map<std::string, ObjectRef> mServices;
    std::shared_ptr<RemoteObject> mListener;
    int mAdded = 0;
};

// A process whose context manager that is, or its successor. Thread-safe.
class ProcessWithAidlManager final : public LoopbackProcess {
  public:
    std::shared_ptr<RemoteObject> contextManager() override;
    std::shared_ptr<FakeAidlServiceManager> startManager(
            const aidl::Release& release = aidl::Release(),
            std::set<std::string> declared = {"a.IThing/one"});

  private:
    std::mutex mMutex;
    std::shared_ptr<RemoteObject> mManager;
};

}  // namespace halyard::hal::testing
