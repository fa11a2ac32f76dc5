// SPDX-License-Identifier: Apache-2.0
//
// NNAPI's contract of names in traces, by which Android's tools sum up times: a slice is called
// "[NN_<layer>_<phase>]detail", what is nested in it is a part of it. The layers here are the
// driver (LD) and what computes operations (LC).

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/plan/trace.h"

namespace halyard::driver {

enum class TracePhase : uint8_t {
    COMPILATION,         // PC: preparing a model
    EXECUTION,           // PE: a request, once it has a slot
    INPUTS_AND_OUTPUTS,  // PIO, in an execution: binding memory
    TRANSFORMATION,      // PTR, in an execution: bringing data where it is computed on
    COMPUTATION,         // PCO, in an execution: an operation
    RESULTS,             // PR, in an execution: what is told of the outputs
};

// Of what the driver itself does: "[NN_LD_PE]execute".
std::string driverSlice(TracePhase phase, std::string_view detail);

// Of what a run does: "[NN_LD_PE]partition on CpuAcc", "[NN_LC_PCO]operation 3 (CONV_2D)",
// "[NN_LC_PTR]copy to Mali".
std::string sliceOf(const engine::Trace& work);

}  // namespace halyard::driver
