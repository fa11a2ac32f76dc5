// SPDX-License-Identifier: Apache-2.0
//
// A call from another process, as an object gets it to serve.

#pragma once

#include <cstdint>

#include "engine/base/status.h"
#include "hal/binder/object.h"
#include "hal/binder/parcel.h"
#include "hal/binder/received_parcel.h"

namespace halyard::hal {

// First the arguments are read, then they are ended, and only then is there a reply to write: the
// receive buffer is shared by all clients, so no call keeps its part of it while it works.
class IncomingCall {
  public:
    // The parcel outlives the call.
    IncomingCall(uint32_t code, bool oneway, Caller caller, ReceivedParcel& arguments)
        : mCode(code), mOneway(oneway), mCaller(caller), mArguments(arguments) {}
    IncomingCall(const IncomingCall&) = delete;
    IncomingCall& operator=(const IncomingCall&) = delete;

    uint32_t code() const { return mCode; }
    bool oneway() const { return mOneway; }
    const Caller& caller() const { return mCaller; }

    // Data that the reader gives out live until endArguments(): to keep them, copy them, and
    // duplicate descriptors or, where the reader allows it, take them.
    ParcelReader& arguments() { return mArguments.reader(); }
    // Closes the descriptors that were not taken and gives back the receive buffer, and with it all
    // that this thread owes the kernel, before it returns. Only that of a oneway call stays until
    // the call has been served: by it the kernel tells when the object's next one may follow.
    // INVALID_ARGUMENT if something was left to read; then the call has no reply. Otherwise where
    // the reply is to be written, which leads nowhere if the call is oneway. Further calls give the
    // same.
    Result<ParcelWriter*> endArguments();
    bool argumentsEnded() const { return mEnded; }

    // For the transport.
    const ParcelWriter& reply() const { return mReply; }

  private:
    const uint32_t mCode;
    const bool mOneway;
    const Caller mCaller;
    ReceivedParcel& mArguments;
    bool mEnded = false;
    Status mEnd;  // what ending gave
    ParcelWriter mReply;
};

}  // namespace halyard::hal
