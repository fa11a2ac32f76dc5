// SPDX-License-Identifier: Apache-2.0

#include "nnapi/burst.h"

namespace halyard::nnapi {

Burst::Burst(std::shared_ptr<const Compiled> compiled) : mCompiled(std::move(compiled)) {
    const RunStep* const step = mCompiled->plan.whole();
    if (step == nullptr || step->device->isInProcess()) {
        return;  // there is nothing between two computations that a burst would spare
    }
    if (Result<std::shared_ptr<driver::IBurst>> burst = step->prepared->makeBurst(); burst.ok()) {
        mBurst = *std::move(burst);
    }
}

}  // namespace halyard::nnapi
