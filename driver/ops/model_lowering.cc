// SPDX-License-Identifier: Apache-2.0

#include "driver/ops/model_lowering.h"

#include <algorithm>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>

#include "driver/model/extensions.h"
#include "driver/model/verdicts.h"
#include "driver/ops/lowering.h"
#include "driver/ops/operation_table.h"
#include "engine/graph/verifier.h"

namespace halyard::driver {
namespace {

bool isComputed(const Operand& operand) {
    return operand.lifetime == OperandLifeTime::TEMPORARY_VARIABLE ||
           operand.lifetime == OperandLifeTime::SUBGRAPH_INPUT ||
           operand.lifetime == OperandLifeTime::SUBGRAPH_OUTPUT;
}

std::vector<size_t> referencesOf(const Subgraph& subgraph) {
    std::vector<size_t> found;
    for (const Operand& operand : subgraph.operands) {
        if (operand.lifetime == OperandLifeTime::SUBGRAPH) {
            found.push_back(operand.location.offset);
        }
    }
    return found;
}

// From the leaves up, a level a round.
std::vector<bool> shallowSubgraphs(const Model& model) {
    const size_t count = model.referenced.size();
    std::vector<std::vector<size_t>> references;
    for (const Subgraph& subgraph : model.referenced) {
        references.push_back(referencesOf(subgraph));
    }
    std::vector<bool> shallow(count, false);
    for (size_t level = 0; level < engine::kMaxNesting; ++level) {
        const std::vector<bool> below = shallow;
        for (size_t i = 0; i < count; ++i) {
            shallow[i] = std::ranges::all_of(references[i], [&](size_t reference) {
                return reference < count && below[reference];
            });
        }
        if (shallow == below) {
            break;
        }
    }
    return shallow;
}

}  // namespace

ModelLowering::ModelLowering(const Model& model, const Constants& constants,
                             std::set<OperationType> denied, const Checkpoint& checkpoint)
    : LoweringRun(model, constants, checkpoint),
      mDenied(std::move(denied)),
      mShallow(shallowSubgraphs(model)),
      mNested(model.referenced.size()) {}

Result<engine::Graph> ModelLowering::lower(const Subgraph& subgraph) {
    GraphBuilder builder(*this, subgraph);
    // Inputs first, so that their order is the graph's.
    HALYARD_RETURN_IF_ERROR(builder.tensorsOf(subgraph.inputIndexes).status());
    for (size_t i = 0; i < subgraph.operations.size(); ++i) {
        HALYARD_RETURN_IF_ERROR(lower(i, builder));
    }
    return builder.finish(subgraph.inputIndexes, subgraph.outputIndexes);
}

Result<engine::Graph> ModelLowering::whole() {
    return lower(model().main);
}

Result<engine::Graph> ModelLowering::operation(size_t index) {
    return operations({index});
}

Result<engine::Graph> ModelLowering::operations(const std::vector<size_t>& indexes) {
    const Subgraph& main = model().main;
    GraphBuilder builder(*this, main);
    std::vector<uint32_t> read;
    std::vector<uint32_t> written;
    std::unordered_set<uint32_t> known;
    for (const size_t index : indexes) {
        HALYARD_RETURN_IF_ERROR(lower(index, builder));
        const Operation& operation = main.operations[index];
        for (const uint32_t operand : operation.inputs) {
            if (isComputed(main.operands[operand]) && known.insert(operand).second) {
                read.push_back(operand);
            }
        }
        known.insert(operation.outputs.begin(), operation.outputs.end());
        written.insert(written.end(), operation.outputs.begin(), operation.outputs.end());
    }
    std::ranges::sort(read);
    return builder.finish(read, written);
}

Result<engine::NestedGraph> ModelLowering::nested(size_t subgraph) {
    if (subgraph >= mNested.size()) {
        return internalError("subgraph " + std::to_string(subgraph) + " does not exist");
    }
    const std::string name = "subgraph " + std::to_string(subgraph);
    if (!mShallow[subgraph]) {
        return unsupported("with " + name + " graphs are nested more than " +
                           std::to_string(engine::kMaxNesting) + " deep");
    }
    std::optional<Result<engine::NestedGraph>>& known = mNested[subgraph];
    if (!known.has_value()) {
        Result<engine::Graph> graph = lower(model().referenced[subgraph]);
        known = graph.ok() ? Result(engine::NestedGraph{std::make_shared<const engine::Graph>(
                                     std::move(graph).value())})
                           : Result<engine::NestedGraph>(graph.status().withContext(name));
    }
    return *known;
}

Status ModelLowering::lower(size_t operation, GraphBuilder& builder) {
    HALYARD_RETURN_IF_ERROR(checkpoint().check("while operations were lowered"));
    const Operation& source = builder.subgraph().operations[operation];
    const std::string label = labelOf(model(), source, operation);
    const auto number = static_cast<uint32_t>(operation);
    if (mDenied.contains(source.type)) {
        return breaking(Rule::TURNED_OFF, unsupported(label + ": turned off by option -u"))
                .atOperation(number);
    }
    const OperationDefinition* definition = findOperation(model(), source.type);
    if (definition == nullptr || definition->lower == nullptr) {
        return breaking(Rule::NOT_IMPLEMENTED,
                        unsupported(label + ": Halyard can't run this operation"))
                .atOperation(number);
    }
    // Its version was checked by the validation.
    Result<OperationView> view =
            OperationView::make(model(), builder.subgraph(), source, *definition, kNewestVersion);
    if (!view.ok()) {
        return view.status().withContext(label).atOperation(number);
    }
    Lowering lowering(builder, std::move(*view), label, number);
    const Status lowered = definition->lower(lowering);
    const Status named = lowering.view().checkNames();
    return breaking(Rule::FORM, named.ok() ? lowered : named)
            .withContext(label)
            .atOperation(number);
}

Result<engine::Graph> lowerModel(const Model& model, const Constants& constants,
                                 const Checkpoint& checkpoint) {
    return ModelLowering(model, constants, {}, checkpoint).whole();
}

Result<engine::Graph> lowerOperation(const Model& model, const Constants& constants, size_t index) {
    return ModelLowering(model, constants).operation(index);
}

}  // namespace halyard::driver
