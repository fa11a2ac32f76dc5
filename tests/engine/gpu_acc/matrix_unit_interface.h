// SPDX-License-Identifier: Apache-2.0
//
// The interface of a matrix unit to kernels, for the tests of each.

#pragma once

#include <gtest/gtest.h>

#include <string>

#include "engine/backends/gpu/vendor/matrix_unit.h"

namespace halyard::engine::gpu_test {

// Kernels distribute tiles over a warp for these numbers, and call these macros.
inline void expectInterface(const gpu::MatrixUnit& unit) {
    EXPECT_EQ(unit.warp, 32);
    EXPECT_EQ(unit.rows, 16);
    EXPECT_EQ(unit.columns, 8);
    EXPECT_EQ(unit.words, 8);
    EXPECT_GE(unit.pipelineStages, 2);
    for (const char* const macro :
         {"LocalAddress", "LOCAL_ADDRESS(", "COPY_ASYNC(", "COMMIT_STAGE()", "WAIT_FOR_STAGES(",
          "FENCE()", "MATRIX_MULTIPLY(", "LOAD_FOUR(", "LOAD_TWO(", "FACTOR("}) {
        EXPECT_NE(unit.text.find("#define " + std::string(macro)), std::string_view::npos)
                << unit.name << " has no " << macro;
    }
}

}  // namespace halyard::engine::gpu_test
