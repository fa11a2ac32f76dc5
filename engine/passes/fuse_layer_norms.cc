// SPDX-License-Identifier: Apache-2.0

#include "engine/passes/fuse_layer_norms.h"

#include <algorithm>
#include <bitset>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "engine/graph/control_input.h"
#include "engine/passes/constant_number.h"

namespace halyard::engine {
namespace {

// The parts of a normalisation that have been found.
struct LayerNorm {
    LayerNormalize descriptor;
    TensorId x = kNoTensor;
    TensorId gamma = kNoTensor;
    TensorId beta = kNoTensor;
    std::vector<NodeId> nodes;  // all of them, the last one last
};

// Finds one around each root, in an old graph.
class Finder {
  public:
    Finder(const Graph& graph, const Uses& uses) : mGraph(graph), mUses(uses) {}

    std::optional<LayerNorm> around(NodeId root) {
        mNorm = {};
        const auto* unary = std::get_if<Unary>(&mGraph.node(root).descriptor);
        if (unary == nullptr || (unary->function != Unary::Function::RSQRT &&
                                 unary->function != Unary::Function::SQRT)) {
            return std::nullopt;
        }
        if (!findVariance(mGraph.node(root).inputs[0])) {
            return std::nullopt;
        }
        mNorm.nodes.push_back(root);
        const TensorId result = mGraph.node(root).outputs[0];
        const bool found = unary->function == Unary::Function::RSQRT ? findProducts(result)
                                                                     : findQuotient(result);
        return found && isClosed() ? std::optional(mNorm) : std::nullopt;
    }

  private:
    const TensorType& typeOf(TensorId id) const { return mGraph.tensor(id).type; }

    // The node that writes the tensor, if it is such a Binary without an activation.
    std::optional<NodeId> binaryOf(TensorId id, Binary::Function function) const {
        const std::optional<NodeId> writer = mUses.writer(id);
        return writer.has_value() && isBinary(*writer, function) ? writer : std::nullopt;
    }
    bool isBinary(NodeId id, Binary::Function function) const {
        const auto* binary = std::get_if<Binary>(&mGraph.node(id).descriptor);
        return binary != nullptr && binary->function == function &&
               binary->activation == Activation::NONE;
    }
    std::span<const TensorId> inputsOf(NodeId id) const { return mGraph.node(id).inputs; }

    // The mean over the last axes, from the first of them on, which are kept as ones.
    struct Mean {
        NodeId node = 0;
        TensorId x = kNoTensor;
        size_t axis = 0;
    };
    std::optional<Mean> meanOf(TensorId id) const {
        const std::optional<NodeId> writer = mUses.writer(id);
        const auto* reduce = writer.has_value()
                                     ? std::get_if<Reduce>(&mGraph.node(*writer).descriptor)
                                     : nullptr;
        if (reduce == nullptr || reduce->function != Reduce::Function::MEAN || !reduce->keepDims ||
            !mGraph.tensor(inputsOf(*writer)[1]).isConstant()) {
            return std::nullopt;
        }
        const TensorId x = inputsOf(*writer)[0];
        const Shape& shape = typeOf(x).shape;
        if (!shape.hasKnownRank()) {
            return std::nullopt;
        }
        const Result<std::bitset<kMaxRank>> axes =
                readAxes(knownInput(mGraph, inputsOf(*writer)[1]), shape.rank());
        if (!axes.ok() || axes->none()) {
            return std::nullopt;
        }
        const size_t first = shape.rank() - axes->count();
        for (size_t axis = first; axis < shape.rank(); ++axis) {
            if (!(*axes)[axis] || shape[axis] <= 0) {
                return std::nullopt;
            }
        }
        return Mean{.node = *writer, .x = x, .axis = first};
    }

    // The mean of squares of x less its mean, and an epsilon.
    bool findVariance(TensorId shifted) {
        const std::optional<NodeId> sum = binaryOf(shifted, Binary::Function::ADD);
        if (!sum.has_value()) {
            return false;
        }
        for (const size_t which : {0, 1}) {
            const std::optional<double> epsilon =
                    constantNumber(mGraph.tensor(inputsOf(*sum)[1 - which]));
            const std::optional<Mean> variance = meanOf(inputsOf(*sum)[which]);
            if (!epsilon.has_value() || !variance.has_value()) {
                continue;
            }
            const std::optional<NodeId> squares = squaresBy(variance->x);
            const std::optional<NodeId> difference =
                    squares.has_value() ? binaryOf(inputsOf(*squares)[0], Binary::Function::SUB)
                                        : std::nullopt;
            if (!difference.has_value()) {
                return false;
            }
            for (const size_t side : {0, 1}) {  // their order makes no difference to squares
                const TensorId x = inputsOf(*difference)[side];
                const std::optional<Mean> mean = meanOf(inputsOf(*difference)[1 - side]);
                if (mean.has_value() && mean->x == x && mean->axis == variance->axis &&
                    isFloat(typeOf(x).type)) {
                    mNorm.descriptor.epsilon = static_cast<float>(*epsilon);
                    mNorm.descriptor.axis = static_cast<int32_t>(mean->axis);
                    mNorm.x = x;
                    mMean = inputsOf(*difference)[1 - side];
                    mNorm.nodes = {mean->node, *difference, *squares, variance->node, *sum};
                    return std::isfinite(mNorm.descriptor.epsilon) &&
                           typeOf(shifted).shape.rank() == typeOf(x).shape.rank();
                }
            }
        }
        return false;
    }

