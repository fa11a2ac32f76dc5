// SPDX-License-Identifier: Apache-2.0

#include "hal/service/registration.h"

#include <chrono>
#include <cstring>
#include <utility>

#include "engine/base/log.h"

namespace halyard::hal {

namespace {

// How long to wait for the next manager between two looks at whether to end.
constexpr std::chrono::milliseconds kWaitSlice{500};
// After a manager that answered, but did not take the service; and between two times that a name is
// taken back, for which another service may live, too.
constexpr std::chrono::milliseconds kPause{1000};

}  // namespace

void Registration::State::set(bool State::*what) {
    const std::lock_guard lock(mutex);
    this->*what = true;
    changed.notify_all();
}

Registration::Registration(const std::shared_ptr<BinderProcess>& process,
                           std::unique_ptr<ServiceName> name, std::shared_ptr<LocalObject> service,
                           std::chrono::milliseconds lookEvery)
    : mProcess(process),
      mName(std::move(name)),
      mService(std::move(service)),
      mLookEvery(lookEvery) {}

Result<std::unique_ptr<Registration>> Registration::start(
        const std::shared_ptr<BinderProcess>& process, std::unique_ptr<ServiceName> name,
        std::shared_ptr<LocalObject> service, std::chrono::milliseconds lookEvery) {
    if (service == nullptr || name == nullptr) {
        return invalidArgument("a registration needs a service and its name");
    }
    std::unique_ptr<Registration> registration(
            new Registration(process, std::move(name), std::move(service), lookEvery));
    HALYARD_RETURN_IF_ERROR(registration->mName->add());
    if (Status watched = registration->watch(); !watched.ok()) {
        log(LogLevel::WARNING,
            watched.withContext("watching " + registration->mName->manager()).toString());
        registration->mState->set(&State::lost);
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
    mState->set(&State::ending);
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

Status Registration::watch() {
    HALYARD_RETURN_IF_ERROR(mProcess->contextManager()
                                    ->linkToDeath([state = mState] { state->set(&State::lost); })
                                    .status());
    // A manager that knows the service now, after the link, had it before: so the link is to it,
    // and not to one that came in between, nor to none.
    HALYARD_ASSIGN_OR_RETURN(const ObjectRef known, mName->known());
    if (isNull(known)) {
        return Status(StatusCode::UNAVAILABLE, "it does not know " + mName->name());
    }
    const Status listening = mName->listen([state = mState] { state->set(&State::doubted); });
    if (!listening.ok()) {
        // A look now and then is left.
        log(LogLevel::WARNING, listening.withContext("listening for " + mName->name()).toString());
    }
    return {};
}

void Registration::pause() {
    std::unique_lock lock(mState->mutex);
    mState->changed.wait_for(lock, kPause, [this] { return mState->ending; });
}

void Registration::registerAnew() {
    log(LogLevel::WARNING, mName->manager() + " died; waiting for the next");
    while (!mName->waitUntilReady(kWaitSlice).ok()) {
        if (isEnding()) {
            return;
        }
    }
    Status kept = mName->add();
    if (kept.ok()) {
        kept = watch();
    }
    if (kept.ok()) {
        log(LogLevel::INFO, "registered " + mName->name() + " again");
        return;
    }
    log(LogLevel::WARNING, kept.withContext("registering again").toString());
    mState->set(&State::lost);
    pause();
}

void Registration::lookAndMend() {
    const Result<ObjectRef> known = mName->known();
    if (!known.ok() || *known == ObjectRef(mService)) {
        return;  // a manager that does not answer dies, and that is told
    }
    const std::string name = mName->name();
    log(LogLevel::WARNING, isNull(*known) ? name + " was taken out of " + mName->manager()
                                          : name + " is another service's");
    Status added = mName->add();
    if (added.ok()) {
        log(LogLevel::INFO, "registered " + name + " again");
    } else {
        log(LogLevel::WARNING, added.withContext("registering again").toString());
        mState->set(&State::doubted);
    }
    pause();
}

void Registration::keep() {
    for (;;) {
        bool lost = false;
        {
            std::unique_lock lock(mState->mutex);
            mState->changed.wait_for(lock, mLookEvery, [this] {
                return mState->lost || mState->doubted || mState->ending;
            });
            if (mState->ending) {
                return;
            }
            lost = std::exchange(mState->lost, false);
            mState->doubted = false;
        }
        if (lost) {
            registerAnew();
        } else {
            lookAndMend();
        }
    }
}

}  // namespace halyard::hal
