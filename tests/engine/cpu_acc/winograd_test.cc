// SPDX-License-Identifier: Apache-2.0
//
// Winograd's convolutions, whether or not they would be chosen, against sums in double precision
// and against CpuRef, on every instruction set.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "engine/backends/cpu/cpu_acc.h"
#include "engine/backends/cpu/gemm/winograd.h"
#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/backends/ref/cpu_ref.h"
#include "engine/base/half.h"
#include "engine/graph/shape_inference.h"
#include "engine/numerics/activation_range.h"
#include "engine/plan/node_by_node.h"
#include "engine/plan/program.h"
#include "tests/engine/allocation_count.h"
#include "tests/engine/cpu_acc/guarded_memory.h"
#include "tests/engine/reference/random_values.h"

namespace halyard::engine {
namespace {

using cpu::InstructionSet;
using ref_test::RandomValues;
using ref_test::typeOf;
using ref_test::Values;

// Runs convolutions with transforms for squares of `side` spatial positions, small ones, too.
class Forced final : public Backend {
  public:
    Forced(int32_t side, InstructionSet set)
        : mSide(side), mTarget(cpu::CpuTarget::of(set, cpu::describeThisCpu())) {}

    std::string_view name() const override { return "Forced"; }
    Status supports(const Graph& /*graph*/, NodeId /*node*/) const override { return {}; }
    Result<std::unique_ptr<CompiledPartition>> compile(
            const CompileArguments& arguments) const override {
        return compileNodeByNode(
                arguments,
                [this](const KernelArguments& own) -> Result<std::unique_ptr<const StepKernel>> {
                    const Conv2d& node = *std::get_if<Conv2d>(&own.node.descriptor);
                    if (!cpu::canUseWinograd(node, own).value()) {
                        return internalError("can't be transformed");
                    }
                    return cpu::compileWinograd(node, mSide, own, mTarget);
                });
    }

