// SPDX-License-Identifier: Apache-2.0

#include "importers/tflite/importer.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "importers/tflite/constants.h"
#include "importers/tflite/folding.h"
#include "importers/tflite/mapper.h"

namespace halyard::tflite {
namespace {

using engine::TensorId;

// Failures that say nothing of the operator.
bool endsImport(const Status& status) {
    return status.code() == StatusCode::RESOURCE_EXHAUSTED ||
           status.code() == StatusCode::DEADLINE_EXCEEDED ||
           status.code() == StatusCode::UNAVAILABLE;
}

// Constants without elements, such as the shape of a scalar: nothing has bytes for them, so that
// they look like tensors that a run computes, but no operator does.
KnownConstants emptyConstants(const Subgraph& subgraph) {
    std::set<int32_t> made(subgraph.inputs.begin(), subgraph.inputs.end());
    for (const Operator& op : subgraph.operators) {
        made.insert(op.outputs.begin(), op.outputs.end());
    }
    KnownConstants found;
    for (size_t i = 0; i < subgraph.tensors.size(); ++i) {
        const auto index = static_cast<int32_t>(i);
        Tensor tensor = subgraph.tensors[i];
        const bool isEmpty = std::ranges::count(tensor.shape, 0) > 0 &&
                             std::ranges::all_of(tensor.shape, [](int32_t n) { return n >= 0; });
        if (!isEmpty || tensor.isConstant() || tensor.isVariable || made.contains(index)) {
            continue;
        }
        tensor.constant.owner = std::make_shared<const uint8_t>();
        if (Result<engine::TensorType> type = engineType(tensor, tensor.name); type.ok()) {
            found[index] = {*std::move(type), tensor.constant};
        }
    }
    return found;
}

std::string reasonOfWide(const Mapper& mapper, int32_t tensor) {
    return mapper.shown(tensor) + " is INT64, which the engine has for constants only";
}

// About the operator that computes it.
Status refusalOfWideOutput(const Mapper& mapper, int32_t tensor) {
    const Status refusal = unsupported(reasonOfWide(mapper, tensor));
    const std::vector<Operator>& operators = mapper.subgraph().operators;
    const auto op = std::ranges::find_if(operators, [&](const Operator& each) {
        return std::ranges::count(each.outputs, tensor) > 0;
    });
    return op == operators.end()
                   ? refusal
                   : refusal.atOperation(static_cast<uint32_t>(op - operators.begin()));
}

// INT64 stands for constants alone.
std::string reasonOfWideOutput(const Mapper& mapper, const Operator& op) {
    for (const int32_t output : op.outputs) {
        if (output != kOmitted && mapper.tensor(output).type == ElementType::INT64) {
            return reasonOfWide(mapper, output);
        }
    }
    return {};
}

}  // namespace

Result<Importer> Importer::create(const Model& model, size_t subgraph,
                                  const ImportOptions& options) {
    HALYARD_RETURN_IF_ERROR(model.check());
    if (subgraph >= model.subgraphs.size()) {
        return invalidArgument("there is no subgraph " + std::to_string(subgraph));
    }
    Surroundings surroundings;
    surroundings.import = &Importer::importNested;
    Importer importer(model, subgraph, options,
                      std::make_shared<const Surroundings>(std::move(surroundings)));
    HALYARD_RETURN_IF_ERROR(importer.examine());
    return importer;
}

Importer::Importer(const Model& model, size_t subgraph, ImportOptions options,
                   std::shared_ptr<const Surroundings> surroundings)
    : mModel(&model),
      mSubgraph(subgraph),
      mOptions(std::move(options)),
      mSurroundings(std::move(surroundings)) {}

Result<ImportedGraph> Importer::importNested(const Model& model, size_t subgraph,
                                             const ImportOptions& options,
                                             Surroundings surroundings) {
    Importer importer(model, subgraph, options,
                      std::make_shared<const Surroundings>(std::move(surroundings)));
    const std::string named = "its subgraph " + std::to_string(subgraph);
    HALYARD_RETURN_IF_ERROR(importer.examine().withContext(named));
    Result<ImportedGraph> imported = importer.buildAll();
    HALYARD_RETURN_IF_ERROR(imported.status().withContext(named));
    return imported;
}

Status Importer::examine() {
    const std::vector<Operator>& operators = mModel->subgraphs[mSubgraph].operators;
    mReasons.resize(operators.size());
    mFolded.resize(operators.size());
    mKnown = emptyConstants(mModel->subgraphs[mSubgraph]);
    Mapper mapper(*mModel, mSubgraph, mOptions, mKnown, *mSurroundings);
    for (size_t op = 0; op < operators.size(); ++op) {
        const size_t firstNode = mapper.graph().nodes().size();
        const Status status = mapper.map(op);
        if (!status.ok()) {
            if (endsImport(status)) {
                return status.withContext(mModel->subgraphs[mSubgraph].label(op));
            }
            mReasons[op] = status.message();
            continue;
        }
        std::vector<TensorId> outputs;
        for (const int32_t output : operators[op].outputs) {
            if (const std::optional<TensorId> found = mapper.find(output)) {
                outputs.push_back(*found);
            }
        }
        if (outputs.size() != operators[op].outputs.size()) {
            continue;
        }
        auto values = computed(mapper.graph(), firstNode, outputs, mOptions);
        if (!values.has_value()) {
            mReasons[op] = reasonOfWideOutput(mapper, operators[op]);
            for (size_t i = 0; i < outputs.size() && !mReasons[op].empty(); ++i) {
                mapper.mTensors.erase(operators[op].outputs[i]);
            }
            continue;
        }
        mFolded[op] = true;
        for (size_t i = 0; i < outputs.size(); ++i) {
            mKnown[operators[op].outputs[i]] = {mapper.typeOf(outputs[i]), std::move((*values)[i])};
            mapper.mTensors.erase(operators[op].outputs[i]);
        }
    }
    return {};
}

Result<ImportedGraph> Importer::build(std::span<const uint32_t> operators,
                                      std::span<const int32_t> inputs,
                                      std::span<const int32_t> outputs) const {
    return buildFrom(operators, inputs, outputs, false);
}

Result<ImportedGraph> Importer::buildFrom(std::span<const uint32_t> operators,
                                          std::span<const int32_t> inputs,
                                          std::span<const int32_t> outputs, bool all) const {
    const Subgraph& subgraph = mModel->subgraphs[mSubgraph];
    Mapper mapper(*mModel, mSubgraph, mOptions, mKnown, *mSurroundings);
    for (size_t i = 0; all && i < inputs.size(); ++i) {
        HALYARD_RETURN_IF_ERROR(
                mapper.read(inputs[i]).status().withContext("input " + std::to_string(i)));
    }
    for (const uint32_t op : operators) {
        if (op >= mReasons.size()) {
            return invalidArgument("there is no operator " + std::to_string(op));
        }
        if (!mReasons[op].empty()) {
            return unsupported(subgraph.label(op) + ": " + mReasons[op]);
        }
        if (!mFolded[op]) {
            HALYARD_RETURN_IF_ERROR(mapper.map(op).withContext(subgraph.label(op)));
        }
    }
    ImportedGraph imported;
    std::vector<TensorId> outputIds;
    for (const int32_t tensor : outputs) {
        if (!all && subgraph.tensors[tensor].type == ElementType::INT64) {
            return refusalOfWideOutput(mapper, tensor);
        }
        // What passes through, or is a constant, is read.
        HALYARD_ASSIGN_OR_RETURN(const TensorId id, mapper.read(tensor));
        outputIds.push_back(id);
        imported.outputs.push_back(tensor);
    }
    // In the caller's order, then in that of reading.
    std::vector<int32_t> external = mapper.externalInputs();
    std::set<int32_t> left(external.begin(), external.end());
    for (const int32_t tensor : inputs) {
        if (left.erase(tensor) > 0) {
            imported.inputs.push_back(tensor);
        }
    }
    std::ranges::copy_if(external, std::back_inserter(imported.inputs),
                         [&](int32_t tensor) { return left.contains(tensor); });
    std::vector<TensorId> inputIds;
    for (const int32_t tensor : imported.inputs) {
        inputIds.push_back(*mapper.find(tensor));
    }
    for (const auto& [tensor, id] : mapper.updatedVariables()) {
        const auto input = std::ranges::find(imported.inputs, tensor);
        if (input == imported.inputs.end()) {
            return internalError("a variable is written that was not read");
        }
        imported.states.push_back({.tensor = tensor,
                                   .input = static_cast<size_t>(input - imported.inputs.begin()),
                                   .output = outputIds.size()});
        outputIds.push_back(id);
        imported.outputs.push_back(tensor);
    }
    imported.graph = std::move(mapper.graph());
    imported.graph.setInputs(std::move(inputIds));
    imported.graph.setOutputs(std::move(outputIds));
    return imported;
}

Result<ImportedGraph> Importer::buildAll() const {
    const Subgraph& subgraph = mModel->subgraphs[mSubgraph];
    std::vector<uint32_t> operators(subgraph.operators.size());
    std::iota(operators.begin(), operators.end(), 0U);
    return buildFrom(operators, subgraph.inputs, subgraph.outputs, true);
}

}  // namespace halyard::tflite
