// SPDX-License-Identifier: Apache-2.0

#include "engine/graph/verifier.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/graph/shape_inference.h"

namespace halyard::engine {
namespace {

bool isScale(float scale) {
    return std::isfinite(scale) && scale > 0.0F;
}

Status verifyPerChannel(const TensorType& type) {
    const Quantization& quantization = type.quantization;
    if (!type.shape.hasKnownRank() || quantization.channelDim >= type.shape.rank()) {
        return invalidArgument("the channel dimension " + std::to_string(quantization.channelDim) +
                               " is not below the rank of " + type.shape.toString());
    }
    const int32_t channels = type.shape[quantization.channelDim];
    if (channels != kUnknownDimension &&
        quantization.channelScales.size() != static_cast<size_t>(channels)) {
        return invalidArgument("there are " + std::to_string(quantization.channelScales.size()) +
                               " scales for " + std::to_string(channels) + " channels");
    }
    if (!std::ranges::all_of(quantization.channelScales, isScale)) {
        return invalidArgument("a channel's scale is not positive and finite");
    }
    return {};
}

Status verifyQuantization(const TensorType& type) {
    if (type.type != DataType::QUANT8_SYMM_PER_CHANNEL &&
        type.quantization.channelScales.size() > 0) {
        return invalidArgument("a tensor of " + std::string(toString(type.type)) +
                               " has scales for its channels");
    }
    if (!isQuantized(type.type)) {
        return {};
    }
    if (type.type == DataType::QUANT8_SYMM_PER_CHANNEL) {
        return verifyPerChannel(type);
    }
    const Quantization& quantization = type.quantization;
    if (!isScale(quantization.scale)) {
        return invalidArgument("the scale is not positive and finite");
    }
    const bool symmetric =
            type.type == DataType::QUANT8_SYMM || type.type == DataType::QUANT16_SYMM;
    const int32_t lowest = symmetric ? 0 : minValue(type.type);
    const int32_t highest = symmetric ? 0 : maxValue(type.type);
    if (quantization.zeroPoint < lowest || quantization.zeroPoint > highest) {
        return invalidArgument("the zero point " + std::to_string(quantization.zeroPoint) +
                               " is not in [" + std::to_string(lowest) + ", " +
                               std::to_string(highest) + "]");
    }
    return {};
}

Status verifyTensor(const Tensor& tensor) {
    HALYARD_RETURN_IF_ERROR(verifyQuantization(tensor.type));
    for (const int32_t extent : tensor.type.shape.extents()) {
        if (extent < 0 && extent != kUnknownDimension) {
            return invalidArgument("extent " + std::to_string(extent) + " is negative");
        }
    }
    if (!tensor.isConstant()) {
        return {};
    }
    HALYARD_ASSIGN_OR_RETURN(const size_t size, tensor.type.byteSize());
    if (tensor.isPackedAway()) {
        return {};
    }
    const std::span<const uint8_t> bytes = tensor.constant.bytes;
    if (bytes.size() != size) {
        return invalidArgument("the constant takes " + std::to_string(size) + " bytes but has " +
                               std::to_string(bytes.size()));
    }
    if (reinterpret_cast<uintptr_t>(bytes.data()) % elementSize(tensor.type.type) != 0) {
        return invalidArgument("the constant is not aligned to its elements");
    }
    return {};
}

// Per input of the node: whether it is a control input, of the node or of one in a graph inside.
std::vector<bool> controlInputs(const Node& node) {
    const NodeSignature signature = signatureOf(node.descriptor);
    std::vector<bool> isControl(node.inputs.size());
    for (size_t i = 0; i < isControl.size(); ++i) {
        isControl[i] = signature.isControlInput(i);
    }
    const size_t first = std::holds_alternative<If>(node.descriptor) ? 1 : 0;
    for (const NestedGraph* nested : nestedGraphs(node)) {
        const std::vector<bool> inside = controlTensors(*nested->graph);
        for (size_t i = 0; i < nested->graph->inputs().size() && first + i < isControl.size();
             ++i) {
            isControl[first + i] = isControl[first + i] || inside[nested->graph->inputs()[i]];
        }
    }
    return isControl;
}

// A copy of a graph inside, with what is reserved for it.
struct NestedCopy {
    Graph graph;
    Reservation reservation;
};

// Bytes that a copy of the graph takes, and in the end the schedule and the plans that are made of
// it: rather too many. Constants and the graphs inside count elsewhere.
size_t bookkeepingBytes(const Graph& graph) {
    constexpr size_t kFactor = 4;
    size_t bytes = graph.tensors().size() * sizeof(Tensor) + graph.nodes().size() * sizeof(Node);
    for (const Node& node : graph.nodes()) {
        bytes += (node.inputs.size() + node.outputs.size()) * sizeof(TensorId) + node.label.size();
    }
    return kFactor * bytes;
}

// Between two looks at the checkpoint.
constexpr NodeId kNodesPerCheck = 256;

// Follows the nodes in order, knows which tensors have a value by then, and infers as it goes.
class Verifier {
  public:
    // `nestedNodes`: counted over all graphs inside the outermost one.
    Verifier(Graph& graph, ConstantCopies& copies, const Checkpoint& checkpoint, size_t depth,
             size_t& nestedNodes)
        : mGraph(graph),
          mCopies(copies),
          mCheckpoint(checkpoint),
          mDepth(depth),
          mNestedNodes(nestedNodes),
          mHasValue(graph.tensors().size(), false),
          mIsInput(graph.tensors().size(), false) {}

