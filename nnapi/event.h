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

namespace halyard::nnapi {

// What an event stands for, which those that wait for it hold: the event may be freed before.
// Thread-safe.
class Completion {
  public:
    // `isComputed`: complete() is called; else the fence alone tells.
    Completion(FileDescriptor fence, bool isComputed)
        : mFence(std::move(fence)), mIsComputed(isComputed) {}

    // Makes the fence readable, too, where there is one.
    void complete(Answer answer);
    // What the computation answered; OP_FAILED where a fence has an error.
    Answer wait() const;
    // A duplicate, which the caller owns. BAD_DATA: there is no descriptor.
    Answer duplicateFence(int& descriptor) const;

  private:
    const FileDescriptor mFence;
    const bool mIsComputed;
    mutable std::mutex mMutex;
    mutable std::condition_variable mIsOver;
    std::optional<Answer> mAnswer;
};

// Thread-safe. Its end waits for the computation's.
class Event {
  public:
    // A descriptor that becomes readable once what it stands for has happened; an error of it is
    // one of the event.
    explicit Event(FileDescriptor fence);
    // A computation on a thread of its own. `signals`: none, or an eventfd that it is to make
    // readable when it is over.
    Event(std::function<Answer()> computation, FileDescriptor signals);
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
