// SPDX-License-Identifier: Apache-2.0
//
// FenceHabit: what is known of how a device answers executeFenced().
//
// The contract leaves a device two ways: it answers at once, with a fence of its own, or waits in
// the call until all is over, and answers without one. Nothing says beforehand which of them it is.
// A call that waits holds a thread of both processes, of which a service has few: there this
// process waits for the fences, as it does for a device that knows none.

#pragma once

#include <atomic>
#include <cstdint>

namespace halyard::nnapi {

// What may come of a device's own fence: no word of it, maybe, or surely some.
enum class FenceNews : uint8_t { NONE, MAYBE, SURE };

// Thread-safe.
class FenceHabit {
  public:
    // Of the execution that comes next: NONE: its fences are not for the device; else they are, and
    // note() says what the device made of them. While nothing is known that is one execution at a
    // time.
    FenceNews offer() {
        State state = State::UNKNOWN;
        if (mState.compare_exchange_strong(state, State::ASKED)) {
            return FenceNews::MAYBE;
        }
        return state == State::GIVES_FENCES ? FenceNews::SURE : FenceNews::NONE;
    }
    // A fence of its own came back.
    void noteGiven() { mState = State::GIVES_FENCES; }
    // None did. `hasWaited`: something that was waited for had yet to happen when it was called;
    // else, and where it was not called or has failed, nothing is told by that.
    void noteNone(bool hasWaited) {
        State state = State::ASKED;
        mState.compare_exchange_strong(state, hasWaited ? State::WAITS : State::UNKNOWN);
    }

  private:
    enum class State : uint8_t { UNKNOWN, ASKED, GIVES_FENCES, WAITS };
    std::atomic<State> mState = State::UNKNOWN;
};

}  // namespace halyard::nnapi
