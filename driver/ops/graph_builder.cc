// SPDX-License-Identifier: Apache-2.0

#include "driver/ops/graph_builder.h"

#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>

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

Result<engine::Graph> GraphBuilder::finish(const std::vector<uint32_t>& inputs,
                                           const std::vector<uint32_t>& outputs) {
    HALYARD_ASSIGN_OR_RETURN(std::vector<TensorId> inputTensors, tensorsOf(inputs));
    HALYARD_ASSIGN_OR_RETURN(std::vector<TensorId> outputTensors, tensorsOf(outputs));
    mGraph.setInputs(std::move(inputTensors));
    mGraph.setOutputs(std::move(outputTensors));
    mGraph.setRelaxedFloat(mRun.model().relaxComputationFloat32toFloat16);
    return std::move(mGraph);
}

}  // namespace halyard::driver
