// SPDX-License-Identifier: Apache-2.0

#include "engine/passes/fuse_functions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "engine/numerics/activation_range.h"
#include "engine/numerics/byte_tables.h"
#include "engine/passes/constant_number.h"

namespace halyard::engine {
namespace {

// An error function that is spelled out takes some 26.
constexpr size_t kMostNodes = 40;

double clampTo(Activation activation, double x) {
    const RealRange range = rangeOf(activation);
    return std::clamp(x, static_cast<double>(range.low), static_cast<double>(range.high));
}

std::optional<double> valueOf(const Unary& node, double x) {
    switch (node.function) {
        case Unary::Function::ABS:
            return std::fabs(x);
        case Unary::Function::EXP:
            return std::exp(x);
        case Unary::Function::NEG:
            return -x;
        case Unary::Function::ERF:
            return std::erf(x);
        default:
            return std::nullopt;
    }
}

std::optional<double> valueOf(const Binary& node, double a, double b) {
    const auto result = [&]() -> std::optional<double> {
        switch (node.function) {
            case Binary::Function::ADD:
                return a + b;
            case Binary::Function::SUB:
                return a - b;
            case Binary::Function::MUL:
                return a * b;
            case Binary::Function::DIV:
                return a / b;
            case Binary::Function::MAXIMUM:
                return std::max(a, b);
            case Binary::Function::MINIMUM:
                return std::min(a, b);
            case Binary::Function::POW:
                return std::pow(a, b);
            default:
                return std::nullopt;
        }
    }();
    return result.has_value() ? std::optional(clampTo(node.activation, *result)) : std::nullopt;
}

// Of an elementwise node whose inputs have the values that valueFor(input) says.
template <typename ValueFor>
std::optional<double> valueOf(const Node& node, const ValueFor& valueFor) {
    const double a = valueFor(node.inputs[0]);
    if (const auto* binary = std::get_if<Binary>(&node.descriptor)) {
        return valueOf(*binary, a, valueFor(node.inputs[1]));
    }
    if (const auto* unary = std::get_if<Unary>(&node.descriptor)) {
        return valueOf(*unary, a);
    }
    return activated(*std::get_if<Activate>(&node.descriptor), a);
}

// Elementwise nodes of one tensor and numbers, from the last one back.
class Expression {
  public:
    Expression(const Graph& graph, const Uses& uses, NodeId last) : mGraph(graph), mUses(uses) {
        mIsClosed = take(last);
    }

    // Whether all that the nodes read beside numbers is one tensor; then x() is that.
    bool isOfOne() const { return mPending.size() == 1; }
    TensorId x() const { return mPending.front(); }
    const std::vector<NodeId>& nodes() const { return mNodes; }

    // Takes the node, too, that makes what was made last; false where it does not belong to it.
    bool grow() {
        if (!mIsClosed || mNodes.size() == kMostNodes) {
            return false;
        }
        std::optional<NodeId> latest;
        for (const TensorId id : mPending) {
            const std::optional<NodeId> writer = mUses.writer(id);
            latest = writer.has_value() ? std::max(latest.value_or(0), *writer) : latest;
        }
        if (!latest.has_value() || mGraph.node(*latest).outputs.size() != 1) {
            return false;
        }
        const TensorId made = mGraph.node(*latest).outputs[0];
        const auto isInside = [&](const Use& use) {
            return std::ranges::find(mNodes, use.node) != mNodes.end();
        };
        if (mUses.isGraphOutput(made) || !std::ranges::all_of(mUses.of(made), isInside)) {
            return false;
        }
        std::erase(mPending, made);
        mIsClosed = take(*latest);
        return mIsClosed && !mPending.empty();
    }

    // Nothing for nodes that are not evaluated here.
    std::optional<double> at(double x) const {
        std::array<double, kMostNodes> values;  // by the place of the node that gives them
        const auto valueFor = [&](TensorId id) {
            for (size_t i = mNodes.size(); i-- > 0;) {
                if (mGraph.node(mNodes[i]).outputs[0] == id) {
                    return values[i];
                }
            }
            return id == this->x() ? x : constantNumber(mGraph.tensor(id)).value_or(0);
        };
        for (size_t i = mNodes.size(); i-- > 0;) {
            const std::optional<double> value = valueOf(mGraph.node(mNodes[i]), valueFor);
            if (!value.has_value()) {
                return std::nullopt;
            }
            values[i] = *value;
        }
        return values[0];
    }

  private:
    // Whether the node is elementwise, of tensors of its own shape and numbers.
    bool take(NodeId id) {
        const Node& node = mGraph.node(id);
        if (node.kind() != NodeKind::Binary && node.kind() != NodeKind::Unary &&
            node.kind() != NodeKind::Activate) {
            return false;
        }
        const TensorType& output = mGraph.tensor(node.outputs[0]).type;
        mNodes.push_back(id);
        for (const TensorId input : node.inputs) {
            const Tensor& tensor = mGraph.tensor(input);
            if (constantNumber(tensor).has_value()) {
                continue;
            }
            if (!(tensor.type == output) || !output.shape.hasKnownRank() || !isFloat(output.type)) {
                return false;
            }
            if (std::ranges::find(mPending, input) == mPending.end()) {
                mPending.push_back(input);
            }
        }
        return true;
    }