    // The node that multiplies a tensor by itself, or takes its second power.
    std::optional<NodeId> squaresBy(TensorId id) const {
        if (const std::optional<NodeId> product = binaryOf(id, Binary::Function::MUL)) {
            const bool same = inputsOf(*product)[0] == inputsOf(*product)[1];
            return same ? product : std::nullopt;
        }
        const std::optional<NodeId> power = binaryOf(id, Binary::Function::POW);
        return power.has_value() && constantNumber(mGraph.tensor(inputsOf(*power)[1])) == 2.0
                       ? power
                       : std::nullopt;
    }

    // Whether the tensor is x less its mean; then the node that makes it is one of the nodes.
    bool takeCentred(TensorId id) {
        const std::optional<NodeId> difference = binaryOf(id, Binary::Function::SUB);
        if (!difference.has_value() || inputsOf(*difference)[0] != mNorm.x ||
            inputsOf(*difference)[1] != mMean) {
            return false;
        }
        take(*difference);
        return true;
    }

    void take(NodeId id) {
        if (std::ranges::find(mNorm.nodes, id) == mNorm.nodes.end()) {
            mNorm.nodes.push_back(id);
        }
    }

    // (x - mean) / deviation
    bool findQuotient(TensorId deviation) {
        const std::optional<Use> use = mUses.onlyUse(deviation);
        if (!use.has_value() || use->input != 1 || !isBinary(use->node, Binary::Function::DIV) ||
            !takeCentred(inputsOf(use->node)[0])) {
            return false;
        }
        take(use->node);
        return findWeights(mGraph.node(use->node).outputs[0]);
    }

    // Finds the factor of the inverse deviation: x - mean, or gamma first.
    bool findProducts(TensorId inverse) {
        const std::optional<Use> use = mUses.onlyUse(inverse);
        if (!use.has_value() || !isBinary(use->node, Binary::Function::MUL)) {
            return false;
        }
        const TensorId other = inputsOf(use->node)[1 - use->input];
        const TensorId product = mGraph.node(use->node).outputs[0];
        if (takeCentred(other)) {
            take(use->node);
            return findWeights(product);
        }
        if (!isRow(other)) {
            return false;
        }
        mNorm.gamma = other;
        take(use->node);
        return findScaled(product);
    }

    // Finds the factor of gamma / deviation: x - mean, or x and the mean each for itself.
    bool findScaled(TensorId factor) {
        if (const std::optional<Use> use = mUses.onlyUse(factor)) {
            if (!isBinary(use->node, Binary::Function::MUL) ||
                !takeCentred(inputsOf(use->node)[1 - use->input])) {
                return false;
            }
            take(use->node);
            return findBeta(mGraph.node(use->node).outputs[0]);
        }
        const std::span<const Use> products = mUses.of(factor);
        if (products.size() != 2) {
            return false;
        }
        std::optional<TensorId> ofX;
        std::optional<TensorId> ofMean;
        for (const Use& use : products) {
            if (!isBinary(use.node, Binary::Function::MUL)) {
                return false;
            }
            const TensorId other = inputsOf(use.node)[1 - use.input];
            (other == mNorm.x ? ofX : ofMean) = mGraph.node(use.node).outputs[0];
            if (other != mNorm.x && other != mMean) {
                return false;
            }
            take(use.node);
        }
        return ofX.has_value() && ofMean.has_value() && findOffset(*ofX, *ofMean);
    }

    // ofX + (beta - ofMean)
    bool findOffset(TensorId ofX, TensorId ofMean) {
        const std::optional<Use> use = mUses.onlyUse(ofMean);
        if (!use.has_value() || use->input != 1 || !isBinary(use->node, Binary::Function::SUB)) {
            return false;
        }
        const TensorId beta = inputsOf(use->node)[0];
        const TensorId offset = mGraph.node(use->node).outputs[0];
        const std::optional<Use> sum = mUses.onlyUse(offset);
        if (!isRow(beta) || !sum.has_value() || !isBinary(sum->node, Binary::Function::ADD) ||
            inputsOf(sum->node)[1 - sum->input] != ofX) {
            return false;
        }
        mNorm.beta = beta;
        take(use->node);
        take(sum->node);
        return true;
    }

