// SPDX-License-Identifier: Apache-2.0

#include "driver/clients/call_gate.h"

#include <string>

namespace halyard::driver {

std::shared_ptr<CallGate::Group> CallGate::makeGroup() {
    return std::make_shared<Group>(mState);
}

std::shared_ptr<CallGate::Share> CallGate::Group::makeShare() {
    return std::make_shared<Share>(shared_from_this());
}

size_t CallGate::Group::inside() const {
    const std::lock_guard lock(mGate->mutex);
    return mInside;
}

Result<CallGate::Permit> CallGate::Share::enter() {
    State& gate = *mGroup->mGate;
    const Limits& limits = gate.limits;
    const std::lock_guard lock(gate.mutex);
    if (mInside >= limits.perClient) {
        return Status(StatusCode::RESOURCE_EXHAUSTED,
                      std::to_string(mInside) + " calls of this client are being served already");
    }
    if (mGroup->mInside >= limits.perGroup) {
        return Status(StatusCode::RESOURCE_EXHAUSTED,
                      std::to_string(mGroup->mInside) +
                              " calls of this client's user are being served already");
    }
    // A user with nothing inside finds room where the others only share.
    if (gate.inside >= (mGroup->mInside == 0 ? limits.most : limits.shared)) {
        return Status(StatusCode::RESOURCE_EXHAUSTED,
                      std::to_string(gate.inside) + " calls are being served already");
    }
    ++mInside;
    ++mGroup->mInside;
    ++gate.inside;
    return Permit(shared_from_this());
}

size_t CallGate::Share::inside() const {
    const std::lock_guard lock(mGroup->mGate->mutex);
    return mInside;
}

CallGate::Permit::~Permit() {
    if (mShare != nullptr) {
        Group& group = *mShare->mGroup;
        const std::lock_guard lock(group.mGate->mutex);
        --mShare->mInside;
        --group.mInside;
        --group.mGate->inside;
    }
}

}  // namespace halyard::driver
