// SPDX-License-Identifier: Apache-2.0

#include "hal/service/process_watch.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "engine/base/file_descriptor.h"

namespace halyard::hal {
namespace {

constexpr uint64_t kStop = 0;

// Not in every libc. The descriptor is closed on exec.
int openProcess(int32_t pid) {
    return static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
}

Status systemError(const std::string& what, StatusCode code) {
    return {code, what + ": " + std::strerror(errno)};
}

bool await(int epoll, int fd, uint64_t id) {
    epoll_event event = {};
    event.events = EPOLLIN;
    event.data.u64 = id;
    return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

}  // namespace

struct ProcessWatch::State {
    State(FileDescriptor theEpoll, FileDescriptor theStop, size_t theMost)
        : epoll(std::move(theEpoll)), stop(std::move(theStop)), most(theMost) {}

    struct Process {
        FileDescriptor descriptor;
        std::function<void()> onEnd;
    };

    const FileDescriptor epoll;
    const FileDescriptor stop;
    const size_t most;
    pthread_t thread = {};
    std::mutex mutex;
    uint64_t lastId = kStop;
    std::map<uint64_t, Process> processes;

    // The process, which is waited for no more; empty if it is not waited for.
    Process take(uint64_t id) {
        const std::lock_guard lock(mutex);
        auto found = processes.find(id);
        if (found == processes.end()) {
            return {};
        }
        Process process = std::move(found->second);
        processes.erase(found);
        return process;
    }

    static void* run(void* state) {
        const std::unique_ptr<std::shared_ptr<State>> owned(
                static_cast<std::shared_ptr<State>*>(state));
        (*owned)->serve();
        return nullptr;
    }

    void serve() {
        for (;;) {
            epoll_event event = {};
            if (epoll_wait(epoll.get(), &event, 1, -1) < 1) {
                continue;  // a signal
            }
            const uint64_t id = event.data.u64;
            if (id == kStop) {
                return;
            }
            if (const Process ended = take(id); ended.onEnd != nullptr) {
                ended.onEnd();
            }
        }
    }
};

// Closing the descriptor takes it out of the epoll: there is no other of its file.
class ProcessWatch::Watch final : public OwnerWatch {
  public:
    Watch(std::weak_ptr<State> state, uint64_t id) : mState(std::move(state)), mId(id) {}
    ~Watch() override {
        if (const std::shared_ptr<State> state = mState.lock()) {
            state->take(mId);
        }
    }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

  private:
    const std::weak_ptr<State> mState;
    const uint64_t mId;
};

Result<std::unique_ptr<ProcessWatch>> ProcessWatch::start(size_t most) {
    if (!FileDescriptor(openProcess(getpid())).valid()) {
        return systemError("watching processes", StatusCode::UNSUPPORTED);
    }
    FileDescriptor epoll(epoll_create1(EPOLL_CLOEXEC));
    FileDescriptor stop(eventfd(0, EFD_CLOEXEC));
    if (!epoll.valid() || !stop.valid() || !await(epoll.get(), stop.get(), kStop)) {
        return systemError("watching processes", StatusCode::UNSUPPORTED);
    }
    const auto state = std::make_shared<State>(std::move(epoll), std::move(stop), most);
    auto owned = std::make_unique<std::shared_ptr<State>>(state);
    if (int error = pthread_create(&state->thread, nullptr, &State::run, owned.get()); error != 0) {
        return Status(StatusCode::UNSUPPORTED,
                      std::string("watching processes: ") + std::strerror(error));
    }
    static_cast<void>(owned.release());
    return std::unique_ptr<ProcessWatch>(new ProcessWatch(state));
}

ProcessWatch::~ProcessWatch() {
    const uint64_t one = 1;
    static_cast<void>(!write(mState->stop.get(), &one, sizeof(one)));
    pthread_join(mState->thread, nullptr);
}

Result<std::unique_ptr<OwnerWatch>> ProcessWatch::watch(int32_t pid, std::function<void()> onEnd) {
    const std::lock_guard lock(mState->mutex);
    if (mState->processes.size() >= mState->most) {
        return Status(StatusCode::RESOURCE_EXHAUSTED,
                      std::to_string(mState->most) + " processes are watched already");
    }
    FileDescriptor process(openProcess(pid));
    if (!process.valid()) {
        return systemError(
                "process " + std::to_string(pid),
                errno == ESRCH ? StatusCode::UNAVAILABLE : StatusCode::RESOURCE_EXHAUSTED);
    }
    const uint64_t id = ++mState->lastId;
    // The thread may hear of it at once, and then waits for the lock.
    if (!await(mState->epoll.get(), process.get(), id)) {
        return systemError("watching process " + std::to_string(pid),
                           StatusCode::RESOURCE_EXHAUSTED);
    }
    mState->processes.emplace(
            id, State::Process{.descriptor = std::move(process), .onEnd = std::move(onEnd)});
    return std::unique_ptr<OwnerWatch>(std::make_unique<Watch>(mState, id));
}

}  // namespace halyard::hal