  private:
    const int32_t mSide;
    const cpu::CpuTarget mTarget;
};

struct WinogradLayer {
    Conv2d node;
    Values x, weights, bias;
    std::vector<size_t> axesAtRunTime = {};  // of x
    bool relaxed = false;
};

WinogradLayer randomLayer(RandomValues& random, const Shape& x, int32_t columns,
                          DataType type = DataType::FLOAT32) {
    WinogradLayer layer;
    layer.node.window.padding = PaddingScheme::SAME;
    layer.x = random.values(typeOf(type, x));
    layer.weights = random.values(typeOf(type, {columns, 3, 3, x[3]}));
    layer.bias = random.values(typeOf(type, {columns}));
    return layer;
}

WinogradLayer randomLayer(RandomValues& random, DataType type = DataType::FLOAT32) {
    // Ragged vectors, tiles of the product and tiles of the feature map.
    const int32_t columns = random.integer(1, random.coin() ? 40 : 100);
    WinogradLayer layer =
            randomLayer(random,
                        {random.integer(1, 3), random.integer(3, 15), random.integer(3, 19),
                         random.integer(1, random.coin() ? 20 : 70)},
                        columns, type);
    layer.node.activation = static_cast<Activation>(random.integer(0, 3));
    Window2d& window = layer.node.window;
    window.padding = random.coin() ? PaddingScheme::SAME : PaddingScheme::VALID;
    if (random.integer(0, 2) == 0) {
        window.padding = PaddingScheme::EXPLICIT;
        window.top = random.integer(0, 4);
        window.bottom = random.integer(0, 4);
        window.left = random.integer(0, 4);
        window.right = random.integer(0, 4);
    }
    if (random.integer(0, 3) == 0) {
        layer.axesAtRunTime = {0, 1, 2};
    }
    return layer;
}

Graph graphOf(const WinogradLayer& layer) {
    Graph graph;
    TensorType x = layer.x.type;
    for (const size_t axis : layer.axesAtRunTime) {
        x.shape[axis] = kUnknownDimension;
    }
    const auto constant = [&](const Values& values) {
        return graph.addConstant(values.type, {.owner = nullptr, .bytes = values.bytes}).value();
    };
    const TensorId input = graph.addTensor(x);
    const TensorId weights = constant(layer.weights);
    const TensorId bias = constant(layer.bias);
    const TensorId result = graph.addTensor(typeOf(layer.x.type.type, Shape::unknownRank()));
    graph.addNode({.descriptor = layer.node,
                   .inputs = {input, weights, bias},
                   .outputs = {result},
                   .label = "layer",
                   .sources = {0}});
    graph.setInputs({input});
    graph.setOutputs({result});
    graph.setRelaxedFloat(layer.relaxed);
    return graph;
}

Result<std::shared_ptr<const Program>> build(const WinogradLayer& layer, const Backend& backend,
                                             size_t threads, bool fastMath = false) {
    const BackendList backends = {&backend};
    HALYARD_ASSIGN_OR_RETURN(AnalyzedGraph analyzed, analyze(graphOf(layer), backends, nullptr));
    BuildOptions options;
    options.threads = std::make_shared<ThreadPool>(threads);
    options.compile.fastMath = fastMath;
    return Program::build(std::move(analyzed), backends, options);
}

// Its outputs; nothing may be allocated by a run whose shapes were seen before.
std::vector<float> run(const WinogradLayer& layer, const Backend& backend, size_t threads,
                       bool fastMath = false) {
    const Result<std::shared_ptr<const Program>> program = build(layer, backend, threads, fastMath);
    if (!program.ok()) {
        ADD_FAILURE() << program.status().toString();
        return {};
    }
    Execution execution = Execution::create(*program).value();
    const GuardedMemory input(layer.x.bytes);
    const InputBinding in = {.bytes = input.bytes(), .shape = layer.x.type.shape};
    const OutputBinding none = {};
    ExecutionReport report;
    const Status first = execution.run({&in, 1}, {&none, 1}, {}, &report);
    EXPECT_TRUE(first.ok() || first.code() == StatusCode::OUTPUT_TOO_SMALL) << first.toString();
    const Shape shape = report.outputs.at(0).shape;
    const size_t size = elementSize(layer.x.type.type);
    const GuardedMemory memory(static_cast<size_t>(*shape.elementCount()) * size);
    const OutputBinding out = {.bytes = memory.bytes()};
    EXPECT_TRUE(execution.run({&in, 1}, {&out, 1}, {}, &report).ok());
    std::ranges::fill(memory.bytes(), uint8_t{0xff});
    const size_t before = allocationCount();
    EXPECT_TRUE(execution.run({&in, 1}, {&out, 1}, {}, &report).ok());
    EXPECT_EQ(allocationCount(), before);
    std::vector<float> result(memory.bytes().size() / size);
    if (layer.x.type.type == DataType::FLOAT16) {
        const auto* const halves = reinterpret_cast<const Half*>(memory.bytes().data());
        std::transform(halves, halves + result.size(), result.begin(),
                       [](Half value) { return toFloat(value); });
    } else {
        std::memcpy(result.data(), memory.bytes().data(), memory.bytes().size());
    }
    return result;
}

// The sums as they are defined, in double precision, before the activation.
std::vector<double> sumsOf(const WinogradLayer& layer) {
    const Shape& x = layer.x.type.shape;
    const int32_t columns = layer.bias.type.shape[0];
    const ResolvedWindow window = resolveWindow(layer.node.window, x[1], x[2], 3, 3).value();
    const std::vector<double> in = ref_test::stored(layer.x);
    const std::vector<double> weights = ref_test::stored(layer.weights);
    const std::vector<double> bias = ref_test::stored(layer.bias);
    std::vector<double> result;
    const auto at = [](int64_t a, int64_t b, int64_t extent) { return a * extent + b; };
    for (int32_t n = 0; n < x[0]; ++n) {
        for (int32_t i = 0; i < window.outputH; ++i) {
            for (int32_t j = 0; j < window.outputW; ++j) {
                for (int32_t column = 0; column < columns; ++column) {
                    double sum = bias[static_cast<size_t>(column)];
                    for (int32_t a = 0; a < 3; ++a) {
                        for (int32_t b = 0; b < 3; ++b) {
                            const int64_t line = i + a - window.top;
                            const int64_t pixel = j + b - window.left;
                            if (line < 0 || line >= x[1] || pixel < 0 || pixel >= x[2]) {
                                continue;
                            }
                            for (int32_t k = 0; k < x[3]; ++k) {
                                const int64_t from =
                                        at(at(at(n, line, x[1]), pixel, x[2]), k, x[3]);
                                const int64_t weight = at(at(at(column, a, 3), b, 3), k, x[3]);
                                sum += in[static_cast<size_t>(from)] *
                                       weights[static_cast<size_t>(weight)];
                            }
                        }
                    }
                    result.push_back(sum);
                }
            }
        }
    }
    return result;
}

// The largest error over the root mean square of the sums, besides `rounding` of each result.
double errorOf(const std::vector<float>& actual, const std::vector<double>& sums,
               Activation activation, double rounding = 0) {
    EXPECT_EQ(actual.size(), sums.size());
    const RealRange range = rangeOf(activation);
    double squares = 1e-30;
    double most = 0;
    for (size_t i = 0; i < std::min(actual.size(), sums.size()); ++i) {
        squares += sums[i] * sums[i];
        const double expected = std::clamp(sums[i], static_cast<double>(range.low),
                                           static_cast<double>(range.high));
        const double error =
                std::max(std::abs(actual[i] - expected) - rounding * std::abs(expected), 0.0);
        most = std::isnan(error) ? error : std::max(most, error);
    }
    return most / std::sqrt(squares / static_cast<double>(std::max<size_t>(sums.size(), 1)));
}

constexpr double kStrict = 1e-5;
constexpr double kRough = 1e-4;

double allowed(int32_t side) {
    return side == 2 ? kStrict : kRough;
}

std::string describe(const WinogradLayer& layer, int32_t side, InstructionSet set, size_t threads) {
    return "x " + layer.x.type.shape.toString() + ", weights " +
           layer.weights.type.shape.toString() + ", F" + std::to_string(side) + ", " +
           std::string(toString(set)) + ", threads " + std::to_string(threads);
}

TEST(Winograd, IsTheSumOverTheFilterForAnyShape) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (int round = 0; round < 16 && !testing::Test::HasFailure(); ++round) {
        const WinogradLayer layer = randomLayer(random);
        const std::vector<double> expected = sumsOf(layer);
        for (const InstructionSet set : cpu::availableInstructionSets()) {
            for (const int32_t side : {2, 4}) {
                const auto threads = static_cast<size_t>(random.integer(1, 4));
                SCOPED_TRACE(describe(layer, side, set, threads));
                EXPECT_LE(errorOf(run(layer, Forced(side, set), threads), expected,
                                  layer.node.activation),
                          allowed(side));
            }
        }
    }
}

// FLOAT16 is widened and narrowed by the transforms, and rounded once.
TEST(Winograd, OfHalvesIsTheSumRoundedToAHalf) {
    constexpr double kHalfStep = 0x1p-11;
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (int round = 0; round < 12 && !testing::Test::HasFailure(); ++round) {
        const WinogradLayer layer = randomLayer(random, DataType::FLOAT16);
        const std::vector<double> expected = sumsOf(layer);
        for (const InstructionSet set : cpu::availableInstructionSets()) {
            for (const int32_t side : {2, 4}) {
                const auto threads = static_cast<size_t>(random.integer(1, 4));
                SCOPED_TRACE(describe(layer, side, set, threads));
                EXPECT_LE(errorOf(run(layer, Forced(side, set), threads), expected,
                                  layer.node.activation, kHalfStep * 1.01),
                          allowed(side));
            }
        }
    }
}

// Sums beyond its range are infinity, and what comes in as infinity or NaN goes out as the
// reference has it.
TEST(Winograd, OfHalvesPassesOnWhatIsNotFinite) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    const auto reference = makeCpuRef();
    for (const float special : {std::nanf(""), INFINITY, -INFINITY, 65504.0F}) {
        WinogradLayer layer = randomLayer(random, {1, 11, 10, 5}, 21, DataType::FLOAT16);
        std::vector<float> weights(21 * 9 * 5);
        for (float& weight : weights) {
            weight = random.coin() ? random.real(1.5F, 2.0F) : random.real(-2.0F, -1.5F);
        }
        layer.weights = ref_test::halves(layer.weights.type.shape, weights);
        reinterpret_cast<Half*>(layer.x.bytes.data())[(3 * 10 + 5) * 5 + 1] = toHalf(special);
        const std::vector<float> expected = run(layer, *reference, 1);
        EXPECT_FALSE(
                std::ranges::all_of(expected, [](float value) { return std::isfinite(value); }));
        for (const InstructionSet set : cpu::availableInstructionSets()) {
            for (const int32_t side : {2, 4}) {
                SCOPED_TRACE(describe(layer, side, set, 2) + ", " + std::to_string(special));
                const std::vector<float> actual = run(layer, Forced(side, set), 2);
                ASSERT_EQ(actual.size(), expected.size());
                for (size_t i = 0; i < expected.size(); ++i) {
                    ASSERT_EQ(std::isnan(actual[i]), std::isnan(expected[i])) << "element " << i;
                    if (std::isinf(expected[i])) {
                        ASSERT_EQ(actual[i], expected[i]) << "element " << i;
                    }
                }
            }
        }
    }
}

