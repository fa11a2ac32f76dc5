// SPDX-License-Identifier: Apache-2.0
//
// Operators that compute each element from those at its place, and changes of type.

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "engine/graph/shape_inference.h"
#include "importers/tflite/operators/handlers.h"
#include "importers/tflite/operators/real_numbers.h"

namespace halyard::tflite {
namespace {

using engine::Binary;
using engine::Compare;
using engine::DataType;
using engine::TensorType;
using engine::Unary;

struct Pair {
    TensorId a;
    TensorId b;
};

Result<Pair> readPair(Mapper& mapper) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(2, 2));
    HALYARD_ASSIGN_OR_RETURN(const TensorId a, mapper.readInput(0));
    HALYARD_ASSIGN_OR_RETURN(const TensorId b, mapper.readInput(1));
    return Pair{.a = a, .b = b};
}

// Limits of whole numbers, for which no activation is fused.
struct Limits {
    int32_t low;
    std::optional<int32_t> high;
};

std::optional<Limits> limitsOf(engine::Activation activation) {
    switch (activation) {
        case engine::Activation::RELU:
            return Limits{.low = 0, .high = std::nullopt};
        case engine::Activation::RELU1:
            return Limits{.low = -1, .high = 1};
        case engine::Activation::RELU6:
            return Limits{.low = 0, .high = 6};
        default:
            return std::nullopt;
    }
}

Result<TensorId> emitInt32(Mapper& mapper, Binary::Function function, TensorId a, TensorId b) {
    return mapper.emitInner(Binary{.function = function}, {a, b}, mapper.typeOf(a));
}

Status emitClamped(Mapper& mapper, Binary::Function function, const Pair& pair,
                   const Limits& limits) {
    HALYARD_ASSIGN_OR_RETURN(const TensorId found, emitInt32(mapper, function, pair.a, pair.b));
    const TensorType type = mapper.typeOf(found);
    HALYARD_ASSIGN_OR_RETURN(const TensorId low, mapper.scalar(type, limits.low));
    if (!limits.high.has_value()) {
        return mapper.emit(Binary{.function = Binary::Function::MAXIMUM}, {found, low});
    }
    HALYARD_ASSIGN_OR_RETURN(const TensorId raised,
                             emitInt32(mapper, Binary::Function::MAXIMUM, found, low));
    HALYARD_ASSIGN_OR_RETURN(const TensorId high, mapper.scalar(type, *limits.high));
    return mapper.emit(Binary{.function = Binary::Function::MINIMUM}, {raised, high});
}

// Arithmetic with an activation, at this place of the options.
Status mapArithmetic(Mapper& mapper, Binary::Function function, size_t option) {
    HALYARD_ASSIGN_OR_RETURN(const Pair pair, readPair(mapper));
    if (mapper.typeOf(pair.a).type == DataType::INT32) {
        HALYARD_ASSIGN_OR_RETURN(const engine::Activation activation, mapper.activation(option));
        if (const std::optional<Limits> limits = limitsOf(activation)) {
            return emitClamped(mapper, function, pair, *limits);
        }
        return mapper.emit(Binary{.function = function}, {pair.a, pair.b});
    }
    return mapper.emitActivated(Binary{.function = function}, {pair.a, pair.b}, option);
}

Status mapBinary(Mapper& mapper, Binary::Function function) {
    HALYARD_ASSIGN_OR_RETURN(const Pair pair, readPair(mapper));
    return mapper.emit(Binary{.function = function}, {pair.a, pair.b});
}

Status mapCompare(Mapper& mapper, Compare::Function function) {
    HALYARD_ASSIGN_OR_RETURN(const Pair pair, readPair(mapper));
    return mapper.emit(Compare{.function = function}, {pair.a, pair.b});
}

// Of real numbers: 8 bits take a step on either side.
Status mapReal(Mapper& mapper, Unary::Function function) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(1, 1));
    HALYARD_ASSIGN_OR_RETURN(const TensorId x, readReal(mapper, 0));
    return emitReal(mapper, Unary{.function = function}, {x});
}

Status mapUnary(Mapper& mapper, Unary::Function function) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(1, 1));
    HALYARD_ASSIGN_OR_RETURN(const TensorId x, mapper.readInput(0));
    return mapper.emit(Unary{.function = function}, {x});
}

