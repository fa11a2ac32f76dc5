// SPDX-License-Identifier: Apache-2.0
//
// Runs one node on GpuAcc, as the planner would, and compares it with CpuRef. Every tensor lies
// between guard zones that must not be written: OpenCL tells nothing of accesses beyond an end.

#pragma once

#include <gtest/gtest.h>

#include <compare>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/plan/backend.h"
#include "tests/engine/cpu_acc/tuned.h"
#include "tests/engine/reference/evaluation.h"
#include "tests/engine/reference/random_values.h"

namespace halyard::engine::gpu_test {

using cpu_test::randomShape;
using cpu_test::randomType;
using cpu_test::randomValues;
using ref_test::RandomValues;
using ref_test::typeOf;
using ref_test::Values;

inline constexpr DataType kFloats[] = {DataType::FLOAT32, DataType::FLOAT16};
inline constexpr DataType kReals[] = {DataType::FLOAT32, DataType::FLOAT16, DataType::QUANT8_ASYMM,
                                      DataType::QUANT8_ASYMM_SIGNED};

// Which kernels a GEMM goes by: tiled, or direct as on processors.
struct GemmKind {
    bool isTiled = false;
    int form = -1;                    // of tiles: this one, or the best
    bool emulatesMatrixUnit = false;  // a matrix unit, by what PoCL has
    bool isStrict = false;            // float32 is not rounded for them
    bool asGpu = false;               // all that GPUs are gone about as

    static const GemmKind TILED;
    static const GemmKind DIRECT;
    static const GemmKind MATRIX_UNIT;
    static const GemmKind ASYNC_COPY;
    static const GemmKind AS_GPU;
    static const GemmKind AS_LARGE_GPU;
    auto operator<=>(const GemmKind&) const = default;
};
inline constexpr GemmKind GemmKind::TILED = {.isTiled = true};
inline constexpr GemmKind GemmKind::DIRECT = {};
inline constexpr GemmKind GemmKind::MATRIX_UNIT = {.isTiled = true, .emulatesMatrixUnit = true};
inline constexpr GemmKind GemmKind::ASYNC_COPY = {
        .isTiled = true, .emulatesMatrixUnit = true, .isStrict = true};
inline constexpr GemmKind GemmKind::AS_GPU = {.isTiled = true, .asGpu = true};
inline constexpr GemmKind GemmKind::AS_LARGE_GPU = {
        .isTiled = true, .emulatesMatrixUnit = true, .asGpu = true};
// As many as a process has devices for; beyond the last it is the last again.
inline constexpr int kGemmForms = 8;

// GpuAcc on PoCL, or on the device that HALYARD_OPENCL_DEVICE names; null where there is none.
const Backend* backend(GemmKind gemm = GemmKind::DIRECT);
// The same, which takes of all variants the one with this number, or the last.
const Backend* backendOfVariant(size_t variant, GemmKind gemm = GemmKind::DIRECT);

// Skips the test where there is no device.
#define HALYARD_NEEDS_DEVICE()                       \
    if (gpu_test::backend() == nullptr) {            \
        GTEST_SKIP() << "there is no OpenCL device"; \
    }

// How a node is put before the backend.
struct Setting {
    bool shapesAreKnown = true;
    uint64_t constantInputs = 0;  // a bit for each input that the graph has the values of
    bool controlInputsAreConstant = true;
    GemmKind gemm = GemmKind::DIRECT;
    std::optional<size_t> variant = std::nullopt;  // as backendOfVariant() has it
};

// UNSUPPORTED if GpuAcc does not take the node. `outputs` are types whose shapes don't count, but
// for what is found by running.
Result<std::vector<Values>> evaluateOnDevice(const NodeDescriptor& descriptor,
                                             const std::vector<std::optional<Values>>& inputs,
                                             const std::vector<TensorType>& outputs,
                                             const Setting& setting);

// Whether GpuAcc does as CpuRef does: both refuse, or both give the same, bit for bit but for
// floats. With a tolerance of its own the results are sums, whose terms are about 1 and may cancel
// out.
testing::AssertionResult agrees(const NodeDescriptor& node,
                                const std::vector<std::optional<Values>>& inputs,
                                const std::vector<TensorType>& outputs,
                                std::optional<double> tolerance = std::nullopt,
                                uint64_t constantInputs = 0, GemmKind gemm = GemmKind::DIRECT,
                                std::optional<size_t> variant = std::nullopt);

// The same in one setting.
testing::AssertionResult agreesIn(const Setting& setting, const NodeDescriptor& node,
                                  const std::vector<std::optional<Values>>& inputs,
                                  const std::vector<TensorType>& outputs,
                                  std::optional<double> tolerance = std::nullopt);

// agrees() for a node whose kernels check its control inputs, as constants and as computed ones.
testing::AssertionResult agreesWithControlInputs(const NodeDescriptor& node,
                                                 const std::vector<std::optional<Values>>& inputs,
                                                 const std::vector<TensorType>& outputs,
                                                 std::optional<double> tolerance = std::nullopt);

// Why GpuAcc does not take the node; empty where it does.
std::string refusal(const NodeDescriptor& node, const std::vector<std::optional<Values>>& inputs,
                    const std::vector<TensorType>& outputs, const Setting& setting = {});

}  // namespace halyard::engine::gpu_test
