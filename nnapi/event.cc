// SPDX-License-Identifier: Apache-2.0

#include "nnapi/event.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "hal/descriptors/descriptor_kind.h"

namespace halyard::nnapi {
namespace {

// For a device that is called for the first time, and may wait in the call.
constexpr std::chrono::seconds kPatience{2};

bool isSyncFile(const FileDescriptor& descriptor) {
    return descriptor.valid() && hal::kindOf(descriptor.get()) == hal::DescriptorKind::FENCE;
}

}  // namespace

Answer waitForFence(const FileDescriptor& fence) {
    pollfd polled = {.fd = fence.get(), .events = POLLIN, .revents = 0};
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

void Completion::complete(Answer answer) {
    {
        const std::lock_guard lock(mMutex);
        mAnswer = std::move(answer);
    }
    mHasChanged.notify_all();
    if (mFence->valid()) {
        const uint64_t one = 1;
        static_cast<void>(!write(mFence->get(), &one, sizeof one));
    }
}

void Completion::setDeviceFence(std::shared_ptr<const FileDescriptor> fence) {
    {
        const std::lock_guard lock(mMutex);
        mDeviceFence = std::move(fence);
    }
    mHasChanged.notify_all();
}

Answer Completion::wait() const {
    if (!mIsComputed) {
        return waitForFence(*mFence);
    }
    std::unique_lock lock(mMutex);
    mHasChanged.wait(lock, [this] { return mAnswer.has_value(); });
    return *mAnswer;
}

std::shared_ptr<const FileDescriptor> Completion::deviceFence() const {
    std::unique_lock lock(mMutex);
    const auto isKnown = [this] { return mDeviceFence.has_value() || mAnswer.has_value(); };
    if (mNews == FenceNews::SURE) {
        mHasChanged.wait(lock, isKnown);
    } else if (mNews == FenceNews::MAYBE) {
        mHasChanged.wait_for(lock, kPatience, isKnown);
    }
    return mDeviceFence.value_or(nullptr);
}

bool Completion::mayBeSyncFile() const {
    return mIsComputed ? mNews != FenceNews::NONE : isSyncFile(*mFence);
}

std::shared_ptr<const FileDescriptor> Completion::syncFile() const {
    std::shared_ptr<const FileDescriptor> fence = mIsComputed ? deviceFence() : mFence;
    return fence != nullptr && isSyncFile(*fence) ? fence : nullptr;
}

Answer Completion::duplicateFence(int& descriptor) const {
    if (!mFence->valid()) {
        return badData("the event has no fence");
    }
    const std::shared_ptr<const FileDescriptor> others = deviceFence();
    descriptor = fcntl(others != nullptr ? others->get() : mFence->get(), F_DUPFD_CLOEXEC, 0);
    return descriptor >= 0
                   ? Answer()
                   : Answer(ANEURALNETWORKS_OP_FAILED,
                            std::string("a duplicate of the fence: ") + std::strerror(errno));
}

Event::Event(FileDescriptor fence)
    : mCompletion(std::make_shared<Completion>(std::move(fence), false, FenceNews::NONE)) {}

Event::Event(std::function<Answer(Completion&)> computation, FileDescriptor signals, FenceNews news)
    : mCompletion(std::make_shared<Completion>(std::move(signals), true, news)),
      mThread([completion = mCompletion, computation = std::move(computation)] {
          completion->complete(computation(*completion));
      }) {}

Event::~Event() {
    if (mThread.joinable()) {
        mThread.join();
    }
}

}  // namespace halyard::nnapi
