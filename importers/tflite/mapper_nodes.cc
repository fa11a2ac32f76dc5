// SPDX-License-Identifier: Apache-2.0
//
// What operators become.

#include "importers/tflite/mapper.h"

#include <cmath>
#include <cstring>
#include <utility>

#include "engine/base/half.h"
#include "engine/graph/shape_inference.h"
#include "importers/tflite/constants.h"

namespace halyard::tflite {
namespace {

using engine::ConstantData;
using engine::DataType;
using engine::kNoTensor;
using engine::Shape;
using engine::TensorType;

template <typename T>
std::vector<uint8_t> bytesOf(T value) {
    std::vector<uint8_t> bytes(sizeof value);
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
}

// Without quantisation.
TensorType plain(DataType type, const Shape& shape) {
    return {.type = type, .shape = shape, .quantization = {}};
}

}  // namespace

Result<TensorId> Mapper::constant(TensorType type, std::vector<uint8_t> bytes) {
    HALYARD_ASSIGN_OR_RETURN(ConstantData data, ownedConstant(std::move(bytes), mOptions.memory));
    return mGraph.addConstant(std::move(type), std::move(data), mCopies);
}

TensorId Mapper::int32Constant(std::span<const int32_t> values) {
    std::vector<uint8_t> bytes(values.size_bytes());
    std::memcpy(bytes.data(), values.data(), bytes.size());
    const auto owner = std::make_shared<const std::vector<uint8_t>>(std::move(bytes));
    TensorType type = plain(DataType::INT32, {static_cast<int32_t>(values.size())});
    // As many bytes as the type says: it can't fail.
    return *mGraph.addConstant(std::move(type), {.owner = owner, .bytes = *owner});
}

Result<TensorId> Mapper::scalar(const TensorType& type, double value) {
    TensorType one = type;
    one.shape = {};
    switch (type.type) {
        case DataType::FLOAT32:
            return constant(one, bytesOf(static_cast<float>(value)));
        case DataType::FLOAT16:
            return constant(one, bytesOf(toHalf(static_cast<float>(value))));
        case DataType::INT32:
            return constant(one, bytesOf(static_cast<int32_t>(value)));
        case DataType::BOOL8:
            return constant(one, {static_cast<uint8_t>(value != 0.0)});
        case DataType::QUANT8_ASYMM:
        case DataType::QUANT8_ASYMM_SIGNED: {
            const double steps =
                    std::nearbyint(value / type.quantization.scale) + type.quantization.zeroPoint;
            if (!(steps >= engine::minValue(type.type) && steps <= engine::maxValue(type.type))) {
                return unsupported("its quantisation has no " + std::to_string(value));
            }
            return constant(one, {static_cast<uint8_t>(static_cast<int32_t>(steps))});
        }
        default:
            return unsupported("a number is wanted of type " + type.toString());
    }
}

Result<TensorId> Mapper::zeroBias(const TensorType& activations, int32_t channels) {
    TensorType type = plain(engine::isFloat(activations.type) ? activations.type : DataType::INT32,
                            {channels});
    HALYARD_ASSIGN_OR_RETURN(const size_t size, type.byteSize());
    return constant(std::move(type), std::vector<uint8_t>(size));
}

Result<std::vector<TensorId>> Mapper::addNode(engine::NodeDescriptor descriptor,
                                              std::vector<TensorId> inputs,
                                              std::vector<TensorType> outputs,
                                              std::span<const std::string> names) {
    HALYARD_RETURN_IF_ERROR(mOptions.checkpoint.check("while the model was read"));
    std::vector<engine::KnownInput> known;
    for (const TensorId id : inputs) {
        known.push_back(id == kNoTensor ? engine::KnownInput{}
                                        : engine::KnownInput{
                                                  .type = &mGraph.tensor(id).type,
                                                  .data = mGraph.tensor(id).constant.bytes.data()});
    }
    engine::Node node{.descriptor = std::move(descriptor),
                      .inputs = std::move(inputs),
                      .outputs = {},
                      .label = subgraph().label(mIndex),
                      .sources = {static_cast<uint32_t>(mIndex)}};
    node.outputs.resize(outputs.size());
    const Status inferred = engine::inferShapes(node, known, outputs);
    if (!inferred.ok()) {
        // It names the node, as the caller does.
        std::string_view message = inferred.message();
        if (message.starts_with(node.label + ": ")) {
            message.remove_prefix(node.label.size() + 2);
        }
        return unsupported(std::string(message));
    }
    for (const TensorType& type : outputs) {
        if (type.shape.isFullyKnown() && !type.byteSize().ok()) {
            return unsupported(std::string(type.byteSize().status().message()));
        }
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
        node.outputs[i] = mGraph.addTensor(std::move(outputs[i]),
                                           i < names.size() ? names[i] : std::string());
    }
    std::vector<TensorId> ids = node.outputs;
    mGraph.addNode(std::move(node));
    return ids;
}

Status Mapper::checkFree(int32_t index) const {
    if (index == kOmitted) {
        return unsupported("an output of it is left out");
    }
    return isKnown(index) || find(index).has_value()
                   ? unsupported(shown(index) + " is there already")
                   : Status();
}

Status Mapper::emitTo(engine::NodeDescriptor descriptor, std::vector<TensorId> inputs,
                      std::span<const int32_t> tensors) {
    std::vector<TensorType> types;
    std::vector<std::string> names;
    for (const int32_t index : tensors) {
        HALYARD_RETURN_IF_ERROR(checkFree(index));
        HALYARD_ASSIGN_OR_RETURN(TensorType type, declared(index));
        types.push_back(std::move(type));
        names.push_back(tensor(index).name);
    }
    HALYARD_ASSIGN_OR_RETURN(
            const std::vector<TensorId> ids,
            addNode(std::move(descriptor), std::move(inputs), std::move(types), names));
    for (size_t i = 0; i < ids.size(); ++i) {
        mTensors[tensors[i]] = ids[i];
    }
    return {};
}

Status Mapper::emit(engine::NodeDescriptor descriptor, std::vector<TensorId> inputs) {
    return emitTo(std::move(descriptor), std::move(inputs), mOperator->outputs);
}

Result<std::vector<TensorId>> Mapper::emitInnerN(engine::NodeDescriptor descriptor,
                                                 std::vector<TensorId> inputs,
                                                 std::vector<TensorType> outputs) {
    for (TensorType& type : outputs) {
        type.shape = Shape::unknownRank();
    }
    return addNode(std::move(descriptor), std::move(inputs), std::move(outputs), {});
}

Result<TensorId> Mapper::emitInner(engine::NodeDescriptor descriptor, std::vector<TensorId> inputs,
                                   TensorType output) {
    std::vector<TensorType> outputs;
    outputs.push_back(std::move(output));
    HALYARD_ASSIGN_OR_RETURN(
            const std::vector<TensorId> ids,
            emitInnerN(std::move(descriptor), std::move(inputs), std::move(outputs)));
    return ids.front();
}

Status Mapper::define(int32_t index, TensorType type, std::vector<uint8_t> bytes) {
    HALYARD_RETURN_IF_ERROR(checkFree(index));
    HALYARD_ASSIGN_OR_RETURN(const TensorId id, constant(std::move(type), std::move(bytes)));
    mTensors[index] = id;
    return {};
}

Status Mapper::defineIntegers(int32_t index, const Shape& shape, std::span<const int32_t> values) {
    const ElementType wanted = tensor(index).type;
    if (wanted != ElementType::INT32 && wanted != ElementType::INT64) {
        return unsupported(shown(index) + " is " + toString(wanted) + ", not INT32 or INT64");
    }
    std::vector<uint8_t> bytes(values.size_bytes());
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return define(index, plain(DataType::INT32, shape), std::move(bytes));
}

Status Mapper::alias(int32_t index, TensorId id) {
    HALYARD_RETURN_IF_ERROR(checkFree(index));
    HALYARD_ASSIGN_OR_RETURN(TensorType type, declared(index));
    type.shape = typeOf(id).shape;
    if (!(type == typeOf(id))) {
        return unsupported(shown(index) + " is " + type.toString() + ", and what it is made of " +
                           typeOf(id).toString());
    }
    mTensors[index] = id;
    return {};
}

Result<TensorId> Mapper::sameBytes(TensorId id, TensorType type) {
    return mGraph.addConstant(std::move(type), mGraph.tensor(id).constant, mCopies);
}

Status Mapper::emitReshape(TensorId id, std::span<const int32_t> extents, int32_t output) {
    const TensorId shape = int32Constant(extents);
    return emitTo(engine::Reshape{}, {id, shape}, std::span(&output, 1));
}

Result<TensorId> Mapper::reshaped(TensorId id, std::span<const int32_t> extents) {
    const TensorId shape = int32Constant(extents);
    return emitInner(engine::Reshape{}, {id, shape}, typeOf(id));
}

}  // namespace halyard::tflite
