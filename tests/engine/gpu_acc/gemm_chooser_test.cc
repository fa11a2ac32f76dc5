// SPDX-License-Identifier: Apache-2.0
//
// Which GEMM form is chosen for devices that are described, and need not be there.

#include "engine/backends/gpu/kernels/gemm_chooser.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "engine/backends/gpu/device/device_family_of.h"
#include "engine/backends/gpu/kernels/gemm_costs.h"

namespace halyard::engine::gpu {
namespace {

struct DescribedDevice {
    DeviceFacts facts;
    MatrixFeatures features;
};

DeviceFacts gpu(std::string_view platform, std::string_view name, uint32_t units, size_t localKiB,
                size_t workGroup) {
    DeviceFacts facts;
    facts.platform = platform;
    facts.name = name;
    facts.type = CL_DEVICE_TYPE_GPU;
    facts.computeUnits = units;
    facts.localBytes = localKiB << 10;
    facts.maxWorkGroupSize = workGroup;
    facts.prefersTiles = true;
    facts.family = familyOf(facts);
    return facts;
}

const MatrixFeatures kTensorCores = {
        .dot4 = true, .asyncCopy = true, .float16Mma = true, .tf32Mma = true, .int8Mma = true};

DescribedDevice h200() {
    DescribedDevice device = {.facts = gpu("", "NVIDIA H200", 132, 48, 1024),
                              .features = kTensorCores};
    device.facts.family = DeviceFamily::NVIDIA_HOPPER;
    return device;
}
DescribedDevice a100() {
    DescribedDevice device = {.facts = gpu("", "NVIDIA A100", 108, 48, 1024),
                              .features = kTensorCores};
    device.facts.family = DeviceFamily::NVIDIA_AMPERE;
    return device;
}
DescribedDevice adreno() {
    return {.facts = gpu("QUALCOMM Snapdragon(TM) OpenCL 3.0", "QUALCOMM Adreno(TM) 740", 12, 32,
                         1024),
            .features = {}};
}
DescribedDevice mali() {
    return {.facts = gpu("ARM Platform OpenCL 3.0", "Mali-G710 r0p0", 10, 32, 512), .features = {}};
}
DescribedDevice intel() {
    return {.facts = gpu("Intel(R) OpenCL Graphics OpenCL 3.0", "Intel(R) Iris(R) Xe Graphics", 96,
                         64, 512),
            .features = {}};
}
DescribedDevice pocl() {
    DeviceFacts facts =
            gpu("Portable Computing Language OpenCL 3.0 PoCL 3.1", "pthread-cpu", 2, 512, 4096);
    facts.type = CL_DEVICE_TYPE_CPU;
    facts.prefersTiles = false;
    facts.family = familyOf(facts);
    return {.facts = facts, .features = {}};
}

Geometry convolution(int32_t side, int32_t depth, int32_t filter, int32_t stride,
                     int32_t channels) {
    const int32_t output = (side + stride - 1) / stride;
    return {.height = side,
            .width = side,
            .depth = depth,
            .filterH = filter,
            .filterW = filter,
            .outputH = output,
            .outputW = output,
            .channels = channels,
            .strideH = stride,
            .strideW = stride,
            .top = filter / 2,
            .left = filter / 2,
            .positions = output * output,
            .groupDepth = depth,
            .channelsPerGroup = channels};
}
Geometry fullyConnected(int32_t rows, int32_t depth, int32_t channels) {
    return {.depth = depth,
            .channels = channels,
            .positions = rows,
            .groupDepth = depth,
            .channelsPerGroup = channels};
}

const Geometry kStem = convolution(224, 3, 3, 2, 32);
const Geometry kWide = convolution(56, 64, 3, 1, 64);
const Geometry kPointwise = convolution(14, 256, 1, 1, 1024);
const Geometry kLast = convolution(7, 320, 1, 1, 1280);
const Geometry kToken = fullyConnected(1, 768, 3072);
const Geometry kTokens = fullyConnected(128, 768, 3072);

GemmChoices choicesOf(const DescribedDevice& device, DataType type, const Geometry& geometry) {
    return chooseGemm(
            {.x = type, .mayRound = true, .facts = device.facts, .matrixFeatures = device.features},
            geometry);
}
// The form that is chosen, for each of the shapes above.
std::vector<std::string> formsOf(const DescribedDevice& device, DataType type) {
    std::vector<std::string> names;
    for (const Geometry& geometry : {kStem, kWide, kPointwise, kLast, kToken, kTokens}) {
        names.push_back(choicesOf(device, type, geometry).legal.front().name());
    }
    return names;
}
using Names = std::vector<std::string>;

std::string reasonOf(const GemmChoices& choices, std::string_view name) {
    const auto found = std::ranges::find(choices.excluded, name, &ExcludedGemmForm::name);
    return found == choices.excluded.end() ? "" : found->reason;
}

TEST(GpuAccGemmChooser, KnowsFamiliesByTheirNames) {
    EXPECT_EQ(adreno().facts.family, DeviceFamily::ADRENO);
    EXPECT_EQ(mali().facts.family, DeviceFamily::MALI);
    EXPECT_EQ(intel().facts.family, DeviceFamily::INTEL);
    EXPECT_EQ(pocl().facts.family, DeviceFamily::PROCESSOR);
    EXPECT_EQ(gpu("Imagination", "PowerVR", 4, 32, 512).family, DeviceFamily::UNKNOWN);
    for (size_t i = 0; i < kDeviceFamilies; ++i) {
        const auto family = static_cast<DeviceFamily>(i);
        EXPECT_EQ(gemmCostsOf(family).family, family) << toString(family);
    }
}

TEST(GpuAccGemmChooser, TakesTheMatrixUnitOfAnH200) {
    EXPECT_EQ(formsOf(h200(), DataType::FLOAT16),
              (Names{"matrix 32 32 4 32", "matrix 32 64 4 32", "matrix 32 64 4 32",
                     "matrix 32 32 4 32", "gemv", "matrix 64 64 2 32"}));
    EXPECT_EQ(formsOf(h200(), DataType::QUANT8_ASYMM_SIGNED),
              (Names{"matrix 32 32 4 32", "matrix 32 64 4 32", "matrix 32 64 4 32",
                     "matrix 32 32 4 32", "gemv", "matrix 64 64 2 32"}));
    EXPECT_EQ(formsOf(h200(), DataType::FLOAT32),
              (Names{"matrix 32 32 4 32", "matrix 32 64 4 32", "matrix 32 64 4 32",
                     "matrix 32 32 4 32", "gemv", "matrix 64 64 2 32"}));
}

TEST(GpuAccGemmChooser, CopiesStrictFloatsOnAnH200WithoutItsMatrixUnit) {
    DescribedDevice strict = h200();
    strict.features = {.asyncCopy = true};
    EXPECT_EQ(formsOf(strict, DataType::FLOAT32),
              (Names{"tile 32 32 4 32", "tile 32 16 8 64", "tile 32 16 8 64", "tile 16 16 8 64",
                     "gemv", "tile 32 32 4 32"}));
}

TEST(GpuAccGemmChooser, TakesTheMatrixUnitOfAnA100) {
    EXPECT_EQ(formsOf(a100(), DataType::FLOAT16),
              (Names{"matrix 32 32 4 32", "matrix 32 64 4 32", "matrix 64 64 2 32",
                     "matrix 32 32 4 32", "gemv", "matrix 64 64 2 32"}));
}

TEST(GpuAccGemmChooser, TakesPlainTilesOnAdreno) {
    EXPECT_EQ(formsOf(adreno(), DataType::FLOAT32),
              (Names{"tile 64 32 2 32", "tile 32 32 4 64", "tile 32 32 4 64", "tile 64 64 1 32",
                     "gemv", "tile 64 64 1 32"}));
    EXPECT_EQ(formsOf(adreno(), DataType::FLOAT16),
              (Names{"tile 64 32 2 32", "tile 32 32 4 64", "tile 32 32 4 64", "tile 64 64 1 32",
                     "gemv", "tile 64 64 1 32"}));
    EXPECT_EQ(formsOf(adreno(), DataType::QUANT8_ASYMM),
              (Names{"tile 64 32 2 16", "tile 64 64 1 32", "tile 64 64 1 32", "tile 64 64 1 32",
                     "gemv", "tile 64 64 1 32"}));
}

TEST(GpuAccGemmChooser, TakesPlainTilesOnMali) {
    EXPECT_EQ(formsOf(mali(), DataType::FLOAT32),
              (Names{"tile 64 32 2 32", "tile 64 64 1 32", "tile 32 32 4 64", "tile 64 64 1 32",
                     "gemv", "tile 64 64 1 32"}));
    EXPECT_EQ(formsOf(mali(), DataType::QUANT8_ASYMM),
              (Names{"tile 64 32 2 16", "tile 64 64 1 32", "tile 64 64 1 32", "tile 64 64 1 32",
                     "gemv", "tile 64 64 1 32"}));
}

TEST(GpuAccGemmChooser, TakesPlainTilesOnIntel) {
    EXPECT_EQ(formsOf(intel(), DataType::FLOAT32),
              (Names{"tile 32 32 4 32", "tile 32 16 8 64", "tile 16 16 8 128", "tile 32 32 4 64",
                     "gemv", "tile 64 64 1 32"}));
}

TEST(GpuAccGemmChooser, ComputesElementsDirectlyOnAProcessor) {
    EXPECT_EQ(formsOf(pocl(), DataType::FLOAT32), Names(6, "direct"));
    EXPECT_EQ(formsOf(pocl(), DataType::QUANT8_ASYMM), Names(6, "direct"));
    const GemmChoices choices = choicesOf(pocl(), DataType::FLOAT32, kWide);
    EXPECT_EQ(reasonOf(choices, "tile 64 64 1 32"), "the device has no local memory of its own");
    EXPECT_EQ(reasonOf(choices, "gemv"), "the device has no local memory of its own");
}

TEST(GpuAccGemmChooser, SaysWhyFormsAreExcluded) {
    DescribedDevice small = adreno();
    small.facts.localBytes = 10 << 10;
    const GemmChoices choices = choicesOf(small, DataType::FLOAT32, kTokens);
    EXPECT_EQ(reasonOf(choices, "tile 64 64 1 32"),
              "it takes 19204 bytes of local memory of 10240");
    EXPECT_EQ(reasonOf(choices, "gemv"), "M is 128, more than 4");
    EXPECT_EQ(reasonOf(choicesOf(adreno(), DataType::FLOAT32, kWide), "gemv"),
              "it is no GEMM of whole rows");
    EXPECT_EQ(reasonOf(choicesOf(adreno(), DataType::FLOAT32, kToken), "tile 64 64 1 32"),
              "M is short enough for GEMV");
    EXPECT_EQ(reasonOf(choicesOf(adreno(), DataType::FLOAT32, kWide), "tile 64 64 1 32 by split-K"),
              "split-K takes asynchronous copies");
    EXPECT_EQ(
            reasonOf(choicesOf(h200(), DataType::FLOAT16, kTokens), "matrix 64 64 2 32 by split-K"),
            "the tiles occupy the device");
}

TEST(GpuAccGemmChooser, ComputesElementsDirectlyWhereNoTileFits) {
    DescribedDevice tiny = adreno();
    tiny.facts.localBytes = 1 << 10;
    EXPECT_EQ(choicesOf(tiny, DataType::FLOAT32, kWide).legal.front().name(), "direct");
}

TEST(GpuAccGemmChooser, FillsAPipelineAsFarAsLocalMemoryGoes) {
    const auto stages = [](DescribedDevice device, size_t localKiB) {
        device.facts.localBytes = localKiB << 10;
        const GemmChoices choices = choicesOf(device, DataType::FLOAT16, kWide);
        const auto found = std::ranges::find_if(choices.legal, [](const GemmForm& form) {
            return form.tile.rows == 32 && form.tile.columns == 32 && form.splitK == 1;
        });
        return found == choices.legal.end() ? 0 : found->pipelineStages;
    };
    EXPECT_EQ(stages(h200(), 48), 4);
    EXPECT_EQ(stages(h200(), 32), 3);
    EXPECT_EQ(stages(h200(), 16), 0) << "asynchronous copies take two";
    EXPECT_EQ(stages(adreno(), 64), 2) << "one is filled from registers";
    EXPECT_EQ(stages(adreno(), 32), 1);
}

TEST(GpuAccGemmChooser, SplitsKWhereTilesAreFew) {
    const GemmForm form =
            choicesOf(h200(), DataType::FLOAT16, convolution(7, 512, 3, 1, 512)).legal.front();
    EXPECT_GT(form.splitK, 1) << form.name();
    EXPECT_LE(form.workGroups * form.splitK, 132) << "each compute unit has one at the most";
}

TEST(GpuAccGemmChooser, PoolsWithTheConvolutionWhereALaunchCostsMore) {
    const Geometry small = convolution(7, 320, 1, 1, 1280);
    const Geometry large = convolution(56, 64, 3, 1, 64);
    for (const DescribedDevice& device : {h200(), adreno(), mali()}) {
        const GemmNeeds needs = {.x = DataType::FLOAT32,
                                 .mayRound = true,
                                 .facts = device.facts,
                                 .matrixFeatures = device.features};
        EXPECT_TRUE(isProfitablePooledGemm(needs, small)) << device.facts.name;
        EXPECT_FALSE(isProfitablePooledGemm(needs, large)) << "no tile holds its feature map";
        EXPECT_EQ(reasonOf(choosePooledGemm(needs, large), "tile 64 64 1 32"),
                  device.features.any() ? "" : "it does not hold a feature map");
    }
}

TEST(GpuAccGemmChooser, TilesBatchGemmByTheMatrixUnit) {
    const BatchGemmShape heads = {
            .rows = 128, .columns = 128, .depth = 64, .batch = 12, .vectorDivisor = 64};
    const auto name = [&](const DescribedDevice& device, DataType type) {
        return chooseBatchGemm({.x = type,
                                .mayRound = false,
                                .facts = device.facts,
                                .matrixFeatures = device.features},
                               heads)
                .legal.front()
                .name();
    };
    EXPECT_EQ(name(h200(), DataType::FLOAT16), "matrix 32 16 4 32");
    EXPECT_EQ(name(h200(), DataType::FLOAT32), "tile 32 16 8 64") << "float32 is strict here";
    EXPECT_EQ(name(adreno(), DataType::FLOAT16), "tile 64 64 1 32");
    EXPECT_EQ(name(adreno(), DataType::INT32), "direct");
    EXPECT_EQ(name(pocl(), DataType::FLOAT32), "direct");
}

TEST(GpuAccGemmChooser, TellsWhichFormsLostAndWhy) {
    const GemmChoices choices = choicesOf(adreno(), DataType::FLOAT32, kTokens);
    const std::string lost = choices.lostForms();
    EXPECT_NE(lost.find(choices.legal[1].name() + ": costs "), std::string::npos) << lost;
    EXPECT_NE(lost.find(" cycles, and " + choices.legal[0].name() + " "), std::string::npos)
            << lost;
    EXPECT_NE(lost.find("gemv: M is 128, more than 4"), std::string::npos) << lost;
    EXPECT_EQ(lost.find(choices.legal[0].name() + ": "), std::string::npos) << lost;
}

}  // namespace
}  // namespace halyard::engine::gpu
