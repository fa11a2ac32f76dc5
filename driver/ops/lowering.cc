// SPDX-License-Identifier: Apache-2.0

#include "driver/ops/lowering.h"

#include <array>
#include <cstring>
#include <utility>

#include "engine/base/half.h"

namespace halyard::driver {
namespace {

using engine::Shape;
using engine::TensorId;
using engine::TensorType;

constexpr std::array<int32_t, 4> kNchwToNhwc = {0, 2, 3, 1};
constexpr std::array<int32_t, 4> kNhwcToNchw = {0, 3, 1, 2};

bool hasConstantLifetime(const Operand& operand) {
    return operand.lifetime == OperandLifeTime::CONSTANT_COPY ||
           operand.lifetime == OperandLifeTime::CONSTANT_REFERENCE;
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

}  // namespace

bool Lowering::isConstant(std::string_view input) const {
    return hasConstantLifetime(operand(input));
}

Result<const OperandView*> Lowering::scalarView(std::string_view name) const {
    const OperandView& view = mView.input(name);
    if (view.omitted()) {
        return internalError("Halyard reads the scalar \"" + std::string(name) +
                             "\", which is not there");
    }
    return &view;
}

template <typename T>
Result<T> Lowering::scalar(std::string_view name) const {
    HALYARD_ASSIGN_OR_RETURN(const OperandView* const view, scalarView(name));
    const Operand& operand = *view->operand;
    if (!hasConstantLifetime(operand)) {
        return unsupported(view->name() + " is not a constant");
    }
    HALYARD_ASSIGN_OR_RETURN(const engine::ConstantData data,
                             mBuilder.run().constants().find(operand));
    T value;
    if (data.bytes.size() != sizeof value) {
        return internalError(view->name() + " has the wrong size");
    }
    std::memcpy(&value, data.bytes.data(), sizeof value);
    return value;
}

Result<int32_t> Lowering::int32(std::string_view name) const {
    return scalar<int32_t>(name);
}

Result<int32_t> Lowering::int32AtLeast(std::string_view name, int32_t least) const {
    HALYARD_ASSIGN_OR_RETURN(const int32_t value, int32(name));
    if (value < least) {
        return invalidArgument(mView.input(name).name() + " is " + std::to_string(value) +
                               ", below " + std::to_string(least));
    }
    return value;
}

Result<bool> Lowering::boolean(std::string_view name) const {
    HALYARD_ASSIGN_OR_RETURN(const uint8_t value, scalar<uint8_t>(name));
    return value != 0;
}

Result<float> Lowering::real(std::string_view name) const {
    if (operand(name).type != OperandType::FLOAT16) {
        return scalar<float>(name);
    }
    HALYARD_ASSIGN_OR_RETURN(const uint16_t bits, scalar<uint16_t>(name));
    return toFloat(Half{bits});
}

Result<float> Lowering::realAtLeast(std::string_view name, float least) const {
    HALYARD_ASSIGN_OR_RETURN(const float value, real(name));
    if (!(value >= least)) {
        return invalidArgument(mView.input(name).name() + " is " + std::to_string(value) +
                               ", below " + std::to_string(least));
    }
    return value;
}

Result<engine::Activation> Lowering::activation(std::string_view name) const {
    HALYARD_ASSIGN_OR_RETURN(const int32_t code, int32(name));
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
            return invalidArgument(mView.input(name).name() + " is " + std::to_string(code) +
                                   ", not 0..3");
    }
}

Result<bool> Lowering::isNchw(std::string_view name) const {
    return has(name) ? boolean(name) : false;
}

Result<TensorId> Lowering::tensorOf(const OperandView& view) {
    return view.omitted() ? engine::kNoTensor : mBuilder.tensorOf(view.index);
}

Result<std::vector<TensorId>> Lowering::tensorsOf(std::span<const OperandView> views) {
    std::vector<TensorId> tensors;
    for (const OperandView& view : views) {
        HALYARD_ASSIGN_OR_RETURN(const TensorId tensor, tensorOf(view));
        tensors.push_back(tensor);
    }
    return tensors;
}

Result<TensorId> Lowering::input(std::string_view name) {
    return tensorOf(mView.input(name));
}

Result<TensorId> Lowering::output(std::string_view name) {
    return tensorOf(mView.output(name));
}

Result<TensorId> Lowering::outputOrTemporary(std::string_view name, TensorId like) {
    HALYARD_ASSIGN_OR_RETURN(const TensorId tensor, output(name));
    if (tensor != engine::kNoTensor) {
        return tensor;
    }
    TensorType type = typeOf(like);
    type.shape = Shape::unknownRank();
    return addTemporary(std::move(type));
}

Result<std::vector<TensorId>> Lowering::inputs(std::string_view name) {
    return tensorsOf(mView.inputs(name));
}

Result<std::vector<TensorId>> Lowering::outputs(std::string_view name) {
    return tensorsOf(mView.outputs(name));
}

const TensorType& Lowering::typeOf(TensorId id) const {
    return mBuilder.graph().tensor(id).type;
}

TensorId Lowering::addTemporary(TensorType type) {
    return mBuilder.graph().addTensor(std::move(type));
}

Result<TensorId> Lowering::float32Constant(float value) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
    return mBuilder.graph().addConstant(
            {.type = engine::DataType::FLOAT32, .shape = {}, .quantization = {}},
            {.owner = nullptr, .bytes = {bytes, sizeof value}}, mBuilder.run().copies());
}

