// SPDX-License-Identifier: Apache-2.0
//
// Batch GEMM between nodes that only move elements, against CpuRef, which computes node by node.

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/backends/gpu/gpu_acc.h"
#include "engine/backends/ref/cpu_ref.h"
#include "engine/plan/profile.h"
#include "engine/plan/program.h"
#include "tests/engine/gpu_acc/on_device.h"
#include "tests/engine/plan/running.h"

namespace halyard::engine::gpu_test {
namespace {

// It tells of the launches of each step.
const Backend& profiling() {
    static const std::unique_ptr<const Backend> opened = [] {
        const char* const named = std::getenv("HALYARD_OPENCL_DEVICE");
        return makeGpuAcc(
                       {.choice = {.library = "", .device = named != nullptr ? named : "pthread"},
                        .compilesApart = false,
                        .profiles = true})
                .value();
    }();
    return *opened;
}

// A graph whose inputs have shapes that it knows, or that only a run tells.
class MatrixGraph {
  public:
    MatrixGraph(DataType type, bool shapesAreKnown)
        : mType(type), mShapesAreKnown(shapesAreKnown) {}

    TensorId input(Shape shape) {
        TensorType type = randomType(mRandom, mType, shape, 0.05F);
        mValues.push_back(mRandom.values(type));
        for (size_t axis = 0; !mShapesAreKnown && axis < shape.rank(); ++axis) {
            type.shape[axis] = kUnknownDimension;
        }
        mInputs.push_back(mGraph.addTensor(type));
        return mInputs.back();
    }
    TensorId constant(const Values& values) {
        return mGraph.addConstant(values.type, {.owner = nullptr, .bytes = values.bytes}).value();
    }
    TensorId number() { return constant(mRandom.values(randomType(mRandom, mType, {1}, 0.05F))); }
    // Moves keep a type's quantisation.
    TensorId add(const NodeDescriptor& node, std::vector<TensorId> inputs) {
        TensorType type = mGraph.tensor(inputs[0]).type;
        const bool moves =
                std::holds_alternative<Transpose>(node) || std::holds_alternative<Reshape>(node);
        if (!moves) {
            type = randomType(mRandom, mType, {}, 0.1F);
        }
        type.shape = Shape::unknownRank();
        const TensorId id = mGraph.addTensor(type);
        mGraph.addNode({.descriptor = node,
                        .inputs = std::move(inputs),
                        .outputs = {id},
                        .label = "node " + std::to_string(mGraph.nodes().size()),
                        .sources = {0}});
        return id;
    }
    TensorId transpose(TensorId x, const std::vector<int32_t>& order) {
        return add(Transpose(), {x, ints(order)});
    }
    TensorId reshape(TensorId x, const std::vector<int32_t>& shape) {
        return add(Reshape(), {x, ints(shape)});
    }
    TensorId product(TensorId a, TensorId b, bool transposeA = false, bool transposeB = false) {
        return add(BatchMatmul{.transposeA = transposeA, .transposeB = transposeB}, {a, b});
    }

    TensorId projection(TensorId x, int32_t channels, Activation activation = Activation::NONE) {
        const Shape& from = mValues[0].type.shape;
        const TensorId weights =
                constant(mRandom.values(randomType(mRandom, mType, {channels, from[1]}, 0.02F)));
        const TensorId bias = constant(
                isFloat(mType)
                        ? mRandom.values(typeOf(mType, {channels}))
                        : ref_test::ints({channels},
                                         std::vector<int32_t>(static_cast<size_t>(channels), 300)));
        return add(FullyConnected{.activation = activation}, {x, weights, bias});
    }

    // On the device, with the names of the kernels, as on CpuRef.
    void check(TensorId output, std::vector<std::string> kernels) {
        // A device that is named, rather than PoCL, has tiles wherever they are legal.
        if (std::getenv("HALYARD_OPENCL_DEVICE") != nullptr) {
            constexpr std::string_view kDirect = ": direct_batch_gemm";
            for (std::string& kernel : kernels) {
                if (kernel.ends_with(kDirect)) {
                    kernel.replace(kernel.size() - kDirect.size(), kDirect.size(),
                                   ": tiled_batch_gemm");
                }
            }
        }
        check(output, kernels, profiling());
    }
    void checkTiles(TensorId output, const std::vector<std::string>& kernels) {
        check(output, kernels, *backend(GemmKind::TILED));
    }