    // gamma and beta of a normal tensor, if it has any.
    bool findWeights(TensorId normal) {
        if (const std::optional<TensorId> gamma = weightsBehind(normal, Binary::Function::MUL)) {
            mNorm.gamma = *gamma;
            return findBeta(mGraph.node(mNorm.nodes.back()).outputs[0]);
        }
        return findBeta(normal);
    }
    bool findBeta(TensorId scaled) {
        mNorm.beta = weightsBehind(scaled, Binary::Function::ADD).value_or(kNoTensor);
        return true;
    }
    std::optional<TensorId> weightsBehind(TensorId id, Binary::Function function) {
        const std::optional<Use> use = mUses.onlyUse(id);
        if (!use.has_value() || !isBinary(use->node, function) ||
            !isRow(inputsOf(use->node)[1 - use->input])) {
            return std::nullopt;
        }
        take(use->node);
        return inputsOf(use->node)[1 - use->input];
    }

    // Whether it has an element for each of a row, and is the same for all rows. It may be
    // computed: it is there when the last node is run.
    bool isRow(TensorId id) const {
        const Shape& shape = typeOf(id).shape;
        const Shape& x = typeOf(mNorm.x).shape;
        const size_t first = static_cast<size_t>(mNorm.descriptor.axis);
        if (!shape.hasKnownRank() || shape.rank() > x.rank() || shape.rank() < x.rank() - first) {
            return false;
        }
        for (size_t i = 0; i < shape.rank(); ++i) {
            const size_t axis = x.rank() - shape.rank() + i;
            if (shape[i] != (axis < first ? 1 : x[axis])) {
                return false;
            }
        }
        return true;
    }

    // Whether all that its nodes give but for the last one's stays among them.
    bool isClosed() const {
        const auto isOne = [&](NodeId id) {
            return std::ranges::find(mNorm.nodes, id) != mNorm.nodes.end();
        };
        return std::ranges::all_of(mNorm.nodes, [&](NodeId id) {
            const TensorId output = mGraph.node(id).outputs[0];
            return id == mNorm.nodes.back() ||
                   (!mUses.isGraphOutput(output) &&
                    std::ranges::all_of(mUses.of(output),
                                        [&](const Use& use) { return isOne(use.node); }));
        });
    }

    const Graph& mGraph;
    const Uses& mUses;
    LayerNorm mNorm;
    TensorId mMean = kNoTensor;
};

class FuseLayerNorms : public Rule {
  public:
    FuseLayerNorms(GraphRewriter& graphRewriter, const PassContext& passContext)
        : Rule(graphRewriter, passContext), mFused(from().nodes().size(), false) {
        Finder finder(from(), uses());
        for (NodeId id = 0; id < from().nodes().size(); ++id) {
            std::optional<LayerNorm> norm = finder.around(id);
            if (!norm.has_value() ||
                std::ranges::any_of(norm->nodes, [&](NodeId node) { return mFused[node]; })) {
                continue;
            }
            for (const NodeId node : norm->nodes) {
                mFused[node] = true;
            }
            const NodeId last = norm->nodes.back();
            mNorms.emplace(last, *std::move(norm));
        }
    }

    Result<bool> apply(NodeId id) {
        const auto found = mNorms.find(id);
        if (found == mNorms.end()) {
            return static_cast<bool>(mFused[id]);
        }
        const LayerNorm& norm = found->second;
        Node node = {.descriptor = norm.descriptor,
                     .inputs = {norm.x, norm.gamma, norm.beta},
                     .outputs = {rewriter().tensor(from().node(id).outputs[0])},
                     .label = from().node(id).label,
                     .sources = {}};
        for (TensorId& input : node.inputs) {
            input = rewriter().tensor(input);
        }
        for (const NodeId each : norm.nodes) {
            node.sources = unionOf(node.sources, from().node(each).sources);
        }
        rewriter().add(std::move(node));
        markChanged();
        return true;
    }

  private:
    std::vector<bool> mFused;                      // per node: lives on in a normalisation
    std::unordered_map<NodeId, LayerNorm> mNorms;  // by the last of their nodes
};

}  // namespace

Result<bool> fuseLayerNorms(Graph& graph, const PassContext& context) {
    return applyRule<FuseLayerNorms>(graph, context);
}

}  // namespace halyard::engine
