// SPDX-License-Identifier: Apache-2.0

#include "nnapi/event.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

namespace halyard::nnapi {
namespace {

Answer waitFor(int fence) {
    pollfd polled = {.fd = fence, .events = POLLIN, .revents = 0};
    int ready = 0;
    do {
        ready = poll(&polled, 1, -1);
    } while (ready < 0 && (errno == EINTR || errno == EAGAIN));
    if (ready < 0) {
        return {ANEURALNETWORKS_OP_FAILED, std::string("poll: ") + std::strerror(errno)};
    }
    return (polled.revents & (POLLERR | POLLNVAL)) == 0
                   ? Answer()
                   : Answer(ANEURALNETWORKS_OP_FAILED, "the fence has an error");
}

}  // namespace

void Completion::complete(Answer answer) {
    {
        const std::lock_guard lock(mMutex);
        mAnswer = std::move(answer);
    }
    mIsOver.notify_all();
    if (mFence.valid()) {
        const uint64_t one = 1;
        static_cast<void>(!write(mFence.get(), &one, sizeof one));
    }
}

Answer Completion::wait() const {
    if (!mIsComputed) {
        return waitFor(mFence.get());
    }
    std::unique_lock lock(mMutex);
    mIsOver.wait(lock, [this] { return mAnswer.has_value(); });
    return *mAnswer;
}

Answer Completion::duplicateFence(int& descriptor) const {
    if (!mFence.valid()) {
        return badData("the event has no fence");
    }
    descriptor = fcntl(mFence.get(), F_DUPFD_CLOEXEC, 0);
    return descriptor >= 0
                   ? Answer()
                   : Answer(ANEURALNETWORKS_OP_FAILED,
                            std::string("a duplicate of the fence: ") + std::strerror(errno));
}

Event::Event(FileDescriptor fence)
    : mCompletion(std::make_shared<Completion>(std::move(fence), false)) {}

Event::Event(std::function<Answer()> computation, FileDescriptor signals)
    : mCompletion(std::make_shared<Completion>(std::move(signals), true)),
      mThread([completion = mCompletion, computation = std::move(computation)] {
          completion->complete(computation());
      }) {}

Event::~Event() {
    if (mThread.joinable()) {
        mThread.join();
    }
}

}  // namespace halyard::nnapi