// More tiles than are transformed at a time, and than one thread multiplies at a time.
TEST(Winograd, GoesThroughFeatureMapsInParts) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    const WinogradLayer layer = randomLayer(random, {2, 43, 45, 100}, 35);
    const std::vector<double> expected = sumsOf(layer);
    for (const int32_t side : {2, 4}) {
        for (const InstructionSet set : cpu::availableInstructionSets()) {
            for (const size_t threads : {size_t{1}, size_t{2}, size_t{3}, size_t{4}}) {
                SCOPED_TRACE(describe(layer, side, set, threads));
                EXPECT_LE(errorOf(run(layer, Forced(side, set), threads), expected,
                                  layer.node.activation),
                          allowed(side));
            }
        }
    }
}

TEST(Winograd, DoesNotDependOnThreads) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    const WinogradLayer layer = randomLayer(random, {1, 29, 29, 64}, 64);
    for (const int32_t side : {2, 4}) {
        const Forced backend(side, cpu::bestInstructionSet());
        const std::vector<float> alone = run(layer, backend, 1);
        for (const size_t threads : {size_t{2}, size_t{4}}) {
            EXPECT_EQ(run(layer, backend, threads), alone);
        }
    }
}

// F(2x2) needs no option because it is as good as the direct product.
TEST(Winograd, WithSquaresOfTwoIsWithinTheToleranceOfDirectSums) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const int32_t channels : {64, 256, 512}) {
        const WinogradLayer layer = randomLayer(random, {1, 8, 8, channels}, 64);
        const std::vector<double> expected = sumsOf(layer);
        EXPECT_LE(errorOf(run(layer, Forced(2, cpu::bestInstructionSet()), 1), expected,
                          Activation::NONE),
                  kStrict);
    }
}

