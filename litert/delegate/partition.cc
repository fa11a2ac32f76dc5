// SPDX-License-Identifier: Apache-2.0

#include "litert/delegate/partition.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace halyard::litert {
namespace {

using tflite::kOmitted;
using tflite::Operator;

// Those whose results, or whose results' shapes, the operators of a request are mapped by.
std::set<uint32_t> operatorsThatMatter(const tflite::Subgraph& graph,
                                       const tflite::Importer& importer,
                                       const PartitionRequest& request) {
    std::map<int32_t, uint32_t> producers;
    for (uint32_t i = 0; i < graph.operators.size(); ++i) {
        for (const int32_t tensor : graph.operators[i].outputs) {
            producers[tensor] = i;
        }
    }
    std::set<uint32_t> found(request.operators.begin(), request.operators.end());
    std::vector<std::pair<uint32_t, bool>> left;  // and whether it is another partition's
    for (const uint32_t op : request.operators) {
        left.emplace_back(op, false);
    }
    while (!left.empty()) {
        const auto [op, isForeign] = left.back();
        left.pop_back();
        for (const int32_t tensor : graph.operators[op].inputs) {
            const auto producer = producers.find(tensor);
            if (producer == producers.end() || !importer.reason(producer->second).empty()) {
                continue;
            }
            // A value that is computed elsewhere is an input; of one that is known, all that it
            // follows from is looked at.
            if ((isForeign || importer.isFolded(producer->second)) &&
                found.insert(producer->second).second) {
                left.emplace_back(producer->second, true);
            }
        }
    }
    return found;
}

}  // namespace

Result<PartitionProgram> compileImported(const Runtime& runtime,
                                         const std::shared_ptr<ThreadPool>& threads,
                                         tflite::ImportedGraph imported) {
    for (size_t i = 0; i < imported.outputs.size(); ++i) {
        const engine::Tensor& output = imported.graph.tensor(imported.graph.outputs()[i]);
        if (!output.type.shape.isFullyKnown()) {
            return unsupported("its output '" + output.name + "' has the shape " +
                               output.type.shape.toString() + ", which only a run tells");
        }
    }
    HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<const engine::Program> program,
                             compilePartition(runtime, std::move(imported.graph), threads));
    return PartitionProgram{.program = std::move(program),
                            .inputs = std::move(imported.inputs),
                            .outputs = std::move(imported.outputs),
                            .states = std::move(imported.states)};
}

std::vector<uint32_t> operatorsOfUnknownShape(const engine::Graph& graph) {
    std::set<uint32_t> found;
    for (const engine::Node& node : graph.nodes()) {
        const bool areKnown = std::ranges::all_of(node.outputs, [&](engine::TensorId output) {
            return graph.tensor(output).type.shape.isFullyKnown();
        });
        if (!areKnown) {
            found.insert(node.sources.begin(), node.sources.end());
        }
    }
    return {found.begin(), found.end()};
}

PartitionSource::PartitionSource(const ContextModel& model, const tflite::Importer& importer,
                                 PartitionRequest request, const tflite::ImportOptions& options)
    : mRequest(std::move(request)), mOptions(options) {
    const tflite::Subgraph& from = model.model.subgraphs.front();
    tflite::Subgraph& own = mModel.subgraphs.emplace_back();
    own.tensors.resize(from.tensors.size());
    own.operators.resize(from.operators.size());
    // No operator has this code: it is not taken, and reads nothing.
    std::ranges::for_each(own.operators, [](Operator& op) { op.code = -1; });
    std::set<int32_t> tensors(mRequest.outputs.begin(), mRequest.outputs.end());
    tensors.insert(mRequest.inputs.begin(), mRequest.inputs.end());
    std::set<int32_t> computed;
    for (const uint32_t op : operatorsThatMatter(from, importer, mRequest)) {
        own.operators[op] = from.operators[op];
        for (const auto* const list : {&from.operators[op].inputs, &from.operators[op].outputs,
                                       &from.operators[op].intermediates}) {
            tensors.insert(list->begin(), list->end());
        }
        computed.insert(from.operators[op].outputs.begin(), from.operators[op].outputs.end());
    }
    tensors.erase(kOmitted);
    for (const int32_t tensor : tensors) {
        own.tensors[tensor] = from.tensors[tensor];
        if (!computed.contains(tensor) && !from.tensors[tensor].isConstant()) {
            mGiven.push_back(tensor);
        }
    }
}

std::string PartitionSource::nameOf(int32_t tensor) const {
    const std::string& name = mModel.subgraphs.front().tensors[tensor].name;
    return name.empty() ? "tensor " + std::to_string(tensor) : "'" + name + "'";
}

Result<tflite::ImportedGraph> PartitionSource::import(const TfLiteContext& context) {
    for (const int32_t tensor : mGiven) {
        mModel.subgraphs.front().tensors[tensor].shape = shapeOf(context.tensors[tensor]);
    }
    HALYARD_ASSIGN_OR_RETURN(const tflite::Importer importer,
                             tflite::Importer::create(mModel, 0, mOptions));
    return importer.build(mRequest.operators, mRequest.inputs, mRequest.outputs);
}

}  // namespace halyard::litert
