// SPDX-License-Identifier: Apache-2.0
//
// RequestTrace: traces of one execution, for those that were asked for:
//   --trace: what it did, and when, as the file execution-NNN.json, from 1 on, which
//   ui.perfetto.dev and Chrome show (engine/plan/trace_file.h); numbered_dump.h says how many there
//   are, and how long.
//   --atrace: marks in the kernel's trace (driver/trace/trace_marker.h).
//   a caller in this process, with a sink of its own.
// Slices are named by NNAPI's contract (driver/trace/trace_contract.h). Where none is
// asked for, nothing happens.

#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "driver/trace/numbered_dump.h"
#include "driver/trace/trace_contract.h"
#include "driver/trace/trace_marker.h"
#include "engine/plan/trace_file.h"

namespace halyard::driver {

struct DeviceState;

// Of the thread that makes it, on which all of the execution happens. Destroyed, while the program
// is there, it ends what has begun and writes the file.
class RequestTrace : private engine::TraceSink {
  public:
    // `asked`: the caller's sink, or null; it gets the run alone, and takes the place of a file.
    RequestTrace(DeviceState& state, engine::TraceSink* asked);
    RequestTrace(const RequestTrace&) = delete;
    RequestTrace& operator=(const RequestTrace&) = delete;
    ~RequestTrace() override;

    // For the run; null: none is asked for.
    engine::TraceSink* sink();

    // The execution enters a part of the driver's own; ends the one before.
    void enter(TracePhase phase, std::string_view detail);
    // Ends it.
    void leave();

  private:
    using Clock = std::chrono::steady_clock;

    void begin(const engine::Trace& work) override;
    void record(const engine::Trace& work) override;
    void endMarks(size_t remaining);

    engine::TraceSink* const mAsked;
    const TraceMarker* const mMarker;
    std::optional<NumberedDump> mFile;
    engine::TraceFile mTraces{&sliceOf};
    Clock::time_point mBegin = {};
    size_t mMarks = 0;  // that have begun and not ended
    // The part that the execution is in; empty: none.
    std::string mPart;
    Clock::time_point mPartBegin = {};
};

}  // namespace halyard::driver
