// SPDX-License-Identifier: Apache-2.0
//
// Words that threads of this process sleep on.

#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>

namespace halyard {

// Returns when it is woken, at once where the word is another, and now and then for no reason.
inline void futexWait(std::atomic<uint32_t>& word, uint32_t whileItIs) {
    static_assert(sizeof word == sizeof(uint32_t));
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, whileItIs, nullptr, nullptr, 0);
}

// Wakes all.
inline void futexWake(std::atomic<uint32_t>& word) {
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace halyard
