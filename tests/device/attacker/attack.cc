// SPDX-License-Identifier: Apache-2.0

#include "tests/device/attacker/attack.h"

#include <atomic>
#include <thread>
#include <vector>

namespace halyard::attacker {

void Tally::add(const Status& answer) {
    taken += answer.ok() ? 1 : 0;
    last = answer.toString();
}

void Tally::add(const Result<ErrorStatus>& answer) {
    if (!answer.ok()) {
        add(answer.status());
        return;
    }
    taken += *answer == ErrorStatus::NONE ? 1 : 0;
    last = "ErrorStatus " + std::to_string(static_cast<int>(*answer));
}

Clock::time_point endOf(const Settings& settings) {
    return Clock::now() + std::chrono::seconds(settings.seconds);
}

void hold(Link& link, const Settings& settings) {
    link.serveUntil([] { return false; }, std::chrono::seconds(settings.seconds));
}

int inThreads(const Settings& settings, const std::function<int(Clock::time_point end)>& attack) {
    const Clock::time_point end = endOf(settings);
    std::atomic<int> calls = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < settings.clients; ++i) {
        threads.emplace_back([&] { calls += attack(end); });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    return calls;
}

}  // namespace halyard::attacker
