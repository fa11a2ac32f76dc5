// SPDX-License-Identifier: Apache-2.0

#include "driver/ops/graph_builder.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>

#include "driver/model/extensions.h"
#include "driver/model/verdicts.h"
#include "driver/ops/extension_operations.h"
#include "driver/ops/lowering.h"
#include "driver/ops/operation.h"
#include "engine/graph/verifier.h"

namespace halyard::driver {
namespace {

using engine::DataType;
using engine::Shape;
using engine::TensorId;
using engine::TensorType;

std::optional<DataType> dataTypeOf(OperandType type) {
    switch (type) {
        case OperandType::FLOAT32:
        case OperandType::TENSOR_FLOAT32:
            return DataType::FLOAT32;
        case OperandType::FLOAT16:
        case OperandType::TENSOR_FLOAT16:
            return DataType::FLOAT16;
        case OperandType::INT32:
        case OperandType::TENSOR_INT32:
            return DataType::INT32;
        case OperandType::BOOL:
        case OperandType::TENSOR_BOOL8:
            return DataType::BOOL8;
        case OperandType::TENSOR_QUANT8_ASYMM:
            return DataType::QUANT8_ASYMM;
        case OperandType::TENSOR_QUANT8_ASYMM_SIGNED:
            return DataType::QUANT8_ASYMM_SIGNED;
        case OperandType::TENSOR_QUANT8_SYMM:
            return DataType::QUANT8_SYMM;
        case OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL:
            return DataType::QUANT8_SYMM_PER_CHANNEL;
        case OperandType::TENSOR_QUANT16_SYMM:
            return DataType::QUANT16_SYMM;
        case OperandType::TENSOR_QUANT16_ASYMM:
            return DataType::QUANT16_ASYMM;
        default:
            return std::nullopt;
    }
}

Result<Shape> shapeOf(const Operand& operand) {
    const OperandTypeInfo* info = findOperandType(operand.type);
    if (operand.dimensions.empty()) {
        return info != nullptr && info->isTensor() ? Shape::unknownRank() : Shape();
    }
    if (operand.dimensions.size() > engine::kMaxRank) {
        return unsupported("rank " + std::to_string(operand.dimensions.size()) + " is above " +
                           std::to_string(engine::kMaxRank));
    }
    std::vector<int32_t> extents;
    for (const uint32_t dimension : operand.dimensions) {
        if (dimension > static_cast<uint32_t>(std::numeric_limits<int32_t>::max())) {
            return unsupported("dimension " + std::to_string(dimension) + " is above 2^31 - 1");
        }
        extents.push_back(dimension == 0 ? engine::kUnknownDimension
                                         : static_cast<int32_t>(dimension));
    }
    return Shape(extents);
}

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

Result<TensorType> tensorTypeOf(const Operand& operand) {
    const std::optional<DataType> type = dataTypeOf(operand.type);
    if (!type.has_value()) {
        return unsupported("type " + describe(operand.type) + " is not supported");
    }
    HALYARD_ASSIGN_OR_RETURN(Shape shape, shapeOf(operand));
    engine::Quantization quantization;
    quantization.scale = operand.scale;
    quantization.zeroPoint = operand.zeroPoint;
    if (const auto* channels = std::get_if<SymmPerChannelQuantParams>(&operand.extraParams)) {
        quantization.channelScales = channels->scales;
        quantization.channelDim = channels->channelDim;
    }
    return TensorType{.type = *type, .shape = shape, .quantization = std::move(quantization)};
}

// ---- ModelLowering ------------------------------------------------------------------------------

ModelLowering::ModelLowering(const Model& model, const Constants& constants,
                             std::set<OperationType> denied, const Checkpoint& checkpoint)
    : mModel(model),
      mConstants(constants),
      mDenied(std::move(denied)),
      mCheckpoint(checkpoint),
      mCopies(constants.budget(), checkpoint),
      mShallow(shallowSubgraphs(model)),
      mNested(model.referenced.size()) {}

Result<engine::Graph> ModelLowering::lower(const Subgraph& subgraph) {
    GraphBuilder builder(*this, subgraph);
    // Inputs first, so that their order is the graph's.
    HALYARD_RETURN_IF_ERROR(builder.tensorsOf(subgraph.inputIndexes).status());
    for (size_t i = 0; i < subgraph.operations.size(); ++i) {
        HALYARD_RETURN_IF_ERROR(builder.lower(i));
    }
    return builder.finish(subgraph.inputIndexes, subgraph.outputIndexes);
}

Result<engine::Graph> ModelLowering::whole() {
    return lower(mModel.main);
}

Result<engine::Graph> ModelLowering::operation(size_t index) {
    return operations({index});
}

Result<engine::Graph> ModelLowering::operations(const std::vector<size_t>& indexes) {
    const Subgraph& main = mModel.main;
    GraphBuilder builder(*this, main);
    std::vector<uint32_t> read;
    std::vector<uint32_t> written;
    std::unordered_set<uint32_t> known;
    for (const size_t index : indexes) {
        HALYARD_RETURN_IF_ERROR(builder.lower(index));
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
        Result<engine::Graph> graph = lower(mModel.referenced[subgraph]);
        known = graph.ok() ? Result(engine::NestedGraph{std::make_shared<const engine::Graph>(
                                     std::move(graph).value())})
                           : Result<engine::NestedGraph>(graph.status().withContext(name));
    }
    return *known;
}

// ---- GraphBuilder -------------------------------------------------------------------------------

Result<TensorId> GraphBuilder::tensorOf(uint32_t operand) {
    if (const auto found = mTensors.find(operand); found != mTensors.end()) {
        return found->second;
    }
    const std::string name = "operand " + std::to_string(operand);
    const Operand& source = mSubgraph.operands[operand];
    Result<TensorType> type = tensorTypeOf(source);
    if (!type.ok()) {
        return type.status().withContext(name);
    }
    if (source.lifetime != OperandLifeTime::CONSTANT_COPY &&
        source.lifetime != OperandLifeTime::CONSTANT_REFERENCE) {
        return mTensors[operand] = mGraph.addTensor(std::move(*type));
    }
    HALYARD_ASSIGN_OR_RETURN(engine::ConstantData data, mRun.constants().find(source));
    const Result<TensorId> constant =
            mGraph.addConstant(std::move(*type), std::move(data), mRun.copies());
    if (!constant.ok()) {
        return constant.status().withContext(name);
    }
    return mTensors[operand] = *constant;
}

Result<std::vector<TensorId>> GraphBuilder::tensorsOf(const std::vector<uint32_t>& operands) {
    std::vector<TensorId> tensors;
    for (const uint32_t operand : operands) {
        HALYARD_ASSIGN_OR_RETURN(const TensorId tensor, tensorOf(operand));
        tensors.push_back(tensor);
    }
    return tensors;
}

Result<TensorId> GraphBuilder::listOf(const std::vector<int32_t>& values) {
    if (const auto found = mLists.find(values); found != mLists.end()) {
        return found->second;
    }
    const TensorType type = {.type = DataType::INT32,
                             .shape = Shape{static_cast<int32_t>(values.size())},
                             .quantization = {}};
    const auto* bytes = reinterpret_cast<const uint8_t*>(values.data());
    HALYARD_ASSIGN_OR_RETURN(
            const TensorId list,
            mGraph.addConstant(
                    type, {.owner = nullptr, .bytes = {bytes, values.size() * sizeof(int32_t)}},
                    mRun.copies()));
    return mLists[values] = list;
}

Status GraphBuilder::lower(size_t operation) {
    HALYARD_RETURN_IF_ERROR(mRun.checkpoint().check("while operations were lowered"));
    const Operation& source = mSubgraph.operations[operation];
    const std::string label = labelOf(mRun.model(), source, operation);
    const auto number = static_cast<uint32_t>(operation);
    if (mRun.denies(source.type)) {
        return breaking(Rule::TURNED_OFF, unsupported(label + ": turned off by option -u"))
                .atOperation(number);
    }
    const OperationDefinition* definition = findOperation(mRun.model(), source.type);
    if (definition == nullptr || definition->lower == nullptr) {
        return breaking(Rule::NOT_IMPLEMENTED,
                        unsupported(label + ": Halyard can't run this operation"))
                .atOperation(number);
    }
    // Its version was checked by the validation.
    Result<OperationView> view =
            OperationView::make(mRun.model(), mSubgraph, source, *definition, kNewestVersion);
    if (!view.ok()) {
        return view.status().withContext(label).atOperation(number);
    }
    Lowering lowering(*this, std::move(*view), label, number);
    const Status lowered = definition->lower(lowering);
    const Status named = lowering.view().checkNames();
    return breaking(Rule::FORM, named.ok() ? lowered : named)
            .withContext(label)
            .atOperation(number);
}

Result<engine::Graph> GraphBuilder::finish(const std::vector<uint32_t>& inputs,
                                           const std::vector<uint32_t>& outputs) {
    HALYARD_ASSIGN_OR_RETURN(std::vector<TensorId> inputTensors, tensorsOf(inputs));
    HALYARD_ASSIGN_OR_RETURN(std::vector<TensorId> outputTensors, tensorsOf(outputs));
    mGraph.setInputs(std::move(inputTensors));
    mGraph.setOutputs(std::move(outputTensors));
    mGraph.setRelaxedFloat(mRun.model().relaxComputationFloat32toFloat16);
    return std::move(mGraph);
}

// ---- One run for the one question ---------------------------------------------------------------

Result<engine::Graph> lowerModel(const Model& model, const Constants& constants,
                                 const Checkpoint& checkpoint) {
    return ModelLowering(model, constants, {}, checkpoint).whole();
}

Result<engine::Graph> lowerOperation(const Model& model, const Constants& constants, size_t index) {
    return ModelLowering(model, constants).operation(index);
}

}  // namespace halyard::driver
