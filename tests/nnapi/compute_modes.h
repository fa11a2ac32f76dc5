// SPDX-License-Identifier: Apache-2.0
//
// The ways in which NNAPI's C functions compute.

#pragma once

#include <array>
#include <cstdint>

#include "tests/nnapi/c_objects.h"

namespace halyard::nnapi_test {

enum class ComputeMode : uint8_t { COMPUTE, START, FENCED, BURST, REUSABLE };
constexpr std::array kComputeModes = {ComputeMode::COMPUTE, ComputeMode::START, ComputeMode::FENCED,
                                      ComputeMode::BURST, ComputeMode::REUSABLE};

// What came of it once it is over. The execution is bound and has not been computed; REUSABLE
// computes it twice.
inline int computeIn(ComputeMode mode, const Compilation& compilation, const Execution& execution) {
    ANeuralNetworksEvent* event = nullptr;
    int code = ANEURALNETWORKS_NO_ERROR;
    switch (mode) {
        case ComputeMode::COMPUTE:
            return ANeuralNetworksExecution_compute(execution.get());
        case ComputeMode::START:
            code = ANeuralNetworksExecution_startCompute(execution.get(), &event);
            break;
        case ComputeMode::FENCED:
            code = ANeuralNetworksExecution_startComputeWithDependencies(execution.get(), nullptr,
                                                                         0, 0, &event);
            break;
        case ComputeMode::BURST: {
            ANeuralNetworksBurst* made = nullptr;
            code = ANeuralNetworksBurst_create(compilation.get(), &made);
            const Burst burst(made);
            return code != ANEURALNETWORKS_NO_ERROR
                           ? code
                           : ANeuralNetworksExecution_burstCompute(execution.get(), burst.get());
        }
        case ComputeMode::REUSABLE:
            HALYARD_EXPECT_NO_ERROR(ANeuralNetworksExecution_setReusable(execution.get(), true));
            code = ANeuralNetworksExecution_compute(execution.get());
            return code != ANEURALNETWORKS_NO_ERROR
                           ? code
                           : ANeuralNetworksExecution_compute(execution.get());
    }
    const Event owned(event);
    return code != ANEURALNETWORKS_NO_ERROR ? code : ANeuralNetworksEvent_wait(event);
}

}  // namespace halyard::nnapi_test