    Status run() {
        for (TensorId i = 0; i < mHasValue.size(); ++i) {
            HALYARD_RETURN_IF_ERROR(
                    verifyTensor(mGraph.tensor(i)).withContext("tensor " + std::to_string(i)));
            mHasValue[i] = mGraph.tensor(i).isConstant();
        }
        for (size_t i = 0; i < mGraph.inputs().size(); ++i) {
            HALYARD_RETURN_IF_ERROR(
                    define(mGraph.inputs()[i]).withContext("graph input " + std::to_string(i)));
            mIsInput[mGraph.inputs()[i]] = true;
        }
        for (NodeId id = 0; id < mGraph.nodes().size(); ++id) {
            if (id % kNodesPerCheck == 0) {
                HALYARD_RETURN_IF_ERROR(mCheckpoint.check("while the graph was verified"));
            }
            Node& node = mGraph.mutableNode(id);
            HALYARD_RETURN_IF_ERROR(failureOf(node, verifyNode(node)));
            HALYARD_RETURN_IF_ERROR(infer(node));
        }
        for (size_t i = 0; i < mGraph.outputs().size(); ++i) {
            HALYARD_RETURN_IF_ERROR(
                    read(mGraph.outputs()[i]).withContext("graph output " + std::to_string(i)));
        }
        return {};
    }

  private:
    Status verifyNode(Node& node) {
        if (std::holds_alternative<std::monostate>(node.descriptor)) {
            return invalidArgument("the node has no kind");
        }
        for (size_t i = 0; i < node.inputs.size(); ++i) {
            if (node.inputs[i] != kNoTensor) {
                HALYARD_RETURN_IF_ERROR(
                        read(node.inputs[i]).withContext("input " + std::to_string(i)));
            }
        }
        HALYARD_RETURN_IF_ERROR(verifyNested(node));
        HALYARD_RETURN_IF_ERROR(keepControlInputsPrivate(node));
        for (size_t i = 0; i < node.outputs.size(); ++i) {
            HALYARD_RETURN_IF_ERROR(
                    define(node.outputs[i]).withContext("output " + std::to_string(i)));
        }
        return {};
    }