// Elements that are no numbers, infinite or so large that sums of them are: they show in the
// windows that have them, and in no others.
TEST(Winograd, PassesOnWhatIsNotFiniteAsTheReferenceDoes) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    const auto reference = makeCpuRef();
    for (const float special : {std::nanf(""), INFINITY, -INFINITY, 3e38F, -3e38F}) {
        for (const auto activation : {Activation::NONE, Activation::RELU, Activation::RELU6}) {
            WinogradLayer layer = randomLayer(random, {1, 11, 10, 5}, 21);
            layer.node.activation = activation;
            auto* const x = reinterpret_cast<float*>(layer.x.bytes.data());
            // Of neighbouring spatial positions, so that differences of them overflow.
            x[(2 * 10 + 3) * 5 + 1] = special;
            x[(3 * 10 + 5) * 5 + 1] = -special;
            x[(10 * 10 + 9) * 5 + 4] = special;
            // No weight that rounding could lose next to others.
            auto* const weights = reinterpret_cast<float*>(layer.weights.bytes.data());
            for (size_t i = 0; i < layer.weights.bytes.size() / sizeof(float); ++i) {
                weights[i] = random.coin() ? random.real(0.25F, 1.0F) : random.real(-1.0F, -0.25F);
            }
            const std::vector<float> expected = run(layer, *reference, 1);
            const bool isHuge = std::isfinite(special);
            for (const InstructionSet set : cpu::availableInstructionSets()) {
                for (const int32_t side : {2, 4}) {
                    SCOPED_TRACE(describe(layer, side, set, 2) + ", " + std::to_string(special));
                    const std::vector<float> actual = run(layer, Forced(side, set), 2);
                    ASSERT_EQ(actual.size(), expected.size());
                    for (size_t i = 0; i < expected.size(); ++i) {
                        ASSERT_EQ(std::isfinite(actual[i]), std::isfinite(expected[i]))
                                << "element " << i << ": " << actual[i] << ", " << expected[i];
                        if (std::isinf(expected[i])) {
                            ASSERT_EQ(actual[i], expected[i]) << "element " << i;
                        } else if (std::isfinite(expected[i]) && !isHuge) {
                            ASSERT_NEAR(actual[i], expected[i], 1e-4) << "element " << i;
                        }
                    }
                }
            }
        }
    }
}

// ---- The choice ---------------------------------------------------------------------------------

std::string kernelOf(const WinogradLayer& layer, bool fastMath = false) {
    const auto backend = makeCpuAcc();
    const Result<std::shared_ptr<const Program>> program = build(layer, *backend, 1, fastMath);
    return program.ok() ? std::string((*program)->placement()[0].kernel)
                        : program.status().toString();
}

