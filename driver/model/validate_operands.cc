// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "driver/model/extensions.h"
#include "driver/model/validate.h"
#include "engine/base/checked_math.h"

namespace halyard::driver {
namespace {

bool isConstant(const Operand& operand) {
    return operand.lifetime == OperandLifeTime::CONSTANT_COPY ||
           operand.lifetime == OperandLifeTime::CONSTANT_REFERENCE;
}

bool isExtension(const Operand& operand) {
    return extensionPrefix(operand.type).has_value();
}

bool isOem(const Operand& operand) {
    return operand.type == OperandType::OEM || operand.type == OperandType::TENSOR_OEM_BYTE;
}

Status validateType(const Model& model, const Operand& operand, HalVersion version) {
    if (const std::optional<uint16_t> prefix = extensionPrefix(operand.type)) {
        const bool declared = std::ranges::any_of(
                model.extensionNameToPrefix,
                [&](const ExtensionNameAndPrefix& entry) { return entry.prefix == *prefix; });
        if (!declared) {
            return invalidArgument("extension prefix " + std::to_string(*prefix) +
                                   " is not declared by the model");
        }
        return {};
    }
    const OperandTypeInfo* info = findOperandType(operand.type);
    if (info == nullptr || !info->isIn(version)) {
        return invalidArgument("the type is unknown to HAL " + std::string(toString(version)));
    }
    return {};
}

Status validateDimensions(const Model& model, const Operand& operand, HalVersion version) {
    const OperandTypeInfo* info = findOperandType(model, operand.type);
    if (info == nullptr) {
        return {};  // only those who know the extension know whether it is a tensor
    }
    const std::vector<uint32_t>& dimensions = operand.dimensions;
    if (!info->isTensor()) {
        // AOSP holds OEM scalars to the same rule.
        return dimensions.empty() ? Status() : invalidArgument("a scalar has no dimensions");
    }
    if (dimensions.empty() && (version < HalVersion::V1_2 || isConstant(operand))) {
        return invalidArgument(isConstant(operand)
                                       ? "a constant tensor has a known rank"
                                       : "tensors of unknown rank exist only from HAL 1.2");
    }
    if (isConstant(operand) && std::ranges::find(dimensions, 0U) != dimensions.end()) {
        return invalidArgument("a constant has no unspecified dimension");
    }
    return {};
}

bool validScale(float scale) {
    return std::isfinite(scale) && scale > 0.0F;
}

Status validateQuantization(const Operand& operand) {
    if (isOem(operand)) {
        return {};
    }
    const float scale = operand.scale;
    int32_t lowest = 0;
    int32_t highest = 0;
    switch (operand.type) {
        case OperandType::TENSOR_INT32:
            if (!std::isfinite(scale) || scale < 0.0F) {
                return invalidArgument("the scale of a TENSOR_INT32 is not negative");
            }
            break;
        case OperandType::TENSOR_QUANT8_ASYMM:
        case OperandType::TENSOR_QUANT8_ASYMM_SIGNED:
        case OperandType::TENSOR_QUANT8_SYMM:
        case OperandType::TENSOR_QUANT16_ASYMM:
        case OperandType::TENSOR_QUANT16_SYMM:
            if (!validScale(scale)) {
                return invalidArgument("the scale of a quantised tensor is positive");
            }
            break;
        default:
            if (scale != 0.0F) {
                return invalidArgument("the scale is 0 unless the type is quantised");
            }
    }
    if (operand.type == OperandType::TENSOR_QUANT8_ASYMM) {
        highest = std::numeric_limits<uint8_t>::max();
    } else if (operand.type == OperandType::TENSOR_QUANT8_ASYMM_SIGNED) {
        lowest = -128;
        highest = 127;
    } else if (operand.type == OperandType::TENSOR_QUANT16_ASYMM) {
        highest = std::numeric_limits<uint16_t>::max();
    }
    if (operand.zeroPoint < lowest || operand.zeroPoint > highest) {
        return invalidArgument("zero point " + std::to_string(operand.zeroPoint) + " is outside " +
                               std::to_string(lowest) + ".." + std::to_string(highest));
    }
    return {};
}

Status validateChannelQuantization(const Operand& operand) {
    const auto* parameters = std::get_if<SymmPerChannelQuantParams>(&operand.extraParams);
    if (parameters == nullptr) {
        return invalidArgument("a per-channel tensor has channelQuant parameters");
    }
    if (parameters->channelDim >= operand.dimensions.size()) {
        return invalidArgument("channelDim " + std::to_string(parameters->channelDim) +
                               " is not below the rank");
    }
    const uint32_t channels = operand.dimensions[parameters->channelDim];
    if (channels == 0 || parameters->scales.size() != channels) {
        return invalidArgument(std::to_string(parameters->scales.size()) +
                               " channel scales for a dimension of " + std::to_string(channels));
    }
    if (!std::ranges::all_of(parameters->scales, validScale)) {
        return invalidArgument("a channel scale is not positive");
    }
    return {};
}

Status validateExtraParams(const Operand& operand) {
    if (operand.type == OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL) {
        return validateChannelQuantization(operand);
    }
    if (std::holds_alternative<std::monostate>(operand.extraParams)) {
        return {};
    }
    if (isExtension(operand) && std::holds_alternative<std::vector<uint8_t>>(operand.extraParams)) {
        return {};
    }
    return invalidArgument("the type takes no such extra parameters");
}

// Bytes of the operand with unspecified dimensions counted as 1; nothing past 32 bits, more than
// which no version lets an operand have.
std::optional<uint32_t> byteSize(const Operand& operand, const OperandTypeInfo& info) {
    std::optional<uint32_t> size = static_cast<uint32_t>(info.elementSize);
    for (const uint32_t dimension : operand.dimensions) {
        size = checkedMultiply(*size, dimension == 0 ? 1U : dimension);
        if (!size.has_value()) {
            return std::nullopt;
        }
    }
    return size;
}

Status validateSize(const Model& model, const Operand& operand) {
    const OperandTypeInfo* info = findOperandType(model, operand.type);
    if (info == nullptr || isOem(operand)) {
        return {};
    }
    const std::optional<uint32_t> size = byteSize(operand, *info);
    if (!size.has_value()) {
        return invalidArgument("the dimensions multiply to more bytes than 32 bits count");
    }
    if (isConstant(operand) && operand.location.length != *size) {
        return invalidArgument("a constant of " + std::to_string(*size) + " bytes has " +
                               std::to_string(operand.location.length));
    }
    return {};
}

Status validateLocation(const Model& model, const Operand& operand, HalVersion version) {
    const DataLocation& location = operand.location;
    if (location.padding != 0) {
        return invalidArgument("there is padding in a request alone");
    }
    switch (operand.lifetime) {
        case OperandLifeTime::CONSTANT_COPY:
            if (location.poolIndex != 0) {
                return invalidArgument("a CONSTANT_COPY has poolIndex 0");
            }
            if (!fits(location, model.operandValues->size())) {
                return invalidArgument("the constant lies outside operandValues");
            }
            return {};
        case OperandLifeTime::CONSTANT_REFERENCE:
            if (location.poolIndex >= model.pools.size()) {
                return invalidArgument("there is no pool " + std::to_string(location.poolIndex));
            }
            if (!fits(location, model.pools[location.poolIndex]->size())) {
                return invalidArgument("the constant lies outside pool " +
                                       std::to_string(location.poolIndex));
            }
            return {};
        case OperandLifeTime::TEMPORARY_VARIABLE:
        case OperandLifeTime::SUBGRAPH_INPUT:
        case OperandLifeTime::SUBGRAPH_OUTPUT:
        case OperandLifeTime::NO_VALUE:
            if (location != DataLocation()) {
                return invalidArgument("an operand that is not a constant has location 0, 0, 0");
            }
            return {};
        case OperandLifeTime::SUBGRAPH:
            if (version < HalVersion::V1_3) {
                break;
            }
            if (location.poolIndex != 0 || location.length != 0) {
                return invalidArgument("a subgraph operand has poolIndex 0 and length 0");
            }
            if (location.offset >= model.referenced.size()) {
                return invalidArgument("there is no subgraph " + std::to_string(location.offset));
            }
            return {};
    }
    return invalidArgument("lifetime " + std::to_string(static_cast<int32_t>(operand.lifetime)) +
                           " is unknown to HAL " + std::string(toString(version)));
}

Status validateOperand(const Model& model, const Operand& operand, HalVersion version) {
    HALYARD_RETURN_IF_ERROR(validateType(model, operand, version));
    HALYARD_RETURN_IF_ERROR(validateDimensions(model, operand, version));
    HALYARD_RETURN_IF_ERROR(validateQuantization(operand));
    HALYARD_RETURN_IF_ERROR(validateExtraParams(operand));
    if ((operand.lifetime == OperandLifeTime::SUBGRAPH) !=
        (operand.type == OperandType::SUBGRAPH)) {
        return invalidArgument("lifetime SUBGRAPH and type SUBGRAPH go together");
    }
    HALYARD_RETURN_IF_ERROR(validateLocation(model, operand, version));
    return validateSize(model, operand);
}

}  // namespace

Status validateOperands(const Model& model, const Subgraph& subgraph, HalVersion version,
                        Verdicts* verdicts) {
    Status first;
    std::map<uint32_t, Status> failures;
    for (uint32_t i = 0; i < subgraph.operands.size(); ++i) {
        const Operand& operand = subgraph.operands[i];
        Status valid = validateOperand(model, operand, version);
        if (valid.ok()) {
            continue;
        }
        valid = breaking(Rule::INVALID_OPERAND, valid)
                        .withContext("operand " + std::to_string(i) + " (" +
                                     describe(model, operand.type) + ")");
        if (verdicts == nullptr) {
            return valid;
        }
        first = first.ok() ? valid : first;
        failures.emplace(i, std::move(valid));
    }
    if (!first.ok()) {
        verdicts->addToUsers(failures);
    }
    return first;
}

}  // namespace halyard::driver