void Lowering::addNode(engine::NodeDescriptor descriptor, std::vector<TensorId> inputs,
                       TensorId output) {
    addNode(std::move(descriptor), std::move(inputs), std::vector<TensorId>{output});
}

void Lowering::addNode(engine::NodeDescriptor descriptor, std::vector<TensorId> inputs,
                       std::vector<TensorId> outputs) {
    mBuilder.graph().addNode({.descriptor = std::move(descriptor),
                              .inputs = std::move(inputs),
                              .outputs = std::move(outputs),
                              .label = mLabel,
                              .sources = {mSource}});
}

Result<TensorId> Lowering::addTransposed(TensorId tensor,
                                         const std::array<int32_t, 4>& permutation) {
    HALYARD_ASSIGN_OR_RETURN(const TensorId order,
                             mBuilder.listOf({permutation.begin(), permutation.end()}));
    const TensorId result = addTemporary(permuted(typeOf(tensor), permutation));
    addNode(engine::Transpose{}, {tensor, order}, result);
    return result;
}

Result<TensorId> Lowering::nhwcInput(bool nchw, std::string_view name) {
    HALYARD_ASSIGN_OR_RETURN(const TensorId tensor, input(name));
    return nchw ? addTransposed(tensor, kNchwToNhwc) : tensor;
}

Status Lowering::addNhwcNode(engine::NodeDescriptor descriptor, std::vector<TensorId> inputs,
                             bool nchw) {
    HALYARD_ASSIGN_OR_RETURN(const TensorId result, output("output"));
    if (!nchw) {
        addNode(std::move(descriptor), std::move(inputs), result);
        return {};
    }
    HALYARD_ASSIGN_OR_RETURN(const TensorId order,
                             mBuilder.listOf({kNhwcToNchw.begin(), kNhwcToNchw.end()}));
    const TensorId nhwc = addTemporary(permuted(typeOf(result), kNchwToNhwc));
    addNode(std::move(descriptor), std::move(inputs), nhwc);
    addNode(engine::Transpose{}, {nhwc, order}, result);
    return {};
}

Result<std::vector<int32_t>> Lowering::listOf(const OperandView& view, size_t count) const {
    HALYARD_ASSIGN_OR_RETURN(const engine::ConstantData data,
                             mBuilder.run().constants().find(*view.operand));
    std::vector<int32_t> values(count);
    if (data.bytes.size() != count * sizeof(int32_t)) {
        return invalidArgument(view.name() + " has " +
                               std::to_string(data.bytes.size() / sizeof(int32_t)) +
                               " elements, not " + std::to_string(count));
    }
    if (!values.empty()) {
        std::memcpy(values.data(), data.bytes.data(), values.size() * sizeof(int32_t));
    }
    return values;
}

Result<TensorId> Lowering::nhwcShape(std::string_view name, bool nchw) {
    const OperandView& view = mView.input(name);
    if (!nchw || view.omitted()) {
        return tensorOf(view);
    }
    if (hasConstantLifetime(*view.operand)) {
        HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> nchwShape,
                                 listOf(view, kNchwToNhwc.size()));
        std::vector<int32_t> nhwcShape;
        for (const int32_t axis : kNchwToNhwc) {
            nhwcShape.push_back(nchwShape[static_cast<size_t>(axis)]);
        }
        return mBuilder.listOf(nhwcShape);
    }
    HALYARD_ASSIGN_OR_RETURN(const TensorId tensor, tensorOf(view));
    HALYARD_ASSIGN_OR_RETURN(const TensorId order,
                             mBuilder.listOf({kNchwToNhwc.begin(), kNchwToNhwc.end()}));
    const TensorId nhwc = addTemporary({.type = engine::DataType::INT32,
                                        .shape = {static_cast<int32_t>(kNchwToNhwc.size())},
                                        .quantization = {}});
    addNode(engine::Gather{.axis = 0}, {tensor, order}, nhwc);
    return nhwc;
}

Status Lowering::addNodeOf(engine::NodeDescriptor descriptor,
                           const std::vector<std::string_view>& inputs,
                           const std::vector<std::string_view>& outputs) {
    std::vector<TensorId> read;
    for (const std::string_view name : inputs) {
        HALYARD_ASSIGN_OR_RETURN(const TensorId tensor, input(name));
        read.push_back(tensor);
    }
    std::vector<TensorId> written;
    for (const std::string_view name : outputs) {
        HALYARD_ASSIGN_OR_RETURN(const TensorId tensor, output(name));
        written.push_back(tensor);
    }
    addNode(std::move(descriptor), std::move(read), std::move(written));
    return {};
}

Result<engine::NestedGraph> Lowering::nested(std::string_view name) {
    if (mView.referenced(name) == nullptr) {
        return invalidArgument(mView.input(name).name() + " is not a subgraph of the model");
    }
    return mBuilder.run().nested(operand(name).location.offset);
}

}  // namespace halyard::driver
