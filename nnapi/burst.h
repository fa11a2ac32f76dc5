// SPDX-License-Identifier: Apache-2.0
//
// Burst: computations of one compilation, one after the other. What a device keeps between them
// counts where one device computes the whole model; others compute as without a burst.

#pragma once

#include <android/NeuralNetworks.h>

#include <memory>
#include <mutex>
#include <utility>

#include "driver/device/device_interface.h"
#include "nnapi/compilation.h"

namespace halyard::nnapi {

// Thread-safe.
class Burst {
  public:
    explicit Burst(std::shared_ptr<const Compiled> compiled);

    bool isOf(const std::shared_ptr<const Compiled>& compiled) const {
        return mCompiled == compiled;
    }
    // Held while a computation runs in it; not owned: one runs already.
    std::unique_lock<std::mutex> take() { return {mMutex, std::try_to_lock}; }
    // Null: the device has none, or there are several devices.
    driver::IBurst* device() const { return mBurst.get(); }

  private:
    const std::shared_ptr<const Compiled> mCompiled;
    std::mutex mMutex;
    std::shared_ptr<driver::IBurst> mBurst;
};

}  // namespace halyard::nnapi

struct ANeuralNetworksBurst final : halyard::nnapi::Burst {
    using Burst::Burst;
};