    // Gives the node a verified copy of each graph inside. What an If knows of its inputs holds
    // inside its branches, too; a While's values may change their shapes from round to round.
    Status verifyNested(Node& node) {
        const bool isBranch = std::holds_alternative<If>(node.descriptor);
        for (NestedGraph* nested : nestedGraphs(node)) {
            if (nested->graph == nullptr) {
                return invalidArgument("a graph inside is missing");
            }
            if (mDepth >= kMaxNesting) {
                return unsupported("graphs are nested more than " + std::to_string(kMaxNesting) +
                                   " deep");
            }
            const Graph& original = *nested->graph;
            std::span<const TensorId> values;
            if (isBranch) {
                values = std::span(node.inputs).subspan(node.inputs.empty() ? 0 : 1);
                HALYARD_RETURN_IF_ERROR(checkCount(original, values));
            }
            Result<std::shared_ptr<const Graph>> copy = verifiedCopy(original, values);
            if (isBranch && copy.status().code() == StatusCode::INVALID_ARGUMENT) {
                // With these values it can't be run, and perhaps it never is: it stays as it was
                // written, if that is right in itself.
                copy = verifiedCopy(original, {});
            }
            HALYARD_ASSIGN_OR_RETURN(nested->graph, std::move(copy));
        }
        return {};
    }

    // Of a graph inside, whose inputs are narrowed to what is known of the values, if any.
    Result<std::shared_ptr<const Graph>> verifiedCopy(const Graph& original,
                                                      std::span<const TensorId> values) {
        // Nodes may share a graph, but each gets a copy: a few that share each other's would
        // otherwise grow beyond all bounds.
        mNestedNodes += original.nodes().size();
        if (mNestedNodes > kMaxNestedNodes) {
            return unsupported("the graphs inside hold more than " +
                               std::to_string(kMaxNestedNodes) + " nodes");
        }
        HALYARD_RETURN_IF_ERROR(mCheckpoint.check("while the graph was verified"));
        HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<Graph> copy,
                                 copyOfNested(original, mCopies.memory()));
        narrowInputs(*copy, values);
        HALYARD_RETURN_IF_ERROR(
                Verifier(*copy, mCopies, mCheckpoint, mDepth + 1, mNestedNodes).run());
        return std::shared_ptr<const Graph>(copy);
    }

    static Status checkCount(const Graph& nested, std::span<const TensorId> values) {
        return values.size() == nested.inputs().size()
                       ? Status()
                       : invalidArgument("a graph with " + std::to_string(nested.inputs().size()) +
                                         " inputs is given " + std::to_string(values.size()));
    }

    // Where the two contradict each other, inference of the node says so.
    void narrowInputs(Graph& nested, std::span<const TensorId> values) const {
        for (size_t i = 0; i < values.size(); ++i) {
            const TensorId inner = nested.inputs()[i];
            if (values[i] == kNoTensor || inner >= nested.tensors().size()) {
                continue;
            }
            Shape& shape = nested.mutableTensor(inner).type.shape;
            if (const Result<Shape> merged =
                        mergeShapes(shape, mGraph.tensor(values[i]).type.shape);
                merged.ok()) {
                shape = *merged;
            }
        }
    }

    Status keepControlInputsPrivate(const Node& node) {
        const std::vector<bool> isControl = controlInputs(node);
        for (size_t i = 0; i < node.inputs.size(); ++i) {
            const TensorId id = node.inputs[i];
            if (!isControl[i] || id == kNoTensor) {
                continue;
            }
            if (mGraph.tensor(id).isPackedAway()) {
                return invalidArgument("input " + std::to_string(i) +
                                       " is its control input, and its elements were packed away");
            }
            if (!mGraph.tensor(id).constant.shared) {
                continue;
            }
            Result<ConstantData> copy = mCopies.of(mGraph.tensor(id).constant);
            if (!copy.ok()) {
                return copy.status().withContext("the private copy of input " + std::to_string(i));
            }
            mGraph.replaceConstant(id, std::move(copy).value());
        }
        return {};
    }

