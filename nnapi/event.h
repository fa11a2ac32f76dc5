// SPDX-License-Identifier: Apache-2.0
//
// Event: the end of a computation, or a fence of somebody else.

#pragma once

#include <android/NeuralNetworks.h>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "engine/base/file_descriptor.h"
#include "nnapi/answer.h"
#include "nnapi/fence_habit.h"

namespace halyard::nnapi {

// Until it is readable. OP_FAILED: it has an error.
Answer waitForFence(const FileDescriptor& fence);

// What an event stands for, which those that wait for it hold: the event may be freed before.
// Thread-safe.
class Completion {
  public:
    // `isComputed`: complete() is called; else the fence alone tells. `news`: whether word of a
    // device's fence comes.
    Completion(FileDescriptor fence, bool isComputed, FenceNews news)
        : mFence(std::make_shared<const FileDescriptor>(std::move(fence))),
          mIsComputed(isComputed),
          mNews(news) {}

    // Makes the fence readable, too, where there is one.
    void complete(Answer answer);
    // A device's fence, which tells the end of the computation as well as its own does and comes in
    // that one's place; null: there is none.
    void setDeviceFence(std::shared_ptr<const FileDescriptor> fence);
    // What the computation answered; OP_FAILED where a fence has an error.
    Answer wait() const;
    // A duplicate of the device's fence, or else of its own, which the caller owns. It waits for
    // word of the first: two seconds at most where there may be none. BAD_DATA: there is no
    // descriptor.
    Answer duplicateFence(int& descriptor) const;
    // Whether syncFile() may find one.
    bool mayBeSyncFile() const;
    // The kernel's fence that stands for all of it, which a device of another process can wait for;
    // null: there is none. It waits for word as duplicateFence() does.
    std::shared_ptr<const FileDescriptor> syncFile() const;

  private:
    std::shared_ptr<const FileDescriptor> deviceFence() const;

    const std::shared_ptr<const FileDescriptor> mFence;
    const bool mIsComputed;
    const FenceNews mNews;
    mutable std::mutex mMutex;
    mutable std::condition_variable mHasChanged;
    std::optional<Answer> mAnswer;
    // Null in it: there is none.
    std::optional<std::shared_ptr<const FileDescriptor>> mDeviceFence;
};

// Thread-safe. Its end waits for the computation's.
class Event {
  public:
    // A descriptor that becomes readable once what it stands for has happened; an error of it is
    // one of the event.
    explicit Event(FileDescriptor fence);
    // A computation on a thread of its own. `signals`: none, or an eventfd that it is to make
    // readable when it is over. `news`: whether the computation has word of a device's fence.
    Event(std::function<Answer(Completion&)> computation, FileDescriptor signals,
          FenceNews news = FenceNews::NONE);
    ~Event();
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;

    const std::shared_ptr<Completion>& completion() const { return mCompletion; }

  private:
    const std::shared_ptr<Completion> mCompletion;
    std::thread mThread;  // none: a fence of somebody else
};

}  // namespace halyard::nnapi

struct ANeuralNetworksEvent final : halyard::nnapi::Event {
    using Event::Event;
};