// The quotient cut off: the quotient of the sizes, whose sign is put on behind.
Status emitTruncatedDivision(Mapper& mapper, const Pair& pair) {
    const TensorType type = mapper.typeOf(pair.a);
    TensorType truth = type;
    truth.type = DataType::BOOL8;
    HALYARD_ASSIGN_OR_RETURN(const TensorId zero, mapper.scalar(type, 0.0));
    std::array<TensorId, 2> sizes = {};
    std::array<TensorId, 2> signs = {};
    for (size_t i = 0; i < 2; ++i) {
        const TensorId of = i == 0 ? pair.a : pair.b;
        HALYARD_ASSIGN_OR_RETURN(
                sizes[i], mapper.emitInner(Unary{.function = Unary::Function::ABS}, {of}, type));
        HALYARD_ASSIGN_OR_RETURN(
                signs[i],
                mapper.emitInner(Compare{.function = Compare::Function::LESS}, {of, zero}, truth));
    }
    HALYARD_ASSIGN_OR_RETURN(const TensorId size,
                             emitInt32(mapper, Binary::Function::DIV, sizes[0], sizes[1]));
    HALYARD_ASSIGN_OR_RETURN(
            const TensorId negated,
            mapper.emitInner(Unary{.function = Unary::Function::NEG}, {size}, type));
    HALYARD_ASSIGN_OR_RETURN(const TensorId differ,
                             mapper.emitInner(Compare{.function = Compare::Function::NOT_EQUAL},
                                              {signs[0], signs[1]}, truth));
    return mapper.emit(engine::Select{}, {differ, negated, size});
}

// A tensor repeated to the extents of others, element by element.
Result<TensorId> broadcast(Mapper& mapper, TensorId id, const std::vector<int32_t>& extents) {
    HALYARD_ASSIGN_OR_RETURN(std::vector<int32_t> own, mapper.extents(id));
    if (own == extents) {
        return id;
    }
    if (own.size() > extents.size()) {
        return unsupported("its shapes can't be broadcast");
    }
    own.insert(own.begin(), extents.size() - own.size(), 1);
    HALYARD_ASSIGN_OR_RETURN(const TensorId ranked, mapper.reshaped(id, own));
    std::vector<int32_t> times;
    for (size_t i = 0; i < own.size(); ++i) {
        if (own[i] != extents[i] && own[i] != 1) {
            return unsupported("its shapes can't be broadcast");
        }
        times.push_back(own[i] == 1 ? extents[i] : 1);
    }
    const TensorId multiples = mapper.int32Constant(times);
    return mapper.emitInner(engine::Tile{}, {ranked, multiples}, mapper.typeOf(id));
}

Status mapChoice(Mapper& mapper, bool mayBeOfRows) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(3, 3));
    std::array<TensorId, 3> ids = {};
    engine::Shape shape;
    for (size_t i = 0; i < 3; ++i) {
        HALYARD_ASSIGN_OR_RETURN(ids[i], mapper.readInput(i));
    }
    // SELECT, which is older, may have a condition for each row.
    HALYARD_ASSIGN_OR_RETURN(std::vector<int32_t> condition, mapper.extents(ids[0]));
    HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> first, mapper.extents(ids[1]));
    if (mayBeOfRows && condition.size() == 1 && first.size() > 1) {
        condition.insert(condition.end(), first.size() - 1, 1);
        HALYARD_ASSIGN_OR_RETURN(ids[0], mapper.reshaped(ids[0], condition));
    }
    for (const TensorId id : ids) {
        HALYARD_ASSIGN_OR_RETURN(shape, engine::broadcastShapes(shape, mapper.typeOf(id).shape));
    }
    const std::vector<int32_t> extents(shape.extents().begin(), shape.extents().end());
    HALYARD_ASSIGN_OR_RETURN(const int32_t output, mapper.output());
    HALYARD_ASSIGN_OR_RETURN(const TensorType type, mapper.declared(output));
    for (size_t i = 0; i < 3; ++i) {
        if (i > 0 && !(mapper.typeOf(ids[i]).quantization == type.quantization)) {
            return unsupported("what it chooses from has another scale than its output");
        }
        HALYARD_ASSIGN_OR_RETURN(ids[i], broadcast(mapper, ids[i], extents));
    }
    return mapper.emit(engine::Select{}, {ids[0], ids[1], ids[2]});
}

}  // namespace

Status mapAbs(Mapper& mapper) {
    return mapReal(mapper, Unary::Function::ABS);
}

Status mapAdd(Mapper& mapper) {
    // How 16 bits are rounded, which no ADD here has.
    mapper.accept(AddOptions::kPotScaleInt16);
    return mapArithmetic(mapper, Binary::Function::ADD, AddOptions::kFusedActivationFunction);
}

