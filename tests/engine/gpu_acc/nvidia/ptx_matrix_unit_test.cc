// SPDX-License-Identifier: Apache-2.0
//
// NVIDIA's matrix unit, as far as it can be seen without a device of theirs.

#include "engine/backends/gpu/nvidia/ptx_matrix_unit.h"

#include <gtest/gtest.h>

#include "engine/backends/gpu/device/vendors.h"
#include "engine/backends/gpu/gpu_acc.h"
#include "tests/engine/gpu_acc/fake_device.h"
#include "tests/engine/gpu_acc/matrix_unit_interface.h"

namespace halyard::engine::gpu_test {
namespace {

TEST(PtxMatrixUnit, HasAllThatKernelsTake) {
    const gpu::MatrixUnit& unit = gpu::ptxMatrixUnit();
    expectInterface(unit);
    EXPECT_FALSE(unit.isEmulated) << "a probe shows what a device has";
    EXPECT_NE(unit.text.find("uint dot4("), std::string_view::npos);
}

TEST(PtxMatrixUnit, IsThatOfNvidiasPlatform) {
    const gpu::Vendor* const vendor = gpu::vendorOf("NVIDIA CUDA OpenCL 3.0 CUDA 13.0.84");
    ASSERT_NE(vendor, nullptr);
    EXPECT_EQ(vendor->matrixUnit, &gpu::ptxMatrixUnit());
    EXPECT_EQ(vendor->driverName, "CUDA");
}

TEST(PtxMatrixUnit, IsOfAFamilyByTheDevicesName) {
    const gpu::Vendor& vendor = *gpu::vendorOf("NVIDIA CUDA OpenCL 3.0 CUDA 13.0.84");
    EXPECT_EQ(vendor.familyOf("NVIDIA H200"), gpu::DeviceFamily::NVIDIA_HOPPER);
    EXPECT_EQ(vendor.familyOf("NVIDIA H100 80GB HBM3"), gpu::DeviceFamily::NVIDIA_HOPPER);
    EXPECT_EQ(vendor.familyOf("NVIDIA A100-SXM4-80GB"), gpu::DeviceFamily::NVIDIA_AMPERE);
}

TEST(GpuAccDevice, SaysWhyCudaIsNotThereWhereItIsAskedFor) {
    const auto refused = makeGpuAcc(
            {.choice = {
                     .library = kFakeOpenCl, .device = "", .nativeDriver = "/nowhere/libcuda.so"}});
    EXPECT_EQ(refused.status().code(), StatusCode::UNAVAILABLE);
    EXPECT_NE(refused.status().message().find("CUDA was asked for: /nowhere/libcuda.so"),
              std::string_view::npos)
            << refused.status().toString();
}

}  // namespace
}  // namespace halyard::engine::gpu_test
