// SPDX-License-Identifier: Apache-2.0

#include "driver/call_gate.h"

#include <string>

namespace halyard::driver {

std::shared_ptr<CallGate::Share> CallGate::makeShare() {
    return std::make_shared<Share>(mState);
}

Result<CallGate::Permit> CallGate::Share::enter() {
    const Limits& limits = mGate->limits;
    const std::lock_guard lock(mGate->mutex);
    if (mInside >= limits.perClient) {
        return Status(StatusCode::RESOURCE_EXHAUSTED,
                      std::to_string(mInside) + " calls of this client are being served already");
    }
    // Whoever has nothing inside finds room where the others only share.
    if (mGate->inside >= (mInside == 0 ? limits.most : limits.shared)) {
        return Status(StatusCode::RESOURCE_EXHAUSTED,
                      std::to_string(mGate->inside) + " calls are being served already");
    }
    ++mInside;
    ++mGate->inside;
    return Permit(shared_from_this());
}

size_t CallGate::Share::inside() const {
    const std::lock_guard lock(mGate->mutex);
    return mInside;
}

CallGate::Permit::~Permit() {
    if (mShare != nullptr) {
        const std::lock_guard lock(mShare->mGate->mutex);
        --mShare->mInside;
        --mShare->mGate->inside;
    }
}

}  // namespace halyard::driver
