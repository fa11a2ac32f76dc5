// SPDX-License-Identifier: Apache-2.0

#include "hal/hidl/registration.h"

#include <chrono>
#include <cstring>
#include <utility>

#include "engine/base/log.h"

namespace halyard::hal::hidl {

namespace {

// How long to wait for the next manager between two looks at whether to end.
constexpr std::chrono::milliseconds kWaitSlice{500};
// After a manager that answered, but did not take the service.
constexpr std::chrono::milliseconds kPause{1000};

}  // namespace

Registration::Registration(const std::shared_ptr<BinderProcess>& process, std::string_view name,
                           std::shared_ptr<LocalObject> service,
                           std::span<const std::string_view> chain)
    : mProcess(process),
      mManager(process),
      mName(name),
      mService(std::move(service)),
      mChain(chain.begin(), chain.end()) {}

Result<std::unique_ptr<Registration>> Registration::start(
        const std::shared_ptr<BinderProcess>& process, std::string_view name,
        std::shared_ptr<LocalObject> service, std::span<const std::string_view> chain) {
    if (service == nullptr || chain.empty()) {
        return invalidArgument("a registration needs a service and its interfaces");
    }
    std::unique_ptr<Registration> registration(
            new Registration(process, name, std::move(service), chain));
    HALYARD_RETURN_IF_ERROR(registration->add());
    if (Status watched = registration->watch(); !watched.ok()) {
        log(LogLevel::WARNING, watched.withContext("watching hwservicemanager").toString());
        registration->mState->lost = true;
    }
    // Not std::thread: that one has no way to fail but an exception.
    if (int error = pthread_create(&registration->mThread, nullptr, &run, registration.get());
        error != 0) {
        return Status(StatusCode::RESOURCE_EXHAUSTED,
                      std::string("starting a thread: ") + std::strerror(error));
    }
    registration->mStarted = true;
    return registration;
}

Registration::~Registration() {
    {
        const std::lock_guard lock(mState->mutex);
        mState->ending = true;
        mState->changed.notify_all();
    }
    if (mStarted) {
        pthread_join(mThread, nullptr);
    }
}

void* Registration::run(void* self) {
    static_cast<Registration*>(self)->keep();
    return nullptr;
}

bool Registration::isEnding() const {
    const std::lock_guard lock(mState->mutex);
    return mState->ending;
}

Status Registration::add() {
    const std::vector<std::string_view> chain(mChain.begin(), mChain.end());
    return mManager.add(mName, mService, chain);
}

Status Registration::watch() {
    HALYARD_RETURN_IF_ERROR(mProcess->contextManager()
                                    ->linkToDeath([state = mState] {
                                        const std::lock_guard lock(state->mutex);
                                        state->lost = true;
                                        state->changed.notify_all();
                                    })
                                    .status());
    // A manager that knows the service now, after the link, had it before: the link is to it, and
    // not to one that came in between, or to nobody.
    HALYARD_ASSIGN_OR_RETURN(const ObjectRef known, mManager.get(mChain.front(), mName));
    return isNull(known) ? Status(StatusCode::UNAVAILABLE, "it does not know " + mName) : Status();
}

void Registration::keep() {
    for (;;) {
        {
            std::unique_lock lock(mState->mutex);
            mState->changed.wait(lock, [this] { return mState->lost || mState->ending; });
            if (mState->ending) {
                return;
            }
            mState->lost = false;
        }
        log(LogLevel::WARNING, "hwservicemanager died; waiting for the next");
        while (!mManager.waitUntilReady(kWaitSlice).ok()) {
            if (isEnding()) {
                return;
            }
        }
        Status kept = add();
        if (kept.ok()) {
            kept = watch();
        }
        if (kept.ok()) {
            log(LogLevel::INFO, "registered " + mChain.front() + "/" + mName + " again");
            continue;
        }
        log(LogLevel::WARNING, kept.withContext("registering again").toString());
        std::unique_lock lock(mState->mutex);
        mState->lost = true;
        mState->changed.wait_for(lock, kPause, [this] { return mState->ending; });
    }
}

}  // namespace halyard::hal::hidl
