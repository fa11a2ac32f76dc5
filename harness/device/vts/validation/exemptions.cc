// SPDX-License-Identifier: Apache-2.0

#include "harness/device/vts/validation/exemptions.h"

#include <algorithm>
#include <initializer_list>

namespace halyard::vts {
namespace {

using driver::HalVersion;
using driver::OperandType;
using driver::Operation;
using driver::OperationType;
using enum OperandType;

bool isOneOf(OperandType type, std::initializer_list<OperandType> types) {
    return std::ranges::find(types, type) != types.end();
}

// The type that the version adds to a list that begins with 1.2.
bool isSignedFrom1_3(OperandType type, HalVersion version) {
    return version >= HalVersion::V1_3 && type == TENSOR_QUANT8_ASYMM_SIGNED;
}

bool isFloatTensor(OperandType type) {
    return isOneOf(type, {TENSOR_FLOAT16, TENSOR_FLOAT32});
}

bool operationMayTakeType(const Operation& operation, size_t operand, OperandType type,
                          HalVersion version) {
    const auto isInput = [&](size_t position) {
        return position < operation.inputs.size() && operation.inputs[position] == operand;
    };
    const bool isOutput = !operation.outputs.empty() && operation.outputs[0] == operand;
    if (operation.type == OperationType::LSH_PROJECTION) {
        return isInput(1);
    }
    if (version < HalVersion::V1_2) {
        return false;
    }
    const bool isAsymmetric = type == TENSOR_QUANT8_ASYMM || isSignedFrom1_3(type, version);
    switch (operation.type) {
        case OperationType::CAST:
        case OperationType::ARGMAX:
        case OperationType::ARGMIN:
            return isFloatTensor(type) || type == TENSOR_INT32 || isAsymmetric;
        case OperationType::QUANTIZE:
            return (isInput(0) && isFloatTensor(type)) ||
                   (isOutput && version >= HalVersion::V1_3 && isAsymmetric);
        case OperationType::RANDOM_MULTINOMIAL:
            return isInput(0) && isFloatTensor(type);
        case OperationType::DEQUANTIZE:
            return (isInput(0) &&
                    (isAsymmetric ||
                     isOneOf(type, {TENSOR_QUANT8_SYMM, TENSOR_QUANT8_SYMM_PER_CHANNEL}))) ||
                   (isOutput && isFloatTensor(type));
        case OperationType::CONV_2D:
        case OperationType::DEPTHWISE_CONV_2D:
        case OperationType::GROUPED_CONV_2D:
        case OperationType::TRANSPOSE_CONV_2D:
            return isInput(1) &&
                   isOneOf(type, {TENSOR_QUANT8_ASYMM, TENSOR_QUANT8_SYMM_PER_CHANNEL});
        case OperationType::AXIS_ALIGNED_BBOX_TRANSFORM:
            return version >= HalVersion::V1_3 && isInput(1) && isAsymmetric;
        case OperationType::RANK:
            return isInput(0) && driver::findOperandType(type)->isTensor();
        default:
            return false;
    }
}

}  // namespace

bool mayTakeType(const driver::Subgraph& graph, size_t operand, OperandType type,
                 HalVersion version) {
    return std::ranges::any_of(graph.operations, [&](const Operation& operation) {
        return operationMayTakeType(operation, operand, type, version);
    });
}

bool mayTakeTypeWithValue(const driver::Subgraph& graph, size_t operand, OperandType type,
                          HalVersion version) {
    const auto takesEither = [&](const Operation& operation) {
        const bool isDepthwise = operation.type == OperationType::DEPTHWISE_CONV_2D;
        const size_t layout = isDepthwise ? 8 : 7;
        return (isDepthwise || operation.type == OperationType::CONV_2D) &&
               operation.inputs.size() == layout + 3 && operation.inputs[layout] == operand;
    };
    return mayTakeType(graph, operand, type, version) ||
           (version >= HalVersion::V1_2 && (type == BOOL || type == INT32) &&
            std::ranges::any_of(graph.operations, takesEither));
}

bool mayLoseOperand(const driver::Subgraph& graph, size_t operand, HalVersion version) {
    if (version < HalVersion::V1_2) {
        return false;
    }
    if (version >= HalVersion::V1_3 && graph.operands[operand].numberOfConsumers == 0) {
        return true;
    }
    return std::ranges::any_of(graph.operations, [&](const Operation& operation) {
        switch (operation.type) {
            case OperationType::SPLIT:
            case OperationType::BIDIRECTIONAL_SEQUENCE_LSTM:
            case OperationType::BIDIRECTIONAL_SEQUENCE_RNN:
                break;
            case OperationType::UNIDIRECTIONAL_SEQUENCE_LSTM:
            case OperationType::UNIDIRECTIONAL_SEQUENCE_RNN:
                if (version < HalVersion::V1_3) {
                    return false;
                }
                break;
            default:
                return false;
        }
        return std::ranges::find(operation.outputs, operand) != operation.outputs.end();
    });
}

bool mayLoseInput(const Operation& operation, size_t input, HalVersion version) {
    const size_t count = operation.inputs.size();
    const auto isLastOf = [&](size_t inputs) { return count == inputs && input == inputs - 1; };
    if (operation.type == OperationType::CONCATENATION) {
        return count > 2 && input != count - 1;
    }
    if (version < HalVersion::V1_2) {
        return false;
    }
    switch (operation.type) {
        case OperationType::DEPTHWISE_CONV_2D:
            return isLastOf(12) || isLastOf(9);
        case OperationType::CONV_2D:
        case OperationType::AVERAGE_POOL_2D:
        case OperationType::MAX_POOL_2D:
        case OperationType::L2_POOL_2D:
            return isLastOf(11) || isLastOf(8);
        case OperationType::RESIZE_BILINEAR:
            return version >= HalVersion::V1_3 ? count >= 4 && input >= 3 : isLastOf(4);
        case OperationType::RESIZE_NEAREST_NEIGHBOR:
            return version >= HalVersion::V1_3 && count >= 5 && input >= 3;
        case OperationType::SPACE_TO_DEPTH:
        case OperationType::DEPTH_TO_SPACE:
        case OperationType::BATCH_TO_SPACE_ND:
        case OperationType::SOFTMAX:
            return isLastOf(3);
        case OperationType::SPACE_TO_BATCH_ND:
            return isLastOf(4);
        case OperationType::L2_NORMALIZATION:
            return isLastOf(2);
        case OperationType::LOCAL_RESPONSE_NORMALIZATION:
            return isLastOf(6);
        case OperationType::PACK:
            return count > 2 && input != 0;
        default:
            return false;
    }
}

bool mayGainInput(const Operation& operation, HalVersion version) {
    if (version < HalVersion::V1_2) {
        return false;
    }
    const size_t count = operation.inputs.size();
    switch (operation.type) {
        case OperationType::L2_NORMALIZATION:
            return count == 1;
        case OperationType::LOCAL_RESPONSE_NORMALIZATION:
            return count == 5;
        case OperationType::SOFTMAX:
            return count == 2;
        case OperationType::RESIZE_BILINEAR:
        case OperationType::RESIZE_NEAREST_NEIGHBOR:
            return version >= HalVersion::V1_3 && count < 6;
        default:
            return false;
    }
}

}  // namespace halyard::vts
