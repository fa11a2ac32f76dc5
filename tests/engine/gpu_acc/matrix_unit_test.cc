// SPDX-License-Identifier: Apache-2.0
//
// The emulated matrix unit, and which devices have one.

#include <gtest/gtest.h>

#include "engine/backends/gpu/device/vendors.h"
#include "engine/backends/gpu/vendor/emulated_matrix_unit.h"
#include "tests/engine/gpu_acc/matrix_unit_interface.h"

namespace halyard::engine::gpu_test {
namespace {

TEST(GpuAccMatrixUnit, HasAllThatKernelsTakeWhereItIsEmulated) {
    expectInterface(gpu::emulatedMatrixUnit());
    EXPECT_TRUE(gpu::emulatedMatrixUnit().isEmulated) << "it needs no probe";
}

TEST(GpuAccMatrixUnit, IsNoneOnPlatformsOfNoBuiltInVendor) {
    for (const char* const platform :
         {"QUALCOMM Snapdragon(TM) OpenCL 3.0", "ARM Platform OpenCL 3.0",
          "Intel(R) OpenCL Graphics OpenCL 3.0", "Portable Computing Language OpenCL 3.0 PoCL 3.1",
          ""}) {
        EXPECT_EQ(gpu::vendorOf(platform), nullptr) << platform;
    }
}

}  // namespace
}  // namespace halyard::engine::gpu_test
