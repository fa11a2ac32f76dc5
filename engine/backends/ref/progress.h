// SPDX-License-Identifier: Apache-2.0
//
// Progress: how a kernel says how far it has come, and is told that it must stop. A node may be so
// large that it runs for hours, so every loop over elements counts its operations, and every so
// often the count asks whether the deadline has passed.

#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <type_traits>

#include "engine/base/status.h"

namespace halyard::engine::ref {

// One per run, on its thread.
class Progress {
  public:
    // `expired` as in RunArguments; it outlives the Progress.
    explicit Progress(const std::function<bool()>& expired) : mExpired(expired) {}

    // Calls body(i) for every i in [0, count), where a call takes about `operations` operations; a
    // failure says that it stopped before the end, DEADLINE_EXCEEDED.
    template <typename Body>
    Status forEach(int64_t count, int64_t operations, Body body) {
        return inSlices(count, operations, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
                body(i);
            }
        });
    }

    // Calls body(begin, end) over consecutive ranges that cover [0, count). The deadline is looked
    // at between them, out of the way of the loops inside, which a compiler can then optimise. A
    // body may return a Status, whose failure ends it, too.
    template <typename Body>
    Status inSlices(int64_t count, int64_t operations, Body body) {
        operations = std::max<int64_t>(operations, 1);
        const int64_t length = std::max<int64_t>(kInterval / operations, 1);
        for (int64_t begin = 0; begin < count; begin += length) {
            const int64_t end = std::min(begin + length, count);
            HALYARD_RETURN_IF_ERROR(advance((end - begin) * operations));
            if constexpr (std::is_void_v<decltype(body(begin, end))>) {
                body(begin, end);
            } else {
                HALYARD_RETURN_IF_ERROR(body(begin, end));
            }
        }
        return {};
    }

  private:
    // Some milliseconds of the slowest operations; far more time than asking takes.
    static constexpr int64_t kInterval = int64_t{1} << 18;

    Status advance(int64_t operations) {
        mUntilAsked -= operations;
        return mUntilAsked > 0 ? Status() : ask();
    }
    Status ask();

    const std::function<bool()>& mExpired;
    int64_t mUntilAsked = kInterval;  // operations
};

}  // namespace halyard::engine::ref