bool isWinograd(const WinogradLayer& layer, bool fastMath = false) {
    return kernelOf(layer, fastMath).starts_with("acc::winograd_float 2x2");
}

bool isRoughWinograd(const WinogradLayer& layer, bool fastMath = false) {
    return kernelOf(layer, fastMath).starts_with("acc::winograd_float 4x4");
}

TEST(WinogradChoice, IsTakenWhereItSaves) {
    RandomValues random;
    for (const auto& [extent, channels] : {std::pair{56, 64}, {28, 128}, {14, 256}}) {
        const WinogradLayer layer = randomLayer(random, {1, extent, extent, channels}, channels);
        EXPECT_TRUE(isWinograd(layer)) << kernelOf(layer);
    }
    // Few channels: transforms would take what the products save. Few spatial positions: filters
    // would.
    EXPECT_FALSE(isWinograd(randomLayer(random, {1, 56, 56, 8}, 64)));
    EXPECT_FALSE(isWinograd(randomLayer(random, {1, 56, 56, 64}, 8)));
    EXPECT_FALSE(isWinograd(randomLayer(random, {1, 3, 3, 64}, 64)));
    // So many that a unit of work would take long.
    EXPECT_FALSE(isWinograd(randomLayer(random, {1, 14, 14, 4100}, 32)));
}

TEST(WinogradChoice, TakesSquaresOfFourOnlyWhereRoughResultsWill) {
    RandomValues random;
    WinogradLayer layer = randomLayer(random, {1, 28, 28, 64}, 64);
    EXPECT_TRUE(isWinograd(layer)) << kernelOf(layer);
    EXPECT_TRUE(isRoughWinograd(layer, true)) << kernelOf(layer, true);
    layer.relaxed = true;
    EXPECT_TRUE(isRoughWinograd(layer)) << kernelOf(layer);
    // So few tiles that the larger filters take what they save.
    const WinogradLayer small = randomLayer(random, {1, 14, 14, 256}, 256);
    EXPECT_TRUE(isWinograd(small, true)) << kernelOf(small, true);
}

TEST(WinogradChoice, TakesHalves) {
    RandomValues random;
    WinogradLayer layer = randomLayer(random, {1, 40, 40, 128}, 128, DataType::FLOAT16);
    EXPECT_TRUE(isWinograd(layer)) << kernelOf(layer);
    layer.relaxed = true;
    EXPECT_TRUE(isRoughWinograd(layer)) << kernelOf(layer);
    reinterpret_cast<Half*>(layer.weights.bytes.data())[100] = toHalf(INFINITY);
    EXPECT_FALSE(isRoughWinograd(layer)) << kernelOf(layer);
}

TEST(WinogradChoice, LeavesOutWhatTransformsAreNotFor) {
    RandomValues random;
    const WinogradLayer good = randomLayer(random, {1, 28, 28, 64}, 64);
    ASSERT_TRUE(isWinograd(good)) << kernelOf(good);
    WinogradLayer other = good;
    other.node.window.strideH = 2;
    EXPECT_FALSE(isWinograd(other));
    other = good;
    other.node.window.dilationW = 2;
    EXPECT_FALSE(isWinograd(other));
    other = good;
    other.weights = random.values(typeOf(DataType::FLOAT32, {64, 3, 3, 32}));
    other.node.groups = 2;
    EXPECT_FALSE(isWinograd(other));
    other = good;
    other.weights = random.values(typeOf(DataType::FLOAT32, {64, 3, 5, 64}));
    EXPECT_FALSE(isWinograd(other));
    // The batch may be unknown, as there is one feature map at least.
    for (const size_t axis : {0, 1, 2}) {
        other = good;
        other.axesAtRunTime = {axis};
        EXPECT_EQ(isWinograd(other), axis == 0) << axis;
    }
}

TEST(WinogradChoice, LeavesOutFiltersThatCanNotBeTransformed) {
    RandomValues random;
    for (const float special : {INFINITY, std::nanf(""), 2e38F}) {
        WinogradLayer layer = randomLayer(random, {1, 28, 28, 64}, 64);
        reinterpret_cast<float*>(layer.weights.bytes.data())[100] = special;
        EXPECT_FALSE(isWinograd(layer)) << special;
        layer = randomLayer(random, {1, 28, 28, 64}, 64);
        reinterpret_cast<float*>(layer.bias.bytes.data())[10] = special;
        EXPECT_FALSE(isWinograd(layer)) << special;
    }
}

}  // namespace
}  // namespace halyard::engine