    const Graph& mGraph;
    const Uses& mUses;
    std::vector<NodeId> mNodes;      // each before those that it reads
    std::vector<TensorId> mPending;  // what they read that none of them makes
    bool mIsClosed = false;
};

// Where functions are told from each other; all of them bend between -6 and 6.
std::vector<double> points() {
    std::vector<double> points = {1.0, -1.0, 0.0, 0.01, -0.01};
    for (double x = -9.9; x < 10.0; x += 0.3) {
        points.push_back(x);
    }
    for (const double x : {15.0, 30.0, 100.0, 1000.0}) {
        points.push_back(x);
        points.push_back(-x);
    }
    return points;
}

// How far the expression is from function(x) at most, beyond 1 in parts of x; infinity where that
// is more than `most`.
template <typename Function>
double errorOf(const Expression& expression, double most, Function function) {
    static const std::vector<double> kPoints = points();
    double error = 0;
    for (const double x : kPoints) {
        const double size = std::max(1.0, std::fabs(x));
        const double distance = std::fabs(expression.at(x).value_or(0) - function(x));
        if (!(distance <= most * size)) {
            return std::numeric_limits<double>::infinity();
        }
        error = std::max(error, distance / size);
    }
    return error;
}

// The function that the expression is, if it is any, but for the rounding of its numbers: those of
// float16 have no more than 11 bits.
std::optional<NodeDescriptor> functionOf(const Expression& expression, DataType type) {
    double least = type == DataType::FLOAT16 ? 5e-4 : 1e-6;
    const std::optional<double> farBelow = expression.at(-1000.0);
    if (!farBelow.has_value()) {
        return std::nullopt;
    }
    if (std::fabs(*farBelow + 1.0) <= least) {
        const bool isErf = errorOf(expression, least, [](double x) { return std::erf(x); }) < least;
        return isErf ? std::optional<NodeDescriptor>(Unary{.function = Unary::Function::ERF})
                     : std::nullopt;
    }
    // The others end at 0, which tells most that is none of them at once.
    if (!(std::fabs(*farBelow) <= 1000 * least)) {
        return std::nullopt;
    }
    const double atOne = expression.at(1.0).value_or(0);
    std::optional<NodeDescriptor> best;
    for (const auto function :
         {Activate::Function::GELU_TANH, Activate::Function::GELU, Activate::Function::SWISH,
          Activate::Function::HARD_SWISH, Activate::Function::HARD_SIGMOID}) {
        Activate node = {.function = function};
        if (function == Activate::Function::SWISH) {
            // The logistic function of alpha.
            if (!(atOne > 0.5 && atOne < 1.0)) {
                continue;
            }
            node.alpha = static_cast<float>(std::log(atOne / (1.0 - atOne)));
        }
        const double error =
                errorOf(expression, least, [&](double x) { return activated(node, x); });
        if (error < least) {
            least = error;
            best = node;
        }
    }
    return best;
}

class FuseFunctions : public Rule {
  public:
    FuseFunctions(GraphRewriter& graphRewriter, const PassContext& passContext)
        : Rule(graphRewriter, passContext), mFused(from().nodes().size(), false) {
        // From the end, so that a function comes before what it is made of.
        for (auto id = static_cast<NodeId>(mFused.size()); id-- > 0 && mStatus.ok();) {
            if (id % kNodesPerCheck == 0) {
                mStatus = context().checkpoint.check("while functions were looked for");
            }
            if (!mFused[id]) {
                find(id);
            }
        }
    }

    Result<bool> apply(NodeId id) {
        HALYARD_RETURN_IF_ERROR(mStatus);
        const auto found = mFunctions.find(id);
        if (found == mFunctions.end()) {
            return static_cast<bool>(mFused[id]);
        }
        Node node = {.descriptor = found->second.function,
                     .inputs = {rewriter().tensor(found->second.x)},
                     .outputs = {rewriter().tensor(from().node(id).outputs[0])},
                     .label = from().node(id).label,
                     .sources = {}};
        for (const NodeId each : found->second.nodes) {
            node.sources = unionOf(node.sources, from().node(each).sources);
        }
        rewriter().add(std::move(node));
        markChanged();
        return true;
    }

  private:
    struct Found {
        NodeDescriptor function;
        TensorId x = kNoTensor;
        std::vector<NodeId> nodes;
    };

    // All of them end in a product or a quotient.
    void find(NodeId last) {
        const auto* binary = std::get_if<Binary>(&from().node(last).descriptor);
        if (binary == nullptr || binary->activation != Activation::NONE ||
            (binary->function != Binary::Function::MUL &&
             binary->function != Binary::Function::DIV)) {
            return;
        }
        Expression expression(from(), uses(), last);
        const DataType type = typeOf(from().node(last).outputs[0]).type;
        while (expression.grow()) {
            if (!expression.isOfOne()) {
                continue;
            }
            const std::optional<NodeDescriptor> function = functionOf(expression, type);
            if (function.has_value()) {
                for (const NodeId node : expression.nodes()) {
                    mFused[node] = true;
                }
                mFunctions.emplace(last, Found{.function = *function,
                                               .x = expression.x(),
                                               .nodes = expression.nodes()});
                return;
            }
        }
    }

    static constexpr NodeId kNodesPerCheck = 256;

    Status mStatus;                                // of the search
    std::vector<bool> mFused;                      // per node: lives on in a function
    std::unordered_map<NodeId, Found> mFunctions;  // by the last of their nodes
};

}  // namespace

Result<bool> fuseFunctions(Graph& graph, const PassContext& context) {
    return applyRule<FuseFunctions>(graph, context);
}

}  // namespace halyard::engine
