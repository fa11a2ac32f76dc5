// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "driver/clients/client.h"
#include "engine/base/checkpoint.h"
#include "engine/base/long_work.h"
#include "engine/base/recent_use.h"

namespace halyard::driver {

// The processors of a device, as its clients have used them.
struct ProcessorUse {
    // Whether work that takes long gives way to others.
    const bool longWorkGivesWay;
    RecentUse byUid = {};
};

// Work that a device does for a client, on the thread that makes and destroys this: its thread gets
// a higher nice value where the work takes long, and at once where the client's user has lately
// taken much of the processors. A stop condition for its checkpoints. Allocates nothing once it has
// been made for the user before.
class ChargedWork {
  public:
    // `processors` and the further condition outlive it.
    ChargedWork(ProcessorUse& processors, const Client& client,
                const StopCondition* condition = nullptr)
        : mProcessors(processors),
          mUid(client.process().uid),
          mWork(processors.longWorkGivesWay, condition,
                processors.longWorkGivesWay &&
                        processors.byUid.isMuch(mUid, RecentUse::Clock::now())) {}
    ~ChargedWork() {
        if (mProcessors.longWorkGivesWay) {
            mProcessors.byUid.add(mUid, mWork.taken(), RecentUse::Clock::now());
        }
    }
    ChargedWork(const ChargedWork&) = delete;
    ChargedWork& operator=(const ChargedWork&) = delete;

    const StopCondition* condition() const { return &mWork; }

  private:
    ProcessorUse& mProcessors;
    const uint32_t mUid;
    const LongWork mWork;
};

}  // namespace halyard::driver