Status mapAddN(Mapper& mapper) {
    HALYARD_ASSIGN_OR_RETURN(TensorId sum, mapper.readInput(0));
    const size_t count = mapper.op().inputs.size();
    if (count == 1) {
        HALYARD_ASSIGN_OR_RETURN(const int32_t output, mapper.output());
        return mapper.alias(output, sum);
    }
    if (hasEightBits(mapper.typeOf(sum))) {
        return unsupported("it adds 8-bit numbers, whose sums on the way have no scale");
    }
    for (size_t i = 1; i < count; ++i) {
        HALYARD_ASSIGN_OR_RETURN(const TensorId next, mapper.readInput(i));
        if (i + 1 == count) {
            return mapper.emit(Binary{}, {sum, next});
        }
        HALYARD_ASSIGN_OR_RETURN(sum, mapper.emitInner(Binary{}, {sum, next}, mapper.typeOf(sum)));
    }
    return {};
}

Status mapCast(Mapper& mapper) {
    // Tensors have their types themselves.
    mapper.accept(CastOptions::kInDataType);
    mapper.accept(CastOptions::kOutDataType);
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(1, 1));
    HALYARD_ASSIGN_OR_RETURN(const int32_t input, mapper.input(0));
    HALYARD_ASSIGN_OR_RETURN(const int32_t output, mapper.output());
    HALYARD_ASSIGN_OR_RETURN(const TensorId x, mapper.read(input));
    const TensorType& from = mapper.typeOf(x);
    // A constant of INT64 is one of INT32 here.
    const bool isNarrowed = mapper.tensor(output).type == ElementType::INT64 &&
                            mapper.isKnown(input) && from.type == DataType::INT32;
    if (isNarrowed) {
        mapper.aliasKnown(output, x);
        return {};
    }
    HALYARD_ASSIGN_OR_RETURN(const TensorType to, mapper.declared(output));
    if (from.type == DataType::BOOL8 && to.type != DataType::BOOL8) {
        TensorType integers = to;
        HALYARD_ASSIGN_OR_RETURN(const TensorId one, mapper.scalar(integers, 1.0));
        HALYARD_ASSIGN_OR_RETURN(const TensorId zero, mapper.scalar(integers, 0.0));
        HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> extents, mapper.extents(x));
        HALYARD_ASSIGN_OR_RETURN(const TensorId ones, broadcast(mapper, one, extents));
        HALYARD_ASSIGN_OR_RETURN(const TensorId zeros, broadcast(mapper, zero, extents));
        return mapper.emit(engine::Select{}, {x, ones, zeros});
    }
    if (to.type == DataType::BOOL8 && from.type != DataType::BOOL8) {
        HALYARD_ASSIGN_OR_RETURN(const TensorId zero, mapper.scalar(from, 0.0));
        return mapper.emit(Compare{.function = Compare::Function::NOT_EQUAL}, {x, zero});
    }
    return mapper.emit(engine::Cast{}, {x});
}

Status mapDequantize(Mapper& mapper) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(1, 1));
    HALYARD_ASSIGN_OR_RETURN(const int32_t input, mapper.input(0));
    HALYARD_ASSIGN_OR_RETURN(const int32_t output, mapper.output());
    if (mapper.tensor(input).isConstant() && mapper.tensor(output).type == ElementType::FLOAT32) {
        HALYARD_ASSIGN_OR_RETURN(const TensorId real, mapper.readWidened(input));
        return mapper.alias(output, real);
    }
    HALYARD_ASSIGN_OR_RETURN(const TensorId x, mapper.read(input));
    if (mapper.typeOf(x).type == DataType::FLOAT16) {
        return mapper.emit(engine::Cast{}, {x});
    }
    return mapper.emit(engine::Dequantize{}, {x});
}

Status mapDiv(Mapper& mapper) {
    HALYARD_ASSIGN_OR_RETURN(const Pair pair, readPair(mapper));
    if (mapper.typeOf(pair.a).type != DataType::INT32) {
        return mapArithmetic(mapper, Binary::Function::DIV, DivOptions::kFusedActivationFunction);
    }
    HALYARD_ASSIGN_OR_RETURN(const engine::Activation activation,
                             mapper.activation(DivOptions::kFusedActivationFunction));
    if (activation != engine::Activation::NONE) {
        return unsupported("it divides whole numbers, with an activation");
    }
    return emitTruncatedDivision(mapper, pair);
}

Status mapEqual(Mapper& mapper) {
    return mapCompare(mapper, Compare::Function::EQUAL);
}

