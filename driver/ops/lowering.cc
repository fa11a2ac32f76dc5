// SPDX-License-Identifier: Apache-2.0

#include "driver/ops/lowering.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "driver/ops/operation.h"
#include "engine/base/half.h"

namespace halyard::driver {
namespace {

using engine::DataType;
using engine::Shape;
using engine::TensorId;
using engine::TensorType;

constexpr std::array<int32_t, 4> kNchwToNhwc = {0, 2, 3, 1};
constexpr std::array<int32_t, 4> kNhwcToNchw = {0, 3, 1, 2};

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

TensorType permuted(TensorType type, const std::array<int32_t, 4>& permutation) {
    if (type.shape.hasKnownRank() && type.shape.rank() == permutation.size()) {
        const Shape source = type.shape;
        for (size_t axis = 0; axis < permutation.size(); ++axis) {
            type.shape[axis] = source[static_cast<size_t>(permutation[axis])];
        }
    }
    return type;
}

engine::Transpose transpose(const std::array<int32_t, 4>& permutation) {
    return {.permutation = {permutation.begin(), permutation.end()}};
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

// ---- GraphBuilder -------------------------------------------------------------------------------

Result<TensorId> GraphBuilder::tensorOf(uint32_t operand) {
    if (const auto found = mTensors.find(operand); found != mTensors.end()) {
        return found->second;
    }
    const Operand& source = mSubgraph.operands[operand];
    Result<TensorType> type = tensorTypeOf(source);
    if (!type.ok()) {
        return type.status().withContext("operand " + std::to_string(operand));
    }
    if (source.lifetime == OperandLifeTime::CONSTANT_COPY ||
        source.lifetime == OperandLifeTime::CONSTANT_REFERENCE) {
        HALYARD_ASSIGN_OR_RETURN(engine::ConstantData data, mConstants.find(source));
        if (type->type == DataType::INT32) {
            // Axes, shapes and paddings decide where memory is read and written: the graph keeps a
            // copy that the client can't change. Without an owner, addConstant makes one.
            data.owner = nullptr;
        }
        Result<TensorId> constant =
                mGraph.addConstant(std::move(*type), std::move(data), mConstants.budget());
        if (!constant.ok()) {
            return constant.status().withContext("operand " + std::to_string(operand));
        }
        return mTensors[operand] = *constant;
    }
    return mTensors[operand] = mGraph.addTensor(std::move(*type));
}

Status GraphBuilder::lower(size_t operation) {
    const Operation& source = mSubgraph.operations[operation];
    std::string label = labelOf(source, operation);
    const OperationDefinition* definition = findOperation(source.type);
    if (definition == nullptr) {
        return unsupported(label + ": Halyard does not have this operation");
    }
    Lowering lowering(*this, source, label, static_cast<uint32_t>(operation));
    return definition->lower(lowering).withContext(label);
}

// ---- Lowering -----------------------------------------------------------------------------------

const Operand& Lowering::input(size_t position) const {
    return mBuilder.subgraph().operands[mOperation.inputs[position]];
}

const Operand& Lowering::output(size_t position) const {
    return mBuilder.subgraph().operands[mOperation.outputs[position]];
}

std::string Lowering::nameOfInput(size_t position, std::string_view name) const {
    return "input " + std::to_string(position) + " (operand " +
           std::to_string(mOperation.inputs[position]) + "), the " + std::string(name) + ",";
}

template <typename T>
Result<T> Lowering::scalar(size_t position, std::string_view name) const {
    const Operand& operand = input(position);
    if (operand.lifetime != OperandLifeTime::CONSTANT_COPY &&
        operand.lifetime != OperandLifeTime::CONSTANT_REFERENCE) {
        return unsupported(nameOfInput(position, name) + " is not a constant");
    }
    HALYARD_ASSIGN_OR_RETURN(const engine::ConstantData data, mBuilder.constants().find(operand));
    T value;
    if (data.bytes.size() != sizeof value) {
        return internalError(nameOfInput(position, name) + " has the wrong size");
    }
    std::memcpy(&value, data.bytes.data(), sizeof value);
    return value;
}

Result<int32_t> Lowering::int32(size_t position, std::string_view name) const {
    return scalar<int32_t>(position, name);
}

Result<int32_t> Lowering::int32AtLeast(size_t position, std::string_view name,
                                       int32_t least) const {
    HALYARD_ASSIGN_OR_RETURN(const int32_t value, int32(position, name));
    if (value < least) {
        return invalidArgument(nameOfInput(position, name) + " is " + std::to_string(value) +
                               ", below " + std::to_string(least));
    }
    return value;
}

Result<bool> Lowering::boolean(size_t position, std::string_view name) const {
    HALYARD_ASSIGN_OR_RETURN(const uint8_t value, scalar<uint8_t>(position, name));
    return value != 0;
}

Result<float> Lowering::real(size_t position, std::string_view name) const {
    if (input(position).type != OperandType::FLOAT16) {
        return scalar<float>(position, name);
    }
    HALYARD_ASSIGN_OR_RETURN(const uint16_t bits, scalar<uint16_t>(position, name));
    return toFloat(Half{bits});
}

Result<engine::Activation> Lowering::activation(size_t position) const {
    HALYARD_ASSIGN_OR_RETURN(const int32_t code, int32(position, "activation"));
    switch (code) {
        case 0:
            return engine::Activation::NONE;
        case 1:
            return engine::Activation::RELU;
        case 2:
            return engine::Activation::RELU1;
        case 3:
            return engine::Activation::RELU6;
        default:
            return invalidArgument(nameOfInput(position, "activation") + " is " +
                                   std::to_string(code) + ", not 0..3");
    }
}

Result<bool> Lowering::isNchw(size_t position) const {
    return position < inputCount() ? boolean(position, "layout") : false;
}

Result<TensorId> Lowering::inputTensor(size_t position) {
    return mBuilder.tensorOf(mOperation.inputs[position]);
}

Result<TensorId> Lowering::outputTensor(size_t position) {
    return mBuilder.tensorOf(mOperation.outputs[position]);
}

const TensorType& Lowering::typeOf(TensorId id) const {
    return mBuilder.graph().tensor(id).type;
}

TensorId Lowering::addTemporary(TensorType type) {
    return mBuilder.graph().addTensor(std::move(type));
}

Result<TensorId> Lowering::addConstant(std::vector<int32_t> values) {
    const TensorType type = {.type = DataType::INT32,
                             .shape = Shape{static_cast<int32_t>(values.size())},
                             .quantization = {}};
    const auto* bytes = reinterpret_cast<const uint8_t*>(values.data());
    return mBuilder.graph().addConstant(
            type, {.owner = nullptr, .bytes = {bytes, values.size() * sizeof(int32_t)}});
}

void Lowering::addNode(engine::NodeDescriptor descriptor, std::vector<TensorId> inputs,
                       TensorId output) {
    mBuilder.graph().addNode({.descriptor = std::move(descriptor),
                              .inputs = std::move(inputs),
                              .outputs = {output},
                              .label = mLabel,
                              .source = mSource});
}

Result<TensorId> Lowering::nhwcInput(bool nchw) {
    HALYARD_ASSIGN_OR_RETURN(const TensorId input, inputTensor(0));
    if (!nchw) {
        return input;
    }
    const TensorId nhwc = addTemporary(permuted(typeOf(input), kNchwToNhwc));
    addNode(transpose(kNchwToNhwc), {input}, nhwc);
    return nhwc;
}

Status Lowering::addNhwcNode(engine::NodeDescriptor descriptor, std::vector<TensorId> inputs,
                             bool nchw) {
    HALYARD_ASSIGN_OR_RETURN(const TensorId output, outputTensor(0));
    if (!nchw) {
        addNode(std::move(descriptor), std::move(inputs), output);
        return {};
    }
    const TensorId nhwc = addTemporary(permuted(typeOf(output), kNchwToNhwc));
    addNode(std::move(descriptor), std::move(inputs), nhwc);
    addNode(transpose(kNhwcToNchw), {nhwc}, output);
    return {};
}

Status Lowering::addUnaryNode(engine::NodeDescriptor descriptor) {
    HALYARD_ASSIGN_OR_RETURN(const TensorId input, inputTensor(0));
    HALYARD_ASSIGN_OR_RETURN(const TensorId output, outputTensor(0));
    addNode(std::move(descriptor), {input}, output);
    return {};
}

// ---- Whole models and single operations ---------------------------------------------------------

namespace {

bool isComputed(const Operand& operand) {
    return operand.lifetime == OperandLifeTime::TEMPORARY_VARIABLE ||
           operand.lifetime == OperandLifeTime::SUBGRAPH_INPUT ||
           operand.lifetime == OperandLifeTime::SUBGRAPH_OUTPUT;
}

Result<std::vector<TensorId>> tensorsOf(GraphBuilder& builder,
                                        const std::vector<uint32_t>& operands) {
    std::vector<TensorId> tensors;
    for (const uint32_t operand : operands) {
        HALYARD_ASSIGN_OR_RETURN(const TensorId tensor, builder.tensorOf(operand));
        tensors.push_back(tensor);
    }
    return tensors;
}

}  // namespace

Result<engine::Graph> lowerModel(const Model& model, const Constants& constants) {
    GraphBuilder builder(model.main, constants);
    HALYARD_ASSIGN_OR_RETURN(std::vector<TensorId> inputs,
                             tensorsOf(builder, model.main.inputIndexes));
    for (size_t i = 0; i < model.main.operations.size(); ++i) {
        HALYARD_RETURN_IF_ERROR(builder.lower(i));
    }
    HALYARD_ASSIGN_OR_RETURN(std::vector<TensorId> outputs,
                             tensorsOf(builder, model.main.outputIndexes));
    builder.graph().setInputs(std::move(inputs));
    builder.graph().setOutputs(std::move(outputs));
    builder.graph().setRelaxedFloat(model.relaxComputationFloat32toFloat16);
    return std::move(builder.graph());
}

Result<engine::Graph> lowerOperation(const Model& model, const Constants& constants, size_t index) {
    GraphBuilder builder(model.main, constants);
    HALYARD_RETURN_IF_ERROR(builder.lower(index));
    const Operation& operation = model.main.operations[index];
    std::vector<uint32_t> computed;  // each value once, however often the operation reads it
    for (const uint32_t operand : operation.inputs) {
        if (isComputed(model.main.operands[operand]) &&
            std::ranges::find(computed, operand) == computed.end()) {
            computed.push_back(operand);
        }
    }
    HALYARD_ASSIGN_OR_RETURN(std::vector<TensorId> inputs, tensorsOf(builder, computed));
    HALYARD_ASSIGN_OR_RETURN(std::vector<TensorId> outputs, tensorsOf(builder, operation.outputs));
    builder.graph().setInputs(std::move(inputs));
    builder.graph().setOutputs(std::move(outputs));
    builder.graph().setRelaxedFloat(model.relaxComputationFloat32toFloat16);
    return std::move(builder.graph());
}

}  // namespace halyard::driver
