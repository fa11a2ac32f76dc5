// SPDX-License-Identifier: Apache-2.0
//
// CAST.

#include "driver/ops/families.h"
#include "driver/ops/lowering.h"

namespace halyard::driver {
namespace {

using enum HalVersion;
using enum OperandType;

constexpr Column kFrom{0};
constexpr Column kTo{1};

std::vector<TypeRow> rows() {
    std::vector<TypeRow> rows;
    for (const OperandType from :
         {TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_INT32, TENSOR_QUANT8_ASYMM}) {
        for (const OperandType to :
             {TENSOR_FLOAT32, TENSOR_FLOAT16, TENSOR_INT32, TENSOR_QUANT8_ASYMM}) {
            rows.push_back({V1_2, {from, to}});
        }
    }
    // Any other type can only be cast to itself.
    for (const OperandType same : {TENSOR_BOOL8, TENSOR_QUANT16_ASYMM, TENSOR_QUANT16_SYMM,
                                   TENSOR_QUANT8_ASYMM_SIGNED, TENSOR_QUANT8_SYMM}) {
        rows.push_back({V1_3, {same, same}});
    }
    return rows;
}

Status lower(Lowering& lowering) {
    return lowering.addNodeOf(engine::Cast{}, {"input"});
}

}  // namespace

std::vector<OperationDefinition> castingOperations() {
    return {{.type = OperationType::CAST,
             .forms = {{V1_2, {tensor("input", kFrom)}, {tensor("output", kTo)}}},
             .rows = rows(),
             .lower = lower}};
}

}  // namespace halyard::driver
