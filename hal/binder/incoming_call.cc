// SPDX-License-Identifier: Apache-2.0

#include "hal/binder/incoming_call.h"

namespace halyard::hal {

Result<ParcelWriter*> IncomingCall::endArguments() {
    if (!mEnded) {
        mEnded = true;
        mEnd = mArguments.reader().checkEnd();
        if (mOneway) {
            mArguments.endReading();
        } else {
            mArguments.release();
        }
    }
    if (!mEnd.ok()) {
        return mEnd;
    }
    return &mReply;
}

}  // namespace halyard::hal
