// SPDX-License-Identifier: Apache-2.0

#include "engine/base/recent_use.h"

#include <algorithm>

namespace halyard {
namespace {

// As many are remembered before those that are long gone are looked for.
constexpr size_t kMany = 64;

int64_t periodOf(RecentUse::Clock::time_point when) {
    return when.time_since_epoch() / RecentUse::kPeriod;
}

}  // namespace

void RecentUse::add(uint32_t who, std::chrono::nanoseconds time, Clock::time_point now) {
    const int64_t period = periodOf(now);
    const std::lock_guard lock(mMutex);
    if (mUses.size() > kMany) {
        std::erase_if(mUses, [period](const auto& use) { return use.second.period + 1 < period; });
    }
    Use& use = mUses[who];
    if (use.period != period) {
        use.last = use.period + 1 == period ? use.current : std::chrono::nanoseconds();
        use.current = {};
        use.period = period;
    }
    use.current += time;
    if (mLatest[0].who != who) {
        mLatest[1] = mLatest[0];
    }
    mLatest[0] = {.who = who, .when = now};
}

double RecentUse::excess(uint32_t who, Clock::time_point now) const {
    const int64_t period = periodOf(now);
    const std::lock_guard lock(mMutex);
    const auto found = mUses.find(who);
    const auto isOther = [&](const Sight& sight) {
        return sight.who != who && now - sight.when < kPresent;
    };
    if (found == mUses.end() || std::ranges::none_of(mLatest, isOther)) {
        return 0;
    }
    const Use& use = found->second;
    std::chrono::duration<double> taken{};
    if (use.period == period) {
        taken = use.last + use.current;
    } else if (use.period + 1 == period) {
        taken = use.current;
    }
    return taken / std::chrono::duration<double>(kMuch);
}

}  // namespace halyard