Status mapExp(Mapper& mapper) {
    return mapReal(mapper, Unary::Function::EXP);
}

Status mapFloor(Mapper& mapper) {
    return mapUnary(mapper, Unary::Function::FLOOR);
}

Status mapFloorDiv(Mapper& mapper) {
    HALYARD_ASSIGN_OR_RETURN(const Pair pair, readPair(mapper));
    const TensorType type = mapper.typeOf(pair.a);
    if (type.type == DataType::INT32) {
        return mapper.emit(Binary{.function = Binary::Function::DIV}, {pair.a, pair.b});
    }
    HALYARD_ASSIGN_OR_RETURN(
            const TensorId quotient,
            mapper.emitInner(Binary{.function = Binary::Function::DIV}, {pair.a, pair.b}, type));
    return mapper.emit(Unary{.function = Unary::Function::FLOOR}, {quotient});
}

Status mapGreater(Mapper& mapper) {
    return mapCompare(mapper, Compare::Function::GREATER);
}

Status mapGreaterEqual(Mapper& mapper) {
    return mapCompare(mapper, Compare::Function::GREATER_EQUAL);
}

Status mapLess(Mapper& mapper) {
    return mapCompare(mapper, Compare::Function::LESS);
}

Status mapLessEqual(Mapper& mapper) {
    return mapCompare(mapper, Compare::Function::LESS_EQUAL);
}

Status mapLog(Mapper& mapper) {
    return mapReal(mapper, Unary::Function::LOG);
}

Status mapLogicalAnd(Mapper& mapper) {
    return mapBinary(mapper, Binary::Function::LOGICAL_AND);
}

Status mapLogicalNot(Mapper& mapper) {
    return mapUnary(mapper, Unary::Function::LOGICAL_NOT);
}

Status mapLogicalOr(Mapper& mapper) {
    return mapBinary(mapper, Binary::Function::LOGICAL_OR);
}

Status mapMaximum(Mapper& mapper) {
    return mapBinary(mapper, Binary::Function::MAXIMUM);
}

Status mapMinimum(Mapper& mapper) {
    return mapBinary(mapper, Binary::Function::MINIMUM);
}

Status mapMul(Mapper& mapper) {
    return mapArithmetic(mapper, Binary::Function::MUL, MulOptions::kFusedActivationFunction);
}

Status mapNeg(Mapper& mapper) {
    return mapUnary(mapper, Unary::Function::NEG);
}

Status mapNotEqual(Mapper& mapper) {
    return mapCompare(mapper, Compare::Function::NOT_EQUAL);
}

Status mapPow(Mapper& mapper) {
    return mapBinary(mapper, Binary::Function::POW);
}

Status mapQuantize(Mapper& mapper) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(1, 1));
    HALYARD_ASSIGN_OR_RETURN(const TensorId x, readReal(mapper, 0));
    return mapper.emit(engine::Quantize{}, {x});
}

Status mapRsqrt(Mapper& mapper) {
    return mapReal(mapper, Unary::Function::RSQRT);
}

Status mapSelect(Mapper& mapper) {
    return mapChoice(mapper, true);
}

Status mapSelectV2(Mapper& mapper) {
    return mapChoice(mapper, false);
}

Status mapSin(Mapper& mapper) {
    return mapReal(mapper, Unary::Function::SIN);
}

Status mapSqrt(Mapper& mapper) {
    return mapReal(mapper, Unary::Function::SQRT);
}

Status mapSquare(Mapper& mapper) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(1, 1));
    HALYARD_ASSIGN_OR_RETURN(const TensorId x, mapper.readInput(0));
    return mapper.emit(Binary{.function = Binary::Function::MUL}, {x, x});
}

// Of 8 bits by real numbers: the difference has no scale of its own.
Status mapSquaredDifference(Mapper& mapper) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(2, 2));
    HALYARD_ASSIGN_OR_RETURN(const TensorId a, readReal(mapper, 0));
    HALYARD_ASSIGN_OR_RETURN(const TensorId b, readReal(mapper, 1));
    HALYARD_ASSIGN_OR_RETURN(
            const TensorId difference,
            mapper.emitInner(Binary{.function = Binary::Function::SUB}, {a, b}, mapper.typeOf(a)));
    return emitReal(mapper, Binary{.function = Binary::Function::MUL}, {difference, difference});
}

Status mapSub(Mapper& mapper) {
    mapper.accept(SubOptions::kPotScaleInt16);
    return mapArithmetic(mapper, Binary::Function::SUB, SubOptions::kFusedActivationFunction);
}

}  // namespace halyard::tflite
