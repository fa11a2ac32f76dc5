// SPDX-License-Identifier: Apache-2.0

#include "importers/tflite/folding.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "engine/backends/ref/cpu_ref.h"
#include "engine/compile/compile.h"
#include "importers/tflite/constants.h"

namespace halyard::tflite {
namespace {

using engine::DataType;
using engine::Graph;
using engine::kNoTensor;
using engine::Node;
using engine::TensorId;

constexpr size_t kMostBytes = 16384;
constexpr size_t kMostNodes = 8;

// The size of an output that is worth it.
std::optional<size_t> smallSize(const engine::TensorType& type) {
    if ((type.type != DataType::INT32 && type.type != DataType::BOOL8) ||
        !type.shape.isFullyKnown()) {
        return std::nullopt;
    }
    const Result<size_t> size = type.byteSize();
    return size.ok() && *size <= kMostBytes ? std::optional(*size) : std::nullopt;
}

// A graph of these nodes with copies of what they read; nothing where that is no constant.
class Excerpt {
  public:
    explicit Excerpt(const Graph& from) : mFrom(from) {}

    bool add(const Node& node) {
        Node copy = node;
        for (TensorId& input : copy.inputs) {
            if (input == kNoTensor) {
                continue;
            }
            const std::optional<TensorId> found = read(input);
            if (!found.has_value()) {
                return false;
            }
            input = *found;
        }
        for (TensorId& output : copy.outputs) {
            const TensorId own = mGraph.addTensor(mFrom.tensor(output).type);
            mTensors[output] = own;
            output = own;
        }
        mGraph.addNode(std::move(copy));
        return true;
    }
    std::optional<TensorId> read(TensorId id) {
        if (const auto found = mTensors.find(id); found != mTensors.end()) {
            return found->second;
        }
        const engine::Tensor& tensor = mFrom.tensor(id);
        if (!tensor.isConstant() || tensor.constant.bytes.size() > kMostBytes) {
            return std::nullopt;
        }
        const Result<TensorId> own = mGraph.addConstant(tensor.type, tensor.constant);
        if (!own.ok()) {
            return std::nullopt;
        }
        mTensors[id] = *own;
        return *own;
    }
    Graph& graph() { return mGraph; }

  private:
    const Graph& mFrom;
    Graph mGraph;
    std::map<TensorId, TensorId> mTensors;
};

Result<std::vector<engine::ConstantData>> run(Graph graph, const std::vector<size_t>& sizes,
                                              const ImportOptions& options) {
    const std::unique_ptr<const engine::Backend> ref = engine::makeCpuRef();
    HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<const engine::Program> program,
                             engine::compile(std::move(graph), {ref.get()},
                                             {.optimize = false,
                                              .build = {.memory = options.memory,
                                                        .checkpoint = options.checkpoint}}));
    HALYARD_ASSIGN_OR_RETURN(engine::Execution execution, engine::Execution::create(program));
    std::vector<std::vector<uint8_t>> results;
    std::vector<engine::OutputBinding> outputs;
    results.reserve(sizes.size());
    for (const size_t size : sizes) {
        outputs.push_back({.bytes = results.emplace_back(size)});
    }
    HALYARD_RETURN_IF_ERROR(execution.run({}, outputs, {}, nullptr));
    std::vector<engine::ConstantData> constants;
    for (std::vector<uint8_t>& bytes : results) {
        HALYARD_ASSIGN_OR_RETURN(engine::ConstantData data,
                                 ownedConstant(std::move(bytes), options.memory));
        constants.push_back(std::move(data));
    }
    return constants;
}

}  // namespace

std::optional<std::vector<engine::ConstantData>> computed(const Graph& graph, size_t firstNode,
                                                          const std::vector<TensorId>& outputs,
                                                          const ImportOptions& options) {
    const std::span<const Node> nodes = graph.nodes().subspan(firstNode);
    std::vector<size_t> sizes;
    for (const TensorId output : outputs) {
        const std::optional<size_t> size = smallSize(graph.tensor(output).type);
        if (!size.has_value()) {
            return std::nullopt;
        }
        sizes.push_back(*size);
    }
    if (nodes.size() > kMostNodes) {
        return std::nullopt;
    }
    Excerpt excerpt(graph);
    for (const Node& node : nodes) {
        if (node.kind() == engine::NodeKind::RandomMultinomial ||
            !engine::nestedGraphs(node).empty() || !excerpt.add(node)) {
            return std::nullopt;
        }
    }
    std::vector<TensorId> own;
    for (const TensorId output : outputs) {
        const std::optional<TensorId> found = excerpt.read(output);
        if (!found.has_value()) {
            return std::nullopt;
        }
        own.push_back(*found);
    }
    excerpt.graph().setOutputs(std::move(own));
    Result<std::vector<engine::ConstantData>> found =
            run(std::move(excerpt.graph()), sizes, options);
    return found.ok() ? std::optional(*std::move(found)) : std::nullopt;
}

}  // namespace halyard::tflite
