// SPDX-License-Identifier: Apache-2.0

#include "nnapi/operand_size.h"

#include <algorithm>
#include <string>

#include "driver/model/validate.h"
#include "engine/base/checked_math.h"

namespace halyard::nnapi {
namespace {

using driver::OperandType;

// An operand of the type alone, so that the driver's rules tell what is wrong with it.
Status checkAlone(driver::Operand operand, driver::HalVersion level) {
    driver::Model model;
    if (const std::optional<uint16_t> prefix = driver::extensionPrefix(operand.type)) {
        model.extensionNameToPrefix.push_back({.name = "", .prefix = *prefix});
    }
    // Its scales come later; but for these it is as a tensor without quantisation.
    if (operand.type == OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL) {
        operand.type = OperandType::TENSOR_BOOL8;
    }
    if (operand.type == OperandType::SUBGRAPH) {
        return operand.dimensions.empty() && operand.scale == 0.0F && operand.zeroPoint == 0
                       ? Status()
                       : invalidArgument("a model has no dimensions and no quantisation");
    }
    model.main.operands.push_back(std::move(operand));
    return validateOperands(model, model.main, level);
}

}  // namespace

Answer readOperandType(const ANeuralNetworksOperandType& type, const ExtensionPrefixes& prefixes,
                       driver::HalVersion level, driver::Operand& operand) {
    if ((type.dimensions == nullptr) != (type.dimensionCount == 0)) {
        return badData(type.dimensions == nullptr
                               ? std::to_string(type.dimensionCount) + " dimensions are null"
                               : "there are dimensions, and their count is 0");
    }
    operand = {};
    operand.type = static_cast<OperandType>(type.type);
    operand.dimensions.assign(type.dimensions, type.dimensions + type.dimensionCount);
    operand.scale = type.scale;
    operand.zeroPoint = type.zeroPoint;
    if (driver::extensionPrefix(operand.type).has_value() &&
        prefixes.findOperandType(type.type) == nullptr) {
        return badData("no extension has operand type " + std::to_string(type.type));
    }
    return answerOf(checkAlone(operand, level));
}

bool isTensor(const driver::Operand& operand, const ExtensionPrefixes& prefixes) {
    if (const auto* const extension =
                prefixes.findOperandType(static_cast<int32_t>(operand.type))) {
        return extension->isTensor;
    }
    const driver::OperandTypeInfo* const info = driver::findOperandType(operand.type);
    return info != nullptr && info->isTensor();
}

bool isFullySpecified(std::span<const uint32_t> dimensions, bool isTensor) {
    return !isTensor ||
           (!dimensions.empty() && std::ranges::find(dimensions, 0U) == dimensions.end());
}

std::optional<uint64_t> byteSizeOf(const driver::Operand& operand,
                                   std::span<const uint32_t> dimensions,
                                   const ExtensionPrefixes& prefixes) {
    if (!isFullySpecified(dimensions, isTensor(operand, prefixes))) {
        return std::nullopt;
    }
    uint32_t elementBytes = 0;
    if (const auto* const extension =
                prefixes.findOperandType(static_cast<int32_t>(operand.type))) {
        elementBytes = extension->byteSize;
    } else if (const auto* const info = driver::findOperandType(operand.type)) {
        elementBytes = static_cast<uint32_t>(info->elementSize);
    }
    std::optional<uint32_t> size = elementBytes;
    for (const uint32_t dimension : dimensions) {
        size = size.has_value() ? checkedMultiply(*size, dimension) : std::nullopt;
    }
    return size;
}

std::optional<std::vector<uint32_t>> mergedDimensions(std::span<const uint32_t> a,
                                                      std::span<const uint32_t> b) {
    if (a.empty() || b.empty()) {
        const std::span<const uint32_t> known = a.empty() ? b : a;
        return std::vector<uint32_t>(known.begin(), known.end());
    }
    if (a.size() != b.size()) {
        return std::nullopt;
    }
    std::vector<uint32_t> both;
    for (size_t i = 0; i < a.size(); ++i) {
        if (a[i] != 0 && b[i] != 0 && a[i] != b[i]) {
            return std::nullopt;
        }
        both.push_back(std::max(a[i], b[i]));
    }
    return both;
}

bool haveOneType(const driver::Operand& a, const driver::Operand& b) {
    const auto* const channelsOfA = std::get_if<driver::SymmPerChannelQuantParams>(&a.extraParams);
    const auto* const channelsOfB = std::get_if<driver::SymmPerChannelQuantParams>(&b.extraParams);
    const bool haveOneQuantization =
            channelsOfA == nullptr || channelsOfB == nullptr
                    ? channelsOfA == channelsOfB
                    : channelsOfA->scales == channelsOfB->scales &&
                              channelsOfA->channelDim == channelsOfB->channelDim;
    return a.type == b.type && a.scale == b.scale && a.zeroPoint == b.zeroPoint &&
           haveOneQuantization;
}

}  // namespace halyard::nnapi
