// SPDX-License-Identifier: Apache-2.0
//
// --trace: what an execution did, and when, as the file execution-NNN.json, from 1 on, which
// ui.perfetto.dev and Chrome show (engine/plan/trace_file.h). How many there are, and how long:
// numbered_dump.h.

#pragma once

#include <optional>
#include <utility>

#include "driver/numbered_dump.h"
#include "engine/plan/trace_file.h"

namespace halyard::driver {

struct DeviceState;

class RequestTrace {
  public:
    // Takes the next number in the device's folder. Nothing where there is no folder or no number.
    static std::optional<RequestTrace> begin(DeviceState& state);

    // For one run.
    engine::TraceSink& sink() { return mTraces; }
    // To be called while the program is there.
    void write() const;

  private:
    explicit RequestTrace(NumberedDump file) : mFile(std::move(file)) {}

    NumberedDump mFile;
    engine::TraceFile mTraces;
};

}  // namespace halyard::driver
