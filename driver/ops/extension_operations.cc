// SPDX-License-Identifier: Apache-2.0
//
// com.halyard.activation: SILU and GELU, one tensor in, one of the same type and shape out. All
// types are computed as FLOAT32.

#include "driver/ops/extension_operations.h"

#include <array>
#include <span>
#include <utility>

#include "driver/model/extensions.h"
#include "driver/ops/families.h"
#include "driver/ops/lowering.h"

namespace halyard::driver {
namespace {

using enum HalVersion;
using enum OperandType;
using engine::DataType;
using engine::TensorId;
using engine::TensorType;

// The values of GELU_APPROXIMATION.
constexpr int32_t kTanh = 0;
constexpr int32_t kSigmoid = 1;

// Lowers one operation of type FLOAT32, whatever its operands are.
class Float32Lowering {
  public:
    static Result<Float32Lowering> create(Lowering& lowering) {
        HALYARD_ASSIGN_OR_RETURN(const TensorId input, lowering.input("input"));
        Float32Lowering made(lowering);
        const DataType type = lowering.typeOf(input).type;
        made.mInput = input;
        if (type != DataType::FLOAT32) {
            made.mInput = made.add(type == DataType::FLOAT16
                                           ? engine::NodeDescriptor(engine::Cast{})
                                           : engine::NodeDescriptor(engine::Dequantize{}),
                                   {input});
        }
        return made;
    }

    TensorId input() const { return mInput; }
    // A node's output, of the shape of the input.
    TensorId add(engine::NodeDescriptor node, std::vector<TensorId> inputs) {
        TensorType type = {.type = DataType::FLOAT32,
                           .shape = engine::Shape::unknownRank(),
                           .quantization = {}};
        const TensorId output = mLowering.addTemporary(std::move(type));
        mLowering.addNode(std::move(node), std::move(inputs), output);
        return output;
    }
    TensorId multiply(TensorId a, TensorId b) {
        return add(engine::Binary{.function = engine::Binary::Function::MUL}, {a, b});
    }
    TensorId logistic(TensorId x) {
        return add(engine::Activate{.function = engine::Activate::Function::LOGISTIC}, {x});
    }
    // Gives the product of the two as the operation's output.
    Status finish(TensorId a, TensorId b) {
        HALYARD_ASSIGN_OR_RETURN(const TensorId output, mLowering.output("output"));
        const DataType type = mLowering.typeOf(output).type;
        if (type == DataType::FLOAT32) {
            mLowering.addNode(engine::Binary{.function = engine::Binary::Function::MUL}, {a, b},
                              output);
        } else if (type == DataType::FLOAT16) {
            mLowering.addNode(engine::Cast{}, {multiply(a, b)}, output);
        } else {
            mLowering.addNode(engine::Quantize{}, {multiply(a, b)}, output);
        }
        return {};
    }

  private:
    explicit Float32Lowering(Lowering& lowering) : mLowering(lowering) {}

    Lowering& mLowering;
    TensorId mInput = engine::kNoTensor;
};

Status lowerSilu(Lowering& lowering) {
    HALYARD_ASSIGN_OR_RETURN(Float32Lowering floats, Float32Lowering::create(lowering));
    return floats.finish(floats.input(), floats.logistic(floats.input()));
}

// x * logistic(f(x)), as (1 + tanh(u)) / 2 is logistic(2 u).
Status lowerGelu(Lowering& lowering) {
    HALYARD_ASSIGN_OR_RETURN(const int32_t approximation, lowering.int32("approximation"));
    HALYARD_ASSIGN_OR_RETURN(Float32Lowering floats, Float32Lowering::create(lowering));
    const TensorId x = floats.input();
    if (approximation == kSigmoid) {
        HALYARD_ASSIGN_OR_RETURN(const TensorId factor, lowering.float32Constant(1.702F));
        return floats.finish(x, floats.logistic(floats.multiply(x, factor)));
    }
    if (approximation != kTanh) {
        return invalidArgument(lowering.view().input("approximation").name() + " is " +
                               std::to_string(approximation) + ", not 0 (tanh) or 1 (sigmoid)");
    }
    // 2 sqrt(2 / pi) (x + 0.044715 x^3)
    HALYARD_ASSIGN_OR_RETURN(const TensorId linear, lowering.float32Constant(1.5957691216057308F));
    HALYARD_ASSIGN_OR_RETURN(const TensorId cubic, lowering.float32Constant(0.071354814F));
    const TensorId slope = floats.add(engine::Binary{.function = engine::Binary::Function::ADD},
                                      {floats.multiply(floats.multiply(x, x), cubic), linear});
    return floats.finish(x, floats.logistic(floats.multiply(x, slope)));
}

std::vector<TypeRow> rows() {
    return {{V1_2, {TENSOR_FLOAT32}},
            {V1_2, {TENSOR_FLOAT16}},
            {V1_2, {TENSOR_QUANT8_ASYMM}},
            {V1_3, {TENSOR_QUANT8_ASYMM_SIGNED}}};
}

}  // namespace

std::span<const OperationDefinition> extensionOperations() {
    // Never destroyed, as the other table is not.
    static const auto* const table = new std::vector<OperationDefinition>{
            {.type = kSilu,
             .forms = {{V1_2, {tensor("input", kTensor)}, {tensor("output", kTensor)}}},
             .rows = rows(),
             .lower = lowerSilu},
            {.type = kGelu,
             .forms = {{V1_2,
                        {tensor("input", kTensor),
                         {.name = "approximation", .type = kGeluApproximation}},
                        {tensor("output", kTensor)}}},
             .rows = rows(),
             .lower = lowerGelu}};
    return *table;
}

}  // namespace halyard::driver