  private:
    void check(TensorId output, const std::vector<std::string>& kernels, const Backend& device) {
        SCOPED_TRACE(mRandom.seedText() + " " + std::string(toString(mType)) +
                     (mShapesAreKnown ? "" : ", shapes found"));
        mGraph.setInputs(mInputs);
        mGraph.setOutputs({output});
        const Values expected = run(*makeCpuRef(), nullptr);
        std::vector<std::string> ran;
        const Values actual = run(device, &ran);
        EXPECT_EQ(ran, kernels);
        const bool isHalf = mType == DataType::FLOAT16;
        EXPECT_TRUE(cpu_test::sameValues(actual, expected, isHalf ? 1e-2 : 1e-5, 1.0));
        EXPECT_TRUE(cpu_test::sameValues(run(device, nullptr), actual, 0)) << "traced or not";
    }

    TensorId ints(const std::vector<int32_t>& elements) {
        return constant(ref_test::ints({static_cast<int32_t>(elements.size())}, elements));
    }
    Values run(const Backend& backend, std::vector<std::string>* kernels) {
        const auto program = buildOrDie(mGraph, {&backend});
        Execution execution = Execution::create(program).value();
        std::vector<InputBinding> in;
        for (const Values& input : mValues) {
            in.push_back({.bytes = input.bytes, .shape = input.type.shape});
        }
        Values result = {.type = mGraph.tensor(mGraph.outputs()[0]).type, .bytes = {}};
        result.bytes.resize(kMostBytes);
        const std::vector<OutputBinding> out = {
                {.bytes = result.bytes, .shape = Shape::unknownRank()}};
        Profile profile(program);
        ExecutionReport report;
        const Status status =
                execution.run(in, out, {.trace = kernels == nullptr ? nullptr : &profile}, &report);
        EXPECT_TRUE(status.ok()) << status.toString();
        if (!status.ok()) {
            return result;
        }
        result.type.shape = report.outputs[0].shape;
        result.bytes.resize(result.type.byteSize().value());
        if (kernels != nullptr) {
            profile.endRun();
            for (const NodeProfile& node : profile.nodes()) {
                kernels->emplace_back(node.kernel);
            }
        }
        return result;
    }

    static constexpr size_t kMostBytes = 1 << 20;

