// SPDX-License-Identifier: Apache-2.0
//
// TraceFile: the traces of a run as a file in the trace event format, which Perfetto
// (ui.perfetto.dev) and Chrome show as a time line with a track for each backend and device.

#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/plan/trace.h"

namespace halyard::engine {

// One run at a time. Keeps what it is told until it is asked for the text; the program has to live
// until then.
class TraceFile : public TraceSink {
  public:
    // A slice's name; null: the name of the work.
    using NameOf = std::string (*)(const Trace&);
    explicit TraceFile(NameOf nameOf = nullptr) : mNameOf(nameOf) {}

    // A While may go round for ever: what is beyond is counted, and left out.
    static constexpr size_t kMost = 20'000;

    void record(const Trace& work) override {
        if (mWork.size() < kMost) {
            mWork.push_back(work);
        } else {
            ++mLeftOut;
        }
    }

    // A slice of the caller's own around, before or behind work, on a track of its own.
    void around(std::string name, std::chrono::steady_clock::time_point begin,
                std::chrono::nanoseconds time) {
        mAround.push_back({std::move(name), begin, time});
    }

    // Where the run happened, for what puts several traces together.
    struct Place {
        int process = 0;
        int thread = 0;
    };

    // JSON: an object whose traceEvents are complete events, in microseconds since the first began,
    // and the names of the tracks. otherData says how many events were left out, where the run
    // happened, and when the first began by CLOCK_MONOTONIC.
    std::string text(const Place& place) const;

  private:
    struct Around {
        std::string name;
        std::chrono::steady_clock::time_point begin;
        std::chrono::nanoseconds time{0};
    };

    const NameOf mNameOf;
    std::vector<Trace> mWork;
    std::vector<Around> mAround;
    size_t mLeftOut = 0;
};

}  // namespace halyard::engine
