// SPDX-License-Identifier: Apache-2.0
//
// QUANTIZE, DEQUANTIZE.

#include <algorithm>
#include <array>

#include "driver/ops/families.h"
#include "driver/ops/lowering.h"
#include "driver/ops/rules.h"

namespace halyard::driver {
namespace {

constexpr size_t kInput = 0;

struct VersionedType {
    OperandType type;
    HalVersion since;
};

constexpr std::array kRealTypes = {
        VersionedType{OperandType::TENSOR_FLOAT32, HalVersion::V1_0},
        VersionedType{OperandType::TENSOR_FLOAT16, HalVersion::V1_2},
};

std::vector<Signature> quantizeSignatures() {
    constexpr std::array kQuantizedTypes = {
            VersionedType{OperandType::TENSOR_QUANT8_ASYMM, HalVersion::V1_2},
            VersionedType{OperandType::TENSOR_QUANT8_ASYMM_SIGNED, HalVersion::V1_3},
    };
    std::vector<Signature> forms;
    for (const VersionedType& real : kRealTypes) {
        for (const VersionedType& quantized : kQuantizedTypes) {
            forms.push_back({.since = std::max(real.since, quantized.since),
                             .inputs = {real.type},
                             .outputs = {quantized.type}});
        }
    }
    return forms;
}

std::vector<Signature> dequantizeSignatures() {
    constexpr std::array kQuantizedTypes = {
            VersionedType{OperandType::TENSOR_QUANT8_ASYMM, HalVersion::V1_0},
            VersionedType{OperandType::TENSOR_QUANT8_SYMM, HalVersion::V1_2},
            VersionedType{OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL, HalVersion::V1_2},
            VersionedType{OperandType::TENSOR_QUANT8_ASYMM_SIGNED, HalVersion::V1_3},
    };
    std::vector<Signature> forms;
    for (const VersionedType& quantized : kQuantizedTypes) {
        for (const VersionedType& real : kRealTypes) {
            forms.push_back({.since = std::max(real.since, quantized.since),
                             .inputs = {quantized.type},
                             .outputs = {real.type}});
        }
    }
    return forms;
}

Status validate(const OperationView& view) {
    return requireRankAtMost(view.inputs[kInput], 4);
}

template <typename Descriptor>
Status lower(Lowering& lowering) {
    return lowering.addUnaryNode(Descriptor{});
}

}  // namespace

std::vector<OperationDefinition> quantizationOperations() {
    return {
            {.type = OperationType::QUANTIZE,
             .signatures = quantizeSignatures(),
             .validate = validate,
             .lower = lower<engine::Quantize>},
            {.type = OperationType::DEQUANTIZE,
             .signatures = dequantizeSignatures(),
             .validate = validate,
             .lower = lower<engine::Dequantize>},
    };
}

}  // namespace halyard::driver
