// SPDX-License-Identifier: Apache-2.0
//
// A service that stays registered with a service manager: also when that dies and comes back, and
// when another service takes the name.

#pragma once

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "engine/base/status.h"
#include "hal/binder/object.h"
#include "hal/binder/process.h"

namespace halyard::hal {

// One service's name with a service manager, whichever it is. Used by one thread at a time.
class ServiceName {
  public:
    virtual ~ServiceName() = default;
    // For people: of the manager, and the name.
    virtual std::string manager() const = 0;
    virtual std::string name() const = 0;
    // UNAVAILABLE if the manager does not answer by then.
    virtual Status waitUntilReady(std::chrono::milliseconds timeout) = 0;
    virtual Status add() = 0;
    // The object that has the name; null: none.
    virtual Result<ObjectRef> known() = 0;
    // Has `onRegistration` called whenever something gets the name, on any thread. Asked once of
    // each manager.
    virtual Status listen(std::function<void()> onRegistration) = 0;
};

// Has one thread of its own, which sleeps until the manager dies or tells of a registration under
// the name; in case neither is told, it looks now and then. Its end leaves the service with the
// manager that has it.
class Registration {
  public:
    // Registers `service` as ServiceName::add() does, and fails as that does. What fails from then
    // on is logged and tried again. The process must serve calls.
    static Result<std::unique_ptr<Registration>> start(
            const std::shared_ptr<BinderProcess>& process, std::unique_ptr<ServiceName> name,
            std::shared_ptr<LocalObject> service,
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

    Registration(const std::shared_ptr<BinderProcess>& process, std::unique_ptr<ServiceName> name,
                 std::shared_ptr<LocalObject> service, std::chrono::milliseconds lookEvery);
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

    const std::shared_ptr<BinderProcess> mProcess;
    const std::unique_ptr<ServiceName> mName;
    const std::shared_ptr<LocalObject> mService;
    const std::chrono::milliseconds mLookEvery;
    const std::shared_ptr<State> mState = std::make_shared<State>();
    bool mStarted = false;
    pthread_t mThread = {};
};

}  // namespace halyard::hal
