// SPDX-License-Identifier: Apache-2.0
//
// TraceFile: the traces of a run as a file in the trace event format, which Perfetto
// (ui.perfetto.dev) and Chrome show as a time line with a track for each backend and device.

#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "engine/plan/trace.h"

namespace halyard::engine {

// One run at a time. Keeps what it is told until it is asked for the text; the program has to live
// until then.
class TraceFile : public TraceSink {
  public:
    // A While may go round for ever: what is beyond is counted, and left out.
    static constexpr size_t kMost = 20'000;

    void record(const Trace& work) override {
        if (mWork.size() < kMost) {
            mWork.push_back(work);
        } else {
            ++mLeftOut;
        }
    }

    // JSON: an object whose traceEvents are complete events, in microseconds since the first began,
    // and the names of the tracks. otherData says how many events were left out.
    std::string text() const;

  private:
    std::vector<Trace> mWork;
    size_t mLeftOut = 0;
};

}  // namespace halyard::engine