    Status infer(const Node& node) {
        mInputs.clear();
        for (const TensorId id : node.inputs) {
            mInputs.push_back(id == kNoTensor
                                      ? KnownInput()
                                      : KnownInput{.type = &mGraph.tensor(id).type,
                                                   .data = mGraph.tensor(id).constant.bytes.data(),
                                                   .mayBeLeftOut = mIsInput[id]});
        }
        mOutputs.clear();
        for (const TensorId id : node.outputs) {
            mOutputs.push_back(mGraph.tensor(id).type);
        }
        HALYARD_RETURN_IF_ERROR(inferShapes(node, mInputs, mOutputs));
        for (size_t i = 0; i < mOutputs.size(); ++i) {
            Shape& shape = mGraph.mutableTensor(node.outputs[i]).type.shape;
            Result<Shape> merged = mergeShapes(shape, mOutputs[i].shape);
            if (!merged.ok()) {
                return failureOf(node, merged.status().withContext("output " + std::to_string(i)));
            }
            shape = *merged;
        }
        return {};
    }

    Status inRange(TensorId id) const {
        if (id >= mHasValue.size()) {
            return invalidArgument(id == kNoTensor
                                           ? "may not be left out"
                                           : "tensor " + std::to_string(id) + " does not exist");
        }
        return {};
    }

    Status read(TensorId id) const {
        HALYARD_RETURN_IF_ERROR(inRange(id));
        if (!mHasValue[id]) {
            return invalidArgument("tensor " + std::to_string(id) + " has no value yet");
        }
        return {};
    }

    Status define(TensorId id) {
        HALYARD_RETURN_IF_ERROR(inRange(id));
        if (mGraph.tensor(id).isConstant()) {
            return invalidArgument("tensor " + std::to_string(id) + " is a constant");
        }
        if (mHasValue[id]) {
            return invalidArgument("tensor " + std::to_string(id) + " has a value already");
        }
        mHasValue[id] = true;
        return {};
    }

    Graph& mGraph;
    ConstantCopies& mCopies;
    const Checkpoint& mCheckpoint;
    const size_t mDepth;
    size_t& mNestedNodes;
    std::vector<bool> mHasValue;
    std::vector<bool> mIsInput;
    std::vector<KnownInput> mInputs;  // of the node at hand, as is the next
    std::vector<TensorType> mOutputs;
};

}  // namespace

Result<std::shared_ptr<Graph>> copyOfNested(const Graph& original,
                                            const std::shared_ptr<Budget>& memory) {
    Result<Reservation> room = Reservation::create(memory, bookkeepingBytes(original));
    if (!room.ok()) {
        return room.status().withContext("the copy of a graph inside");
    }
    const auto held = std::make_shared<NestedCopy>(
            NestedCopy{.graph = original, .reservation = std::move(*room)});
    return std::shared_ptr<Graph>(held, &held->graph);
}

Status verifyAndInfer(Graph& graph, ConstantCopies& copies, const Checkpoint& checkpoint) {
    size_t nestedNodes = 0;
    return Verifier(graph, copies, checkpoint, 0, nestedNodes).run();
}

Status verifyAndInfer(Graph& graph, const std::shared_ptr<Budget>& memory,
                      const Checkpoint& checkpoint) {
    ConstantCopies copies(memory, checkpoint);
    return verifyAndInfer(graph, copies, checkpoint);
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as the verifier lets graphs be nested
Status checkElements(const Graph& graph) {
    for (TensorId id = 0; id < graph.tensors().size(); ++id) {
        if (graph.tensor(id).isPackedAway()) {
            return invalidArgument("the elements of constant " + std::to_string(id) +
                                   " were packed away by another program");
        }
    }
    for (const Node& node : graph.nodes()) {
        for (const NestedGraph* nested : nestedGraphs(node)) {
            HALYARD_RETURN_IF_ERROR(failureOf(node, checkElements(*nested->graph)));
        }
    }
    return {};
}

std::vector<bool> controlTensors(const Graph& graph) {
    std::vector<bool> control(graph.tensors().size(), false);
    for (const Node& node : graph.nodes()) {
        const std::vector<bool> isControl = controlInputs(node);
        for (size_t i = 0; i < node.inputs.size(); ++i) {
            if (isControl[i] && node.inputs[i] != kNoTensor) {
                control[node.inputs[i]] = true;
            }
        }
    }
    return control;
}

}  // namespace halyard::engine
