// SPDX-License-Identifier: Apache-2.0
//
// What an execution takes that is computed again and again: nothing.

#include <sys/resource.h>

#include <fstream>
#include <string>

#include "tests/engine/allocation_count.h"
#include "tests/nnapi/c_objects.h"

namespace halyard::nnapi_test {
namespace {

constexpr uint32_t kRows = 4;

// Of that many units.
Compilation compiledLayer(uint32_t units) {
    ModelText text;
    const std::vector<float> weights(units * units, 0.5F);
    const std::vector<float> biases(units, 1.0F);
    const uint32_t x = text.floats({kRows, units});
    const uint32_t y = text.floats({kRows, units});
    text.operation(ANEURALNETWORKS_FULLY_CONNECTED,
                   {x, text.constant({units, units}, weights), text.constant({units}, biases),
                    text.number(ANEURALNETWORKS_FUSED_RELU)},
                   {y});
    text.identify({x}, {y});
    return compile(text.finish(), {"whole"});
}

TEST(NnapiSteadyState, AllocatesNothing) {
    constexpr uint32_t kUnits = 32;
    const Compilation compilation = compiledLayer(kUnits);
    const Execution execution = newExecution(compilation);
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksExecution_setReusable(execution.get(), true));
    const std::vector<float> input(kRows * kUnits, 1.0F);
    std::vector<float> output(kRows * kUnits);
    HALYARD_EXPECT_NO_ERROR(setInput(execution, 0, input));
    HALYARD_EXPECT_NO_ERROR(setOutput(execution, 0, output));
    for (int round = 0; round < 4; ++round) {
        HALYARD_EXPECT_NO_ERROR(ANeuralNetworksExecution_compute(execution.get()));
    }
    const size_t before = engine::allocationCount();
    for (int round = 0; round < 100; ++round) {
        HALYARD_EXPECT_NO_ERROR(ANeuralNetworksExecution_compute(execution.get()));
    }
    EXPECT_EQ(engine::allocationCount() - before, 0U);
    EXPECT_EQ(output[0], 17.0F);
}

size_t residentPages() {
    size_t all = 0;
    size_t resident = 0;
    std::ifstream("/proc/self/statm") >> all >> resident;
    return resident;
}

TEST(NnapiSteadyState, HoldsNoMoreAfterManyExecutions) {
    constexpr uint32_t kUnits = 4;
    const Compilation compilation = compiledLayer(kUnits);
    const std::vector<float> input(kRows * kUnits, 1.0F);
    std::vector<float> output(kRows * kUnits);
    const auto run = [&](int rounds) {
        for (int round = 0; round < rounds; ++round) {
            const Execution execution = newExecution(compilation);
            HALYARD_EXPECT_NO_ERROR(setInput(execution, 0, input));
            HALYARD_EXPECT_NO_ERROR(setOutput(execution, 0, output));
            HALYARD_EXPECT_NO_ERROR(ANeuralNetworksExecution_compute(execution.get()));
        }
    };
    run(2000);
    const size_t before = residentPages();
    run(100000);
    // Some pages come and go with the heap; a leak of one execution's would be thousands.
    EXPECT_LT(residentPages(), before + 64);
}

}  // namespace
}  // namespace halyard::nnapi_test
