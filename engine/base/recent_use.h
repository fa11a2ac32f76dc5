// SPDX-License-Identifier: Apache-2.0
//
// RecentUse: which of those who share the processors have lately taken much of their time.

#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>

namespace halyard {

// Thread-safe.
class RecentUse {
  public:
    using Clock = std::chrono::steady_clock;

    // The last half to whole second counts.
    static constexpr std::chrono::milliseconds kPeriod{500};
    // More than that is much.
    static constexpr std::chrono::milliseconds kMuch{200};
    // How long after they were seen others count as there: they may wait for just that.
    static constexpr std::chrono::seconds kPresent{10};

    // `who` has taken so much of a processor, up to `now`.
    void add(uint32_t who, std::chrono::nanoseconds time, Clock::time_point now);

    // How many times as much as is much `who` has taken, while there were others; less than 1:
    // not much. 0 where there were none.
    double excess(uint32_t who, Clock::time_point now) const;
    bool isMuch(uint32_t who, Clock::time_point now) const { return excess(who, now) > 1; }

  private:
    struct Use {
        int64_t period = 0;
        std::chrono::nanoseconds current{};
        std::chrono::nanoseconds last{};  // in the period before
    };
    struct Sight {
        uint32_t who = 0;
        Clock::time_point when;
    };

    mutable std::mutex mMutex;
    std::unordered_map<uint32_t, Use> mUses;
    std::array<Sight, 2> mLatest;  // of the latest two that were seen
};

}  // namespace halyard
