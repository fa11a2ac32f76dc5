// SPDX-License-Identifier: Apache-2.0

#include "tests/engine/gpu_acc/random_graph.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/backends/ref/cpu_ref.h"
#include "engine/graph/verifier.h"
#include "engine/plan/program.h"

namespace halyard::engine::gpu_test {
namespace {

constexpr int32_t kWide = 32;
constexpr int32_t kNarrow = 4;

class Maker {
  public:
    Maker(RandomValues& random, DataType type) : mRandom(random), mType(type) {}

    Graph make(int nodes) {
        mInputs = {add(typed({2, kNarrow, kNarrow, kNarrow})), add(typed({kNarrow, kNarrow}))};
        mTensors = mInputs;
        for (int i = 0; i < nodes; ++i) {
            addOne();
        }
        mGraph.setInputs(mInputs);
        std::vector<TensorId> outputs;
        for (const Node& node : mGraph.nodes()) {
            for (const TensorId id : node.outputs) {
                // Tensors without a reader, and now and then one that has some.
                if (!mRead.contains(id) || mRandom.integer(0, 4) == 0) {
                    outputs.push_back(id);
                }
            }
        }
        mGraph.setOutputs(std::move(outputs));
        const Status verified = verifyAndInfer(mGraph);
        EXPECT_TRUE(verified.ok()) << verified.toString();
        return std::move(mGraph);
    }

  private:
    template <typename T>
    const T& one(const std::vector<T>& of) {
        return of[static_cast<size_t>(mRandom.integer(0, static_cast<int32_t>(of.size()) - 1))];
    }
    // One of the last, so that chains come to be.
    TensorId tensor() {
        const auto last = static_cast<int32_t>(mTensors.size()) - 1;
        const int32_t first = mRandom.coin() ? std::max(last - 3, 0) : 0;
        return mTensors[static_cast<size_t>(mRandom.integer(first, last))];
    }
    const Shape& shapeOf(TensorId id) const { return mGraph.tensor(id).type.shape; }

    TensorType typed(Shape shape) {
        TensorType type = randomType(mRandom, mType, shape, 0.05F);
        return type;
    }
    TensorId add(TensorType type) { return mGraph.addTensor(std::move(type)); }
    TensorId constant(const Values& values) {
        return mGraph.addConstant(values.type, {.owner = nullptr, .bytes = values.bytes}).value();
    }
    TensorId list(const std::vector<int32_t>& elements) {
        return constant(ref_test::ints({static_cast<int32_t>(elements.size())}, elements));
    }
    TensorId node(NodeDescriptor descriptor, std::vector<TensorId> inputs, TensorType output) {
        for (const TensorId input : inputs) {
            mRead.insert(input);
        }
        const TensorId id = add(std::move(output));
        mGraph.addNode({.descriptor = std::move(descriptor),
                        .inputs = std::move(inputs),
                        .outputs = {id},
                        .label = "node " + std::to_string(mGraph.nodes().size()),
                        .sources = {}});
        mTensors.push_back(id);
        return id;
    }
    // Of the same steps as x.
    TensorType like(TensorId x, Shape shape) {
        TensorType type = mGraph.tensor(x).type;
        type.shape = shape;
        return type;
    }

    Activation activation() {
        return one(std::vector{Activation::NONE, Activation::NONE, Activation::RELU,
                               Activation::RELU1, Activation::RELU6});
    }
    TensorId bias(TensorId x, TensorId weights, int32_t channels) {
        if (isFloat(mType)) {
            return constant(mRandom.values(typeOf(mType, {channels})));
        }
        std::vector<int32_t> elements(static_cast<size_t>(channels));
        for (int32_t& element : elements) {
            element = mRandom.integer(-300, 300);
        }
        Values values = ref_test::ints({channels}, elements);
        values.type.quantization.scale = mGraph.tensor(x).type.quantization.scale *
                                         mGraph.tensor(weights).type.quantization.scale;
        return constant(values);
    }

