// SPDX-License-Identifier: Apache-2.0

#include "driver/ops/rules.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <variant>

#include "driver/model/verdicts.h"

namespace halyard::driver {

namespace {

// 0: not known, or none.
size_t rankOf(const OperandView& view) {
    return view.omitted() ? 0 : view.operand->dimensions.size();
}

}  // namespace

bool isAsymmetric8Bit(OperandType type) {
    return type == OperandType::TENSOR_QUANT8_ASYMM ||
           type == OperandType::TENSOR_QUANT8_ASYMM_SIGNED;
}

Status requireRank(const OperandView& view, size_t rank) {
    const size_t actual = rankOf(view);
    if (actual != 0 && actual != rank) {
        return breaking(Rule::OPERAND_RANK,
                        invalidArgument(view.name() + " has rank " + std::to_string(actual) +
                                        ", not " + std::to_string(rank)));
    }
    return {};
}

Status requireRankAtMost(const OperandView& view, size_t rank) {
    const size_t actual = rankOf(view);
    if (actual > rank) {
        return breaking(Rule::OPERAND_RANK,
                        invalidArgument(view.name() + " has rank " + std::to_string(actual) +
                                        ", above " + std::to_string(rank)));
    }
    return {};
}

Status requireSameQuantization(const OperandView& a, const OperandView& b) {
    if (!a.omitted() && !b.omitted() && isAsymmetric8Bit(a.operand->type) &&
        (a.operand->scale != b.operand->scale || a.operand->zeroPoint != b.operand->zeroPoint)) {
        return breaking(
                Rule::QUANTIZATION,
                invalidArgument(b.name() + " must have the scale and zero point of " + a.name()));
    }
    return {};
}

Status requireQuantization(const OperandView& view, float scale, int32_t zeroPoint) {
    if (view.operand->scale != scale || view.operand->zeroPoint != zeroPoint) {
        return breaking(Rule::QUANTIZATION,
                        invalidArgument(view.name() + " must have scale 1/" +
                                        std::to_string(std::lround(1.0F / scale)) +
                                        " and zero point " + std::to_string(zeroPoint)));
    }
    return {};
}

Status requireProbabilityQuantization(const OperandView& view) {
    const OperandType type = view.operand->type;
    if (!isAsymmetric8Bit(type)) {
        return {};
    }
    const int32_t lowest = type == OperandType::TENSOR_QUANT8_ASYMM ? 0 : -128;
    return requireQuantization(view, 1.0F / 256.0F, lowest);
}

Status requireBiasScale(const OperandView& input, const OperandView& filter,
                        const OperandView& bias) {
    if (bias.omitted() || bias.operand->type != OperandType::TENSOR_INT32 ||
        filter.operand->type == OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL) {
        return {};
    }
    constexpr double kTolerance = 1e-6;
    const double product = static_cast<double>(input.operand->scale) * filter.operand->scale;
    const double scale = bias.operand->scale;
    if (std::abs(product - scale) > kTolerance * std::min(product, scale)) {
        return breaking(
                Rule::QUANTIZATION,
                invalidArgument("the scale of " + bias.name() + " is not the product of those of " +
                                input.name() + " and " + filter.name()));
    }
    return {};
}

Status requireCoarserOutput(const OperationView& view, const OperandView& input,
                            const OperandView& filter, const OperandView& output) {
    if (view.version() >= HalVersion::V1_2 ||
        input.operand->type != OperandType::TENSOR_QUANT8_ASYMM) {
        return {};
    }
    if (output.operand->scale > input.operand->scale * filter.operand->scale) {
        return {};
    }
    return breaking(Rule::QUANTIZATION,
                    invalidArgument("before HAL 1.2 the scale of " + output.name() +
                                    " is above the product of those of " + input.name() + " and " +
                                    filter.name()));
}

Status requireZeroPointZero(const OperationView& view, const OperandView& input) {
    if (view.version() < HalVersion::V1_2 && input.operand->zeroPoint != 0) {
        return breaking(Rule::QUANTIZATION, invalidArgument("before HAL 1.2 the zero point of " +
                                                            input.name() + " is 0"));
    }
    return {};
}

Status requireChannelDim(const OperandView& filter, uint32_t channelDim) {
    const auto* parameters = std::get_if<SymmPerChannelQuantParams>(&filter.operand->extraParams);
    if (parameters != nullptr && parameters->channelDim != channelDim) {
        return breaking(Rule::QUANTIZATION, invalidArgument(filter.name() + " has channelDim " +
                                                            std::to_string(parameters->channelDim) +
                                                            ", not " + std::to_string(channelDim)));
    }
    return {};
}

}  // namespace halyard::driver
