// SPDX-License-Identifier: Apache-2.0
//
// HASHTABLE_LOOKUP, LSH_PROJECTION.

#include <string>

#include "driver/ops/families.h"
#include "driver/ops/lowering.h"
#include "driver/ops/rules.h"

namespace halyard::driver {
namespace {

using enum HalVersion;
using enum OperandType;

Status validateHashtableLookup(const OperationView& view) {
    HALYARD_RETURN_IF_ERROR(requireRank(view.input("lookups"), 1));
    HALYARD_RETURN_IF_ERROR(requireRank(view.input("keys"), 1));
    HALYARD_RETURN_IF_ERROR(requireQuantization(view.output("hits"), 1.0F, 0));
    return requireSameQuantization(view.input("values"), view.output("output"));
}

Status lowerHashtableLookup(Lowering& lowering) {
    return lowering.addNodeOf(engine::HashtableLookup{}, {"lookups", "keys", "values"},
                              {"output", "hits"});
}

constexpr Column kHash{0};
constexpr Column kHashed{1};

Status validateLshProjection(const OperationView& view) {
    HALYARD_RETURN_IF_ERROR(requireRank(view.input("hash"), 2));
    return requireRank(view.input("weight"), 1);
}

Status lowerLshProjection(Lowering& lowering) {
    using Type = engine::LshProjection::Type;
    engine::LshProjection node;
    HALYARD_ASSIGN_OR_RETURN(const int32_t type, lowering.int32("type"));
    switch (type) {
        case 1:
            node.type = Type::SPARSE_DEPRECATED;
            break;
        case 2:
            node.type = Type::DENSE;
            break;
        case 3:
            node.type = Type::SPARSE;
            break;
        default:
            return invalidArgument(lowering.view().input("type").name() + " is " +
                                   std::to_string(type) + ", not 1..3");
    }
    return lowering.addNodeOf(node, {"hash", "input", "weight"});
}

std::vector<TypeRow> lshTypes() {
    std::vector<TypeRow> rows;
    for (const OperandType hash : {TENSOR_FLOAT32, TENSOR_FLOAT16}) {
        for (const OperandType hashed :
             {TENSOR_FLOAT32, TENSOR_INT32, TENSOR_QUANT8_ASYMM, TENSOR_FLOAT16}) {
            const bool halves = hash == TENSOR_FLOAT16 || hashed == TENSOR_FLOAT16;
            rows.push_back({halves ? V1_2 : V1_0, {hash, hashed}});
        }
    }
    return rows;
}

}  // namespace

std::vector<OperationDefinition> lookupOperations() {
    return {
            {.type = OperationType::HASHTABLE_LOOKUP,
             .forms = {{V1_0,
                        {int32Tensor("lookups"), int32Tensor("keys"), tensor("values", kTensor)},
                        {tensor("output", kTensor), tensor("hits", TENSOR_QUANT8_ASYMM)}}},
             .rows = {{V1_0, {TENSOR_FLOAT32}},
                      {V1_0, {TENSOR_INT32}},
                      {V1_0, {TENSOR_QUANT8_ASYMM}}},
             .validate = validateHashtableLookup,
             .lower = lowerHashtableLookup},
            {.type = OperationType::LSH_PROJECTION,
             .forms = {{V1_0,
                        {tensor("hash", kHash), tensor("input", kHashed),
                         tensor("weight", kHash).orOmitted(), int32("type")},
                        {int32Tensor("output")}}},
             .rows = lshTypes(),
             .validate = validateLshProjection,
             .lower = lowerLshProjection},
    };
}

}  // namespace halyard::driver