    void addGemm() {
        const TensorId x = tensor();
        const Shape shape = shapeOf(x);
        const auto elements = static_cast<int32_t>(*shape.elementCount());
        const int32_t depth = shape[shape.rank() - 1];
        // Often one beside it that reads the same.
        const int products = mRandom.integer(1, 3);
        const int32_t units = one(std::vector{kWide, kNarrow});
        for (int i = 0; i < products; ++i) {
            const TensorId weights = constant(mRandom.values(typed({units, depth})));
            node(FullyConnected{.activation = activation()}, {x, weights, bias(x, weights, units)},
                 typed({elements / depth, units}));
        }
    }
    void addConvolution() {
        const TensorId x = tensor();
        const Shape shape = shapeOf(x);
        if (shape.rank() != 4) {
            addGemm();
            return;
        }
        const bool isDepthwise = mRandom.coin();
        const int32_t size = one(std::vector{1, 3});
        const int32_t channels = isDepthwise ? shape[3] : one(std::vector{kNarrow, kWide});
        const TensorId weights = constant(
                mRandom.values(typed(isDepthwise ? Shape{1, size, size, channels}
                                                 : Shape{channels, size, size, shape[3]})));
        const Window2d window = {.padding = PaddingScheme::SAME};
        const NodeDescriptor descriptor =
                isDepthwise ? NodeDescriptor(
                                      DepthwiseConv2d{.window = window, .activation = activation()})
                            : NodeDescriptor(Conv2d{.window = window, .activation = activation()});
        node(descriptor, {x, weights, bias(x, weights, channels)},
             typed({shape[0], shape[1], shape[2], channels}));
    }
    void addActivation() {
        const TensorId x = tensor();
        const auto function =
                one(std::vector{Activate::Function::RELU, Activate::Function::RELU1,
                                Activate::Function::RELU6, Activate::Function::HARD_SWISH});
        node(Activate{.function = function}, {x}, typed(shapeOf(x)));
    }
    void addSum() {
        const TensorId a = tensor();
        std::vector<TensorId> others;
        for (const TensorId each : mTensors) {
            if (shapeOf(each) == shapeOf(a)) {
                others.push_back(each);
            }
        }
        const int32_t last = shapeOf(a)[shapeOf(a).rank() - 1];
        TensorId b = others[static_cast<size_t>(
                mRandom.integer(std::max(static_cast<int32_t>(others.size()) - 4, 0),
                                static_cast<int32_t>(others.size()) - 1))];
        if (mRandom.integer(0, 4) == 0) {
            b = constant(mRandom.values(typed({last})));
        }
        const auto function = one(
                std::vector{Binary::Function::ADD, Binary::Function::SUB, Binary::Function::MUL});
        std::vector<TensorId> operands = {a, b};
        if (mRandom.coin()) {
            std::swap(operands[0], operands[1]);
        }
        node(Binary{.function = function, .activation = activation()}, operands, typed(shapeOf(a)));
    }
    void addMove() {
        const TensorId x = tensor();
        const Shape shape = shapeOf(x);
        if (shape.rank() == 2 && mRandom.coin()) {
            node(Transpose(), {x, list({1, 0})}, like(x, {shape[1], shape[0]}));
            return;
        }
        const auto elements = static_cast<int32_t>(*shape.elementCount());
        const int32_t last = elements % kNarrow == 0 ? kNarrow : 1;
        Shape to = shape.rank() == 4 ? Shape{elements / last, last}
                                     : Shape{1, 1, elements / last, last};
        if (shape.rank() == 4 && shape[1] % 2 == 0 && mRandom.coin()) {
            to = {shape[0], shape[1] / 2, shape[2] * 2, shape[3]};  // other rows of the same pixels
        }
        node(Reshape(), {x, list({to.extents().begin(), to.extents().end()})}, like(x, to));
    }
    void addMatrices() {
        const TensorId a = tensor();
        std::vector<TensorId> others;
        for (const TensorId each : mTensors) {
            if (shapeOf(each).rank() == 2 && shapeOf(a).rank() == 2 &&
                shapeOf(each)[1] == shapeOf(a)[1]) {
                others.push_back(each);
            }
        }
        if (others.empty()) {
            addMove();
            return;
        }
        const TensorId b = one(others);
        node(BatchMatmul{.transposeA = false, .transposeB = true}, {a, b},
             typed({shapeOf(a)[0], shapeOf(b)[0]}));
    }
    void addMean() {
        const TensorId x = tensor();
        const Shape shape = shapeOf(x);
        if (shape.rank() != 4) {
            addActivation();
        } else if (mRandom.coin() && shape[1] > 1) {
            node(Pool2d{.filterH = shape[1], .filterW = shape[2]}, {x},
                 like(x, {shape[0], 1, 1, shape[3]}));
        } else {
            node(Reduce{.keepDims = true}, {x, list({1, 2})}, typed({shape[0], 1, 1, shape[3]}));
        }
    }
    void addOne() {
        switch (mRandom.integer(0, 11)) {
            case 0:
            case 1:
            case 2:
                addGemm();
                break;
            case 3:
            case 4:
                addConvolution();
                break;
            case 5:
                addActivation();
                break;
            case 6:
            case 7:
            case 8:
                addSum();
                break;
            case 9:
                addMove();
                break;
            case 10:
                addMatrices();
                break;
            default:
                addMean();
        }
    }

