// SPDX-License-Identifier: Apache-2.0

#include "harness/device/adbd/stream.h"

#include <algorithm>
#include <utility>

namespace halyard::adbd {

namespace {

// A client has no more than one WRITE under way, except those that ignore the protocol.
constexpr size_t kLargestBacklog = 4 * static_cast<size_t>(kLargestPayload);
// Enough for a full payload while another is under way.
constexpr size_t kOutputMark = kLargestPayload;

}  // namespace

Stream::Stream(PacketSink& sink, QueueAccount& account, uint32_t localId, uint32_t remoteId,
               size_t largestPayload)
    : mSink(sink),
      mLocalId(localId),
      mRemoteId(remoteId),
      mLargestPayload(largestPayload),
      mInput(account),
      mOutput(account) {}

Stream::~Stream() = default;

size_t Stream::room() const {
    return mFinished || mOutput.size() >= kOutputMark ? 0 : kOutputMark - mOutput.size();
}

void Stream::write(std::span<const uint8_t> bytes) {
    if (!mFinished) {
        mOutput.append(bytes);
        pump();
    }
}

void Stream::finish() {
    mFinished = true;
    pump();
}

void Stream::takeInput() {
    // A service may call this from within onInput.
    if (mOfferingInput || mService == nullptr) {
        return;
    }
    mOfferingInput = true;
    if (!mInput.empty() && !mFinished) {
        mInput.take(std::min(mService->onInput(mInput.bytes()), mInput.size()));
    }
    mOfferingInput = false;
    if (mFinished) {
        mInput.take(mInput.size());
    }
    acknowledge();
}

void Stream::acknowledge() {
    if (mOwesOkay && (mFinished || mService->wantsMore())) {
        mOwesOkay = false;
        mSink.send(Command::OKAY, mLocalId, mRemoteId, {});
    }
}

void Stream::start(std::unique_ptr<Service> service) {
    mService = std::move(service);
    mService->onRoom();
}

bool Stream::onWrite(std::span<const uint8_t> payload) {
    if (mInput.size() + payload.size() > kLargestBacklog) {
        return false;
    }
    mInput.append(payload);
    mOwesOkay = true;
    // Some clients take the acknowledgement only ahead of the answer.
    acknowledge();
    takeInput();
    return true;
}

void Stream::onOkay() {
    if (mAwaitsOkay) {
        mAwaitsOkay = false;
        pump();
        offerRoom();
    }
}

void Stream::onSinkRoom() {
    if (!mAwaitsOkay) {
        pump();
        offerRoom();
    }
}

void Stream::offerRoom() {
    if (mService != nullptr && room() > 0) {
        mService->onRoom();
    }
}

void Stream::pump() {
    if (mAwaitsOkay || mEnded) {
        return;
    }
    if (!mOutput.empty()) {
        if (!mSink.hasRoom()) {
            return;
        }
        const size_t size = std::min(mOutput.size(), mLargestPayload);
        mSink.send(Command::WRITE, mLocalId, mRemoteId, mOutput.bytes().first(size));
        mOutput.take(size);
        mAwaitsOkay = true;
    } else if (mFinished) {
        mEnded = true;
        mSink.streamEnded(mLocalId);
    }
}

}  // namespace halyard::adbd
