// SPDX-License-Identifier: Apache-2.0

#include "driver/trace/trace_contract.h"

namespace halyard::driver {
namespace {

std::string_view codeOf(TracePhase phase) {
    switch (phase) {
        case TracePhase::COMPILATION:
            return "PC";
        case TracePhase::EXECUTION:
            return "PE";
        case TracePhase::INPUTS_AND_OUTPUTS:
            return "PIO";
        case TracePhase::TRANSFORMATION:
            return "PTR";
        case TracePhase::COMPUTATION:
            return "PCO";
        case TracePhase::RESULTS:
            return "PR";
    }
    return "PU";
}

std::string slice(std::string_view layer, TracePhase phase, std::string_view detail) {
    std::string name = "[NN_";
    return name.append(layer).append("_").append(codeOf(phase)).append("]").append(detail);
}

}  // namespace

std::string driverSlice(TracePhase phase, std::string_view detail) {
    return slice("LD", phase, detail);
}

std::string sliceOf(const engine::Trace& work) {
    switch (work.kind) {
        case engine::Trace::Kind::PARTITION:
            return driverSlice(TracePhase::EXECUTION, "partition on " + std::string(work.name));
        case engine::Trace::Kind::COPY:
            return slice("LC", TracePhase::TRANSFORMATION, "copy " + std::string(work.name));
        case engine::Trace::Kind::NODE:
            break;
    }
    return slice("LC", TracePhase::COMPUTATION,
                 work.node == nullptr ? work.name : std::string_view(work.node->label));
}

}  // namespace halyard::driver
