// SPDX-License-Identifier: Apache-2.0
//
// QUANTIZE, DEQUANTIZE.

#include "driver/ops/families.h"
#include "driver/ops/lowering.h"
#include "driver/ops/rules.h"

namespace halyard::driver {
namespace {

using enum HalVersion;
using enum OperandType;

constexpr Column kFrom{0};
constexpr Column kTo{1};

std::vector<Form> formsSince(HalVersion since) {
    return {{since, {tensor("input", kFrom)}, {tensor("output", kTo)}}};
}

// QUANTIZE takes any rank.
Status validateDequantize(const OperationView& view) {
    return requireRankAtMost(view.input("input"), 4);
}

template <typename Descriptor>
Status lower(Lowering& lowering) {
    return lowering.addNodeOf(Descriptor{}, {"input"});
}

}  // namespace

std::vector<OperationDefinition> quantizationOperations() {
    return {
            {.type = OperationType::QUANTIZE,
             .forms = formsSince(V1_2),
             .rows = {{V1_2, {TENSOR_FLOAT32, TENSOR_QUANT8_ASYMM}},
                      {V1_2, {TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM}},
                      {V1_3, {TENSOR_FLOAT32, TENSOR_QUANT8_ASYMM_SIGNED}},
                      {V1_3, {TENSOR_FLOAT16, TENSOR_QUANT8_ASYMM_SIGNED}}},
             .lower = lower<engine::Quantize>},
            {.type = OperationType::DEQUANTIZE,
             .forms = formsSince(V1_0),
             .rows = {{V1_0, {TENSOR_QUANT8_ASYMM, TENSOR_FLOAT32}},
                      {V1_2, {TENSOR_QUANT8_ASYMM, TENSOR_FLOAT16}},
                      {V1_2, {TENSOR_QUANT8_SYMM, TENSOR_FLOAT32}},
                      {V1_2, {TENSOR_QUANT8_SYMM, TENSOR_FLOAT16}},
                      {V1_2, {TENSOR_QUANT8_SYMM_PER_CHANNEL, TENSOR_FLOAT32}},
                      {V1_2, {TENSOR_QUANT8_SYMM_PER_CHANNEL, TENSOR_FLOAT16}},
                      {V1_3, {TENSOR_QUANT8_ASYMM_SIGNED, TENSOR_FLOAT32}},
                      {V1_3, {TENSOR_QUANT8_ASYMM_SIGNED, TENSOR_FLOAT16}}},
             .validate = validateDequantize,
             .lower = lower<engine::Dequantize>},
    };
}

}  // namespace halyard::driver
