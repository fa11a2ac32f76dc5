// SPDX-License-Identifier: Apache-2.0
//
// Rows that are found by number or by key, and projections by hashing.

#include <cstdint>
#include <string>

#include "importers/tflite/operators/handlers.h"
#include "importers/tflite/operators/real_numbers.h"

namespace halyard::tflite {
namespace {

// LSH_PROJECTION's types.
constexpr int32_t kSparse = 1;
constexpr int32_t kDense = 2;

// Quantised rows of a float result, which TFLite multiplies by their scale alone.
Status mapHybridLookup(Mapper& mapper, int32_t table, TensorId lookups) {
    const Tensor& rows = mapper.tensor(table);
    if (rows.type != ElementType::INT8 && rows.type != ElementType::INT4) {
        return unsupported("its table is " + toString(rows.type) + ", and its result FLOAT32");
    }
    if (rows.quantization.scales.size() > 1) {
        HALYARD_ASSIGN_OR_RETURN(const TensorId real, mapper.readWidened(table));
        return mapper.emit(engine::Gather{.axis = 0}, {real, lookups});
    }
    HALYARD_ASSIGN_OR_RETURN(const TensorId x, mapper.read(table));
    if (mapper.typeOf(x).quantization.zeroPoint != 0) {
        return unsupported("its table has a zero point, which TFLite does not look at");
    }
    HALYARD_ASSIGN_OR_RETURN(
            const TensorId found,
            mapper.emitInner(engine::Gather{.axis = 0}, {x, lookups}, mapper.typeOf(x)));
    return mapper.emit(engine::Dequantize{}, {found});
}

}  // namespace

Status mapEmbeddingLookup(Mapper& mapper) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(2, 2));
    HALYARD_ASSIGN_OR_RETURN(const TensorId lookups, mapper.readInput(0));
    HALYARD_ASSIGN_OR_RETURN(const int32_t table, mapper.input(1));
    HALYARD_ASSIGN_OR_RETURN(const int32_t output, mapper.output());
    if (mapper.typeOf(lookups).shape.hasKnownRank() && mapper.typeOf(lookups).shape.rank() != 1) {
        return unsupported("its numbers of rows are no list");
    }
    if (mapper.tensor(output).type == ElementType::FLOAT32 &&
        mapper.tensor(table).type != ElementType::FLOAT32) {
        return mapHybridLookup(mapper, table, lookups);
    }
    HALYARD_ASSIGN_OR_RETURN(const TensorId x, mapper.read(table));
    return mapper.emit(engine::Gather{.axis = 0}, {x, lookups});
}

Status mapHashtableLookup(Mapper& mapper) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(3, 3));
    HALYARD_RETURN_IF_ERROR(mapper.checkOutputCount(2, 2));
    HALYARD_ASSIGN_OR_RETURN(const TensorId lookups, mapper.readInput(0));
    HALYARD_ASSIGN_OR_RETURN(const TensorId keys, mapper.readInput(1));
    HALYARD_ASSIGN_OR_RETURN(const TensorId values, mapper.readInput(2));
    return mapper.emit(engine::HashtableLookup{}, {lookups, keys, values});
}

// TFLite's sparse one adds where a function's numbers begin, which NNAPI's first one does not.
Status mapLshProjection(Mapper& mapper) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(2, 3));
    HALYARD_ASSIGN_OR_RETURN(const TensorId hash, mapper.readInput(0));
    HALYARD_ASSIGN_OR_RETURN(const TensorId x, mapper.readInput(1));
    HALYARD_ASSIGN_OR_RETURN(const TensorId weight, mapper.readOptional(2));
    engine::LshProjection node;
    switch (const int32_t type = mapper.integer(LshProjectionOptions::kType)) {
        case kSparse:
            node.type = engine::LshProjection::Type::SPARSE;
            break;
        case kDense:
            node.type = engine::LshProjection::Type::DENSE;
            break;
        default:
            return unsupported("its type is " + std::to_string(type));
    }
    return mapper.emit(node, {hash, x, weight});
}

}  // namespace halyard::tflite