    const DataType mType;
    const bool mShapesAreKnown;
    RandomValues mRandom;
    Graph mGraph;
    std::vector<TensorId> mInputs;
    std::vector<Values> mValues;
};

// Of each type, with shapes that are known and not.
template <typename Test>
void forEachTypeAndSetting(Test test) {
    for (const DataType type : kReals) {
        for (const bool shapesAreKnown : {true, false}) {
            test(type, shapesAreKnown);
        }
    }
}

TEST(GpuAccBatchGemm, SeesHeadsWhereTheyLie) {
    HALYARD_NEEDS_DEVICE();
    forEachTypeAndSetting([](DataType type, bool shapesAreKnown) {
        MatrixGraph graph(type, shapesAreKnown);
        const TensorId queries = graph.transpose(graph.input({2, 7, 3, 8}), {0, 2, 1, 3});
        const TensorId keys = graph.transpose(graph.input({2, 9, 3, 8}), {0, 2, 1, 3});
        const TensorId scores = graph.product(queries, keys, false, true);
        graph.check(scores, {"gpu::Transpose + Transpose + BatchMatmul: direct_batch_gemm"});
    });
}

TEST(GpuAccBatchGemm, PutsResultsWhereTheyBelong) {
    HALYARD_NEEDS_DEVICE();
    forEachTypeAndSetting([](DataType type, bool shapesAreKnown) {
        MatrixGraph graph(type, shapesAreKnown);
        const TensorId shares = graph.input({2, 3, 7, 9});
        const TensorId values =
                graph.transpose(graph.reshape(graph.input({18, 24}), {2, 9, 3, 8}), {0, 2, 1, 3});
        const TensorId seen = graph.transpose(graph.product(shares, values), {0, 2, 1, 3});
        graph.check(graph.reshape(seen, {14, 24}), {"gpu::Reshape + Transpose + BatchMatmul + "
                                                    "Transpose + Reshape: direct_batch_gemm"});
    });
}

TEST(GpuAccBatchGemm, TakesTransposedFactorsOfFewerBatches) {
    HALYARD_NEEDS_DEVICE();
    forEachTypeAndSetting([](DataType type, bool shapesAreKnown) {
        MatrixGraph graph(type, shapesAreKnown);
        const TensorId a = graph.transpose(graph.input({5, 2, 3, 9}), {1, 2, 0, 3});
        const TensorId b = graph.transpose(graph.input({7, 3, 1, 5}), {2, 1, 0, 3});
        graph.check(graph.product(a, b, true, true),
                    {"gpu::Transpose + Transpose + BatchMatmul: direct_batch_gemm"});
    });
}

// Rows that are no even steps apart, and axes that no strides tell of, are put into order first.
TEST(GpuAccBatchGemm, PutsIntoOrderWhatNoStridesTell) {
    HALYARD_NEEDS_DEVICE();
    forEachTypeAndSetting([](DataType type, bool shapesAreKnown) {
        {
            MatrixGraph graph(type, shapesAreKnown);
            const TensorId rows = graph.reshape(
                    graph.transpose(graph.input({2, 7, 3, 8}), {0, 2, 1, 3}), {2, 21, 8});
            const TensorId odd =
                    graph.reshape(graph.transpose(graph.input({6, 4}), {1, 0}), {1, 8, 3});
            graph.check(graph.product(rows, odd), {"gpu::Transpose + Reshape + Transpose + Reshape "
                                                   "+ BatchMatmul: map + map + direct_batch_gemm"});
        }
        {
            MatrixGraph graph(type, shapesAreKnown);
            const TensorId product = graph.product(graph.input({2, 6, 5}), graph.input({1, 5, 4}));
            const TensorId swapped =
                    graph.transpose(graph.reshape(product, {2, 2, 3, 4}), {0, 2, 1, 3});
            graph.check(swapped,
                        {"gpu::BatchMatmul + Reshape + Transpose: direct_batch_gemm + map"});
        }
        {
            MatrixGraph graph(type, shapesAreKnown);
            const TensorId product = graph.product(graph.input({2, 6, 5}), graph.input({2, 5, 4}));
            const TensorId odd = graph.reshape(graph.transpose(product, {0, 2, 1}), {2, 3, 8});
            graph.check(graph.transpose(odd, {2, 0, 1}),
                        {"gpu::BatchMatmul + Transpose + Reshape + Transpose: direct_batch_gemm + "
                         "map + map"});
        }
    });
}

TEST(GpuAccBatchGemm, ScalesAndMasksOnItsWay) {
    HALYARD_NEEDS_DEVICE();
    for (const DataType type : kReals) {
        MatrixGraph graph(type, true);
        const TensorId queries = graph.transpose(graph.input({1, 7, 3, 8}), {0, 2, 1, 3});
        const TensorId scores = graph.product(queries, graph.input({1, 3, 9, 8}), false, true);
        const TensorId scaled =
                graph.add(Binary{.function = Binary::Function::MUL}, {scores, graph.number()});
        const TensorId mask = graph.input({1, 1, 7, 9});
        const TensorId masked = graph.add(Binary(), {scaled, mask});
        const TensorId less =
                graph.add(Binary{.function = Binary::Function::SUB}, {graph.input({9}), masked});
        graph.check(graph.transpose(less, {0, 2, 3, 1}),
                    {"gpu::Transpose + BatchMatmul + Binary + Binary + Binary + Transpose: "
                     "direct_batch_gemm"});
    }
}

TEST(GpuAccBatchGemm, ScalesByOneNumberWhateverTheShapes) {
    HALYARD_NEEDS_DEVICE();
    forEachTypeAndSetting([](DataType type, bool shapesAreKnown) {
        MatrixGraph graph(type, shapesAreKnown);
        const TensorId product = graph.product(graph.input({2, 6, 5}), graph.input({2, 5, 4}));
        graph.check(graph.add(Binary{.function = Binary::Function::MUL}, {product, graph.number()}),
                    {"gpu::BatchMatmul + Binary: direct_batch_gemm"});
    });
}

// One node, so that its tensors lie between guard zones.
void checkTiles(DataType type, GemmKind gemm, Shape a, Shape b, bool transposeA, bool transposeB) {
    RandomValues random;
    SCOPED_TRACE(random.seedText() + " " + std::string(toString(type)) + " " + a.toString() + " " +
                 b.toString() + " form " + std::to_string(gemm.form));
    const Values left = random.values(randomType(random, type, a, 0.05F));
    const Values right = random.values(randomType(random, type, b, 0.05F));
    EXPECT_TRUE(agrees(BatchMatmul{.transposeA = transposeA, .transposeB = transposeB},
                       {left, right}, {randomType(random, type, {}, 0.1F)},
                       type == DataType::FLOAT16 ? 4e-3
                       : gemm.emulatesMatrixUnit ? 2e-2
                                                 : 1e-5,
                       0, gemm));
}

TEST(GpuAccBatchGemm, MultipliesByTilesOfEachFormAsTheReference) {
    HALYARD_NEEDS_DEVICE();
    for (int form = 0; form <= kGemmForms; ++form) {
        const DataType type = kReals[form % 4];
        const GemmKind gemm = {.isTiled = true, .form = form};
        checkTiles(type, gemm, {2, 70, 144}, {1, 67, 144}, false, true);
        checkTiles(type, gemm, {1, 35, 80}, {3, 80, 33}, false, false);
    }
}

TEST(GpuAccBatchGemm, MultipliesByADevicesOwnProductsAsTheReference) {
    HALYARD_NEEDS_DEVICE();
    for (const DataType type : kReals) {
        checkTiles(type, GemmKind::MATRIX_UNIT, {2, 35, 80}, {1, 33, 80}, false, true);
        checkTiles(type, GemmKind::MATRIX_UNIT, {1, 35, 80}, {2, 80, 36}, false, false);
    }
}

TEST(GpuAccBatchGemm, MultipliesByTilesHoweverFactorsLie) {
    HALYARD_NEEDS_DEVICE();
    for (const DataType type : kReals) {
        for (const bool transposeA : {false, true}) {
            for (const bool transposeB : {false, true}) {
                const auto check = [&](int32_t rows, int32_t columns, int32_t inner) {
                    checkTiles(type, GemmKind::TILED,
                               transposeA ? Shape{2, inner, rows} : Shape{2, rows, inner},
                               transposeB ? Shape{2, columns, inner} : Shape{2, inner, columns},
                               transposeA, transposeB);
                };
                check(19, 37, 17);
                // PoCL takes a second to compile each.
                if (!transposeA && transposeB) {
                    check(33, 20, 100);
                }
                if (!transposeA && !transposeB) {
                    check(1, 5, 1);
                }
            }
        }
    }
}

TEST(GpuAccBatchGemm, SeesAndScalesByTilesToo) {
    HALYARD_NEEDS_DEVICE();
    forEachTypeAndSetting([](DataType type, bool shapesAreKnown) {
        MatrixGraph graph(type, shapesAreKnown);
        const TensorId queries = graph.transpose(graph.input({1, 40, 3, 16}), {0, 2, 1, 3});
        const TensorId values = graph.transpose(graph.input({1, 16, 3, 24}), {0, 2, 1, 3});
        const TensorId scaled = graph.add(Binary{.function = Binary::Function::MUL},
                                          {graph.product(queries, values), graph.number()});
        graph.checkTiles(
                graph.reshape(graph.transpose(scaled, {0, 2, 1, 3}), {40, 72}),
                {"gpu::Transpose + Transpose + BatchMatmul + Binary + Transpose + Reshape"});
    });
}

// With what becomes of one of them on its way, and one of another form.
TEST(GpuAccBatchGemm, ProjectsATensorInOneStep) {
    HALYARD_NEEDS_DEVICE();
    forEachTypeAndSetting([](DataType type, bool shapesAreKnown) {
        for (const int32_t rows : {3, 21}) {
            MatrixGraph graph(type, shapesAreKnown);
            const TensorId x = graph.input({rows, 48});
            const TensorId queries = graph.projection(x, 36);
            const TensorId split = graph.reshape(queries, {1, rows, 2, 18});
            const TensorId keys = graph.projection(x, 36, Activation::RELU);
            const TensorId other = graph.projection(x, 20);
            const TensorId scaled =
                    graph.add(Binary{.function = Binary::Function::MUL}, {split, graph.number()});
            const TensorId values = graph.projection(x, 36);
            graph.checkTiles(graph.add(Concat{.axis = 1},
                                       {graph.reshape(scaled, {rows, 36}), keys, other, values}),
                             {"gpu::FullyConnected",
                              "gpu::FullyConnected + Reshape + Binary + Reshape + FullyConnected +"
                              " FullyConnected",
                              "gpu::Concat"});
        }
    });
}

TEST(GpuAccBatchGemm, ProjectsNothingAfterItIsRead) {
    HALYARD_NEEDS_DEVICE();
    MatrixGraph graph(DataType::FLOAT32, true);
    const TensorId x = graph.input({9, 16});
    const TensorId shares = graph.add(Softmax(), {graph.projection(x, 16)});
    graph.checkTiles(graph.add(Binary(), {graph.projection(x, 16), shares}),
                     {"gpu::FullyConnected", "gpu::Softmax", "gpu::FullyConnected + Binary"});
}

TEST(GpuAccBatchGemm, MovesNothingThatOthersRead) {
    HALYARD_NEEDS_DEVICE();
    MatrixGraph graph(DataType::FLOAT32, true);
    const TensorId x = graph.transpose(graph.input({2, 6, 5}), {0, 2, 1});
    const TensorId product = graph.product(x, graph.input({2, 6, 6}));
    graph.check(graph.add(Binary(), {product, x}),
                {"gpu::Transpose: map", "gpu::BatchMatmul + Binary: direct_batch_gemm"});
}

}  // namespace
}  // namespace halyard::engine::gpu_test
