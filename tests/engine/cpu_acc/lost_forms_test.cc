// SPDX-License-Identifier: Apache-2.0
//
// A program's placement names the forms that its kernels were chosen from.

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/backends/cpu/cpu_acc.h"
#include "engine/backends/ref/cpu_ref.h"
#include "engine/plan/program.h"
#include "tests/engine/cpu_acc/described_processors.h"
#include "tests/engine/cpu_acc/weighted_layer.h"

namespace halyard::engine {
namespace {

using cpu_test::Layer;
using ref_test::RandomValues;

Layer convolution(RandomValues& random, int32_t side, DataType type) {
    cpu_test::Types types = cpu_test::typesFor(random, type, type, 32, 0);
    types.x.shape = {1, 28, 28, 32};
    types.weights.shape = {32, side, side, 32};
    types.bias.shape = {32};
    Layer layer;
    Conv2d node;
    node.window.padding = PaddingScheme::SAME;
    layer.descriptor = std::move(node);
    layer.x = random.values(types.x);
    layer.weights = random.values(types.weights);
    layer.bias = isFloat(type) ? random.values(types.bias)
                               : ref_test::pack(types.bias, std::vector<int32_t>(32, 7));
    layer.output = types.output;
    return layer;
}

NodePlacement placementOf(const Layer& layer, const Backend& backend) {
    return Program::build(cpu_test::graphOf(layer), {&backend}, nullptr)
            .value()
            ->placement()
            .front();
}

// Kernels of an instruction set that this machine lacks can be chosen, but not run.
NodePlacement placementOn(const cpu::CpuTarget& target, const Layer& layer) {
    return placementOf(layer, *makeCpuAcc(target));
}

TEST(LostForms, AreToldOfAConvolution) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    const cpu::CpuTarget target =
            cpu::CpuTarget::of(cpu::bestInstructionSet(cpu::Tiles::LEAVE), cpu::describeThisCpu());
    const NodePlacement pointwise = placementOn(target, convolution(random, 1, DataType::FLOAT32));
    EXPECT_TRUE(pointwise.kernel.starts_with("acc::gemm_float")) << pointwise.kernel;
    EXPECT_NE(pointwise.lostForms.find("Winograd F(2x2): takes filters of 3x3, not of 1x1"),
              std::string::npos)
            << pointwise.lostForms;
    const NodePlacement square = placementOn(target, convolution(random, 3, DataType::FLOAT32));
    EXPECT_TRUE(square.kernel.starts_with("acc::winograd_float 2x2")) << square.kernel;
    EXPECT_NE(square.lostForms.find("float GEMM: costs "), std::string::npos) << square.lostForms;
    const NodePlacement int8 =
            placementOn(target, convolution(random, 1, DataType::QUANT8_ASYMM_SIGNED));
    EXPECT_NE(int8.lostForms.find("int8 GEMM on AMX: " + std::string(toString(target.set)) +
                                  " has no tiles"),
              std::string::npos)
            << int8.lostForms;
}

TEST(LostForms, AreNotToldByOtherBackends) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    EXPECT_EQ(placementOf(convolution(random, 3, DataType::FLOAT32), *makeCpuRef()).lostForms, "");
}

}  // namespace
}  // namespace halyard::engine