    RandomValues& mRandom;
    const DataType mType;
    Graph mGraph;
    std::vector<TensorId> mInputs;
    std::vector<TensorId> mTensors;
    std::set<TensorId> mRead;
};

Result<std::vector<Values>> run(const Graph& graph, const Backend& backend,
                                const std::vector<Values>& inputs) {
    HALYARD_ASSIGN_OR_RETURN(AnalyzedGraph analyzed, analyze(graph, {&backend}, nullptr));
    HALYARD_ASSIGN_OR_RETURN(
            const std::shared_ptr<const Program> program,
            Program::build(std::move(analyzed), {&backend}, {.movesPartitions = false}));
    HALYARD_ASSIGN_OR_RETURN(Execution execution, Execution::create(program));
    std::vector<InputBinding> bound;
    for (const Values& input : inputs) {
        bound.push_back({.bytes = input.bytes, .shape = input.type.shape});
    }
    std::vector<Values> outputs;
    for (const TensorId id : graph.outputs()) {
        const TensorType& type = graph.tensor(id).type;
        outputs.push_back({.type = type, .bytes = std::vector<uint8_t>(*type.byteSize())});
    }
    std::vector<OutputBinding> results;
    for (Values& output : outputs) {
        results.push_back({.bytes = output.bytes});
    }
    HALYARD_RETURN_IF_ERROR(execution.run(bound, results, {}, nullptr));
    return outputs;
}

}  // namespace

Graph randomGraph(RandomValues& random, DataType type, int nodes) {
    return Maker(random, type).make(nodes);
}

testing::AssertionResult agreesAsAWhole(const Graph& graph, const Backend& backend,
                                        RandomValues& random, double tolerance) {
    std::vector<Values> inputs;
    for (const TensorId input : graph.inputs()) {
        inputs.push_back(random.values(graph.tensor(input).type));
    }
    const Result<std::vector<Values>> expected = run(graph, *makeCpuRef(), inputs);
    const Result<std::vector<Values>> actual = run(graph, backend, inputs);
    for (const Result<std::vector<Values>>* const result : {&expected, &actual}) {
        if (!result->ok()) {
            return testing::AssertionFailure()
                   << random.seedText() << ": " << result->status().toString();
        }
    }
    for (size_t i = 0; i < expected->size(); ++i) {
        const std::vector<double> x = ref_test::stored((*expected)[i]);
        const std::vector<double> y = ref_test::stored((*actual)[i]);
        double largest = 1;
        for (const double value : x) {
            largest = std::max(largest, std::abs(value));
        }
        if (!std::isfinite(largest) ||
            (isFloat((*expected)[i].type.type) &&
             !std::ranges::all_of(x, [](double value) { return std::isfinite(value); }))) {
            continue;
        }
        const double allowed = isFloat((*expected)[i].type.type) ? tolerance * largest : 0;
        for (size_t at = 0; at < x.size(); ++at) {
            if (!(std::abs(x[at] - y[at]) <= allowed)) {
                return testing::AssertionFailure()
                       << random.seedText() << ": output " << i << ", element " << at << " is "
                       << y[at] << ", not " << x[at];
            }
        }
    }
    return testing::AssertionSuccess();
}

}  // namespace halyard::engine::gpu_test
