// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "driver/clients/client.h"
#include "driver/execute/device_state.h"
#include "engine/base/checkpoint.h"
#include "engine/base/long_work.h"

namespace halyard::driver {

// What a device computes for a client, on the thread that makes this and ends it: it gives way
// where it takes long, and at once where the client's user has lately taken much of the processors.
// A stop condition for its checkpoints. Allocates nothing once it has been made for the user
// before.
class ChargedWork {
  public:
    // Both outlive it, as does the further condition.
    ChargedWork(DeviceState& device, const Client& client, const StopCondition* condition = nullptr)
        : mDevice(device),
          mUid(client.process().uid),
          mWork(device.longWorkGivesWay, condition,
                device.longWorkGivesWay && device.use.isMuch(mUid, RecentUse::Clock::now())) {}
    ~ChargedWork() {
        if (mDevice.longWorkGivesWay) {
            mDevice.use.add(mUid, mWork.taken(), RecentUse::Clock::now());
        }
    }
    ChargedWork(const ChargedWork&) = delete;
    ChargedWork& operator=(const ChargedWork&) = delete;

    const StopCondition* condition() const { return &mWork; }

  private:
    DeviceState& mDevice;
    const uint32_t mUid;
    const LongWork mWork;
};

}  // namespace halyard::driver
