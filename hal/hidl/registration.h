// SPDX-License-Identifier: Apache-2.0
//
// A service that stays registered with hwservicemanager: also when that dies and comes back, and
// when another service takes the name.

#pragma once

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "hal/binder/process.h"
#include "hal/hidl/service_manager.h"

namespace halyard::hal::hidl {

// Has one thread of its own, which sleeps until the manager dies or tells of a registration under
// the name; in case neither is told, it looks now and then. Its end leaves the service with the
// manager that has it.
class Registration {
  public:
    // Registers `service` as HwServiceManager::add does, and fails as that does. What fails from
    // then on is logged and tried again. The process must serve calls.
    static Result<std::unique_ptr<Registration>> start(
            const std::shared_ptr<BinderProcess>& process, std::string_view name,
            std::shared_ptr<LocalObject> service, std::span<const std::string_view> chain,
            std::chrono::milliseconds lookEvery = std::chrono::minutes(1));
    // Waits for the thread, which may be in the midst of a call to the manager.
    ~Registration();
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;

  private:
    // Shared with the links to managers, which may fire late, and with what they call.
    struct State {
        void set(bool State::*what);

        std::mutex mutex;
        std::condition_variable changed;
        bool lost = false;     // the manager that had the service is dead
        bool doubted = false;  // something was registered under the name
        bool ending = false;
    };
    class Listener;

    Registration(const std::shared_ptr<BinderProcess>& process, std::string_view name,
                 std::shared_ptr<LocalObject> service, std::span<const std::string_view> chain,
                 std::chrono::milliseconds lookEvery);
    static void* run(void* self);
    void keep();
    // With the next manager, for as long as it takes, or until the end.
    void registerAnew();
    // With this one, if it has something else under the name.
    void lookAndMend();
    // Lets some time pass, unless it is the end.
    void pause();
    bool isEnding() const;
    // To be told when the manager dies that has the service now, and when it has another one.
    Status watch();
    Status add();

    const std::shared_ptr<BinderProcess> mProcess;
    HwServiceManager mManager;
    const std::string mName;
    const std::shared_ptr<LocalObject> mService;
    const std::vector<std::string> mChain;
    const std::chrono::milliseconds mLookEvery;
    const std::shared_ptr<State> mState = std::make_shared<State>();
    const std::shared_ptr<LocalObject> mListener;
    bool mStarted = false;
    pthread_t mThread = {};
};

}  // namespace halyard::hal::hidl
