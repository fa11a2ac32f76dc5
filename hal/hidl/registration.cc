// SPDX-License-Identifier: Apache-2.0

#include "hal/hidl/registration.h"

#include <chrono>
#include <cstring>
#include <utility>

#include "engine/base/log.h"
#include "hal/hidl/hidl_object.h"
#include "hal/hidl/types.h"

namespace halyard::hal::hidl {

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

// Hears of what is registered under the name. Who it is does not matter: that is looked up.
class Registration::Listener final : public HidlObject {
  public:
    explicit Listener(std::shared_ptr<State> state)
        : HidlObject(manager::v1_0::IServiceNotification::layout()), mState(std::move(state)) {}
    ObjectFlags flags() const override {
        return {.takesDescriptors = false, .inheritsRealTime = true, .mostNice = 0};
    }

  protected:
    Status serve(uint32_t code, Call& call) override {
        if (code != manager::v1_0::IServiceNotification::onRegistration) {
            return unsupported("no handler");
        }
        HALYARD_RETURN_IF_ERROR(readValue<HidlString>(call.arguments).status());
        HALYARD_RETURN_IF_ERROR(readValue<HidlString>(call.arguments).status());
        HALYARD_RETURN_IF_ERROR(call.arguments.readBool().status());
        mState->set(&State::doubted);
        return call.endArguments().status();
    }

  private:
    const std::shared_ptr<State> mState;
};

Registration::Registration(const std::shared_ptr<BinderProcess>& process, std::string_view name,
                           std::shared_ptr<LocalObject> service,
                           std::span<const std::string_view> chain,
                           std::chrono::milliseconds lookEvery)
    : mProcess(process),
      mManager(process),
      mName(name),
      mService(std::move(service)),
      mChain(chain.begin(), chain.end()),
      mLookEvery(lookEvery),
      mListener(std::make_shared<Listener>(mState)) {}

Result<std::unique_ptr<Registration>> Registration::start(
        const std::shared_ptr<BinderProcess>& process, std::string_view name,
        std::shared_ptr<LocalObject> service, std::span<const std::string_view> chain,
        std::chrono::milliseconds lookEvery) {
    if (service == nullptr || chain.empty()) {
        return invalidArgument("a registration needs a service and its interfaces");
    }
    std::unique_ptr<Registration> registration(
            new Registration(process, name, std::move(service), chain, lookEvery));
    HALYARD_RETURN_IF_ERROR(registration->add());
    if (Status watched = registration->watch(); !watched.ok()) {
        log(LogLevel::WARNING, watched.withContext("watching hwservicemanager").toString());
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

Status Registration::add() {
    const std::vector<std::string_view> chain(mChain.begin(), mChain.end());
    return mManager.add(mName, mService, chain);
}

Status Registration::watch() {
    HALYARD_RETURN_IF_ERROR(mProcess->contextManager()
                                    ->linkToDeath([state = mState] { state->set(&State::lost); })
                                    .status());
    // A manager that knows the service now, after the link, had it before: the link is to it, and
    // not to one that came in between, or to nobody.
    HALYARD_ASSIGN_OR_RETURN(const ObjectRef known, mManager.get(mChain.front(), mName));
    if (isNull(known)) {
        return Status(StatusCode::UNAVAILABLE, "it does not know " + mName);
    }
    if (Status listening = mManager.listen(mChain.front(), mName, mListener); !listening.ok()) {
        // A look now and then is left.
        log(LogLevel::WARNING, listening.withContext("listening for " + mName).toString());
    }
    return {};
}

void Registration::pause() {
    std::unique_lock lock(mState->mutex);
    mState->changed.wait_for(lock, kPause, [this] { return mState->ending; });
}

void Registration::registerAnew() {
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
        return;
    }
    log(LogLevel::WARNING, kept.withContext("registering again").toString());
    mState->set(&State::lost);
    pause();
}

void Registration::lookAndMend() {
    const Result<ObjectRef> known = mManager.get(mChain.front(), mName);
    if (!known.ok() || *known == ObjectRef(mService)) {
        return;  // a manager that does not answer dies, and that is told
    }
    const std::string name = mChain.front() + "/" + mName;
    log(LogLevel::WARNING, isNull(*known) ? name + " was taken out of hwservicemanager"
                                          : name + " is another service's");
    Status added = add();
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

}  // namespace halyard::hal::hidl
