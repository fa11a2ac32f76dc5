// SPDX-License-Identifier: Apache-2.0
//
// Operators that reduce axes, and choose among elements.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "importers/tflite/operators/axes.h"
#include "importers/tflite/operators/handlers.h"
#include "importers/tflite/operators/real_numbers.h"

namespace halyard::tflite {
namespace {

using Function = engine::Reduce::Function;

// Of integers the engine reduces none; those of shapes are known.
constexpr size_t kMostIntegers = 4096;

std::optional<int64_t> reduced(Function function, int64_t a, int64_t b) {
    int64_t result = 0;
    switch (function) {
        case Function::SUM:
            result = a + b;
            break;
        case Function::PROD:
            result = a * b;
            break;
        case Function::MAX:
            result = std::max(a, b);
            break;
        case Function::MIN:
            result = std::min(a, b);
            break;
        default:
            return std::nullopt;
    }
    // Of two numbers of 32 bits neither overflows.
    const bool fits = result >= std::numeric_limits<int32_t>::min() &&
                      result <= std::numeric_limits<int32_t>::max();
    return fits ? std::optional(result) : std::nullopt;
}

// The place of element `i` of x in what is reduced.
size_t placeOf(size_t i, const std::vector<int32_t>& extents, const std::vector<bool>& goes) {
    size_t place = 0;
    size_t stride = 1;
    for (size_t axis = extents.size(); axis-- > 0;) {
        const auto extent = static_cast<size_t>(extents[axis]);
        if (!goes[axis]) {
            place += i % extent * stride;
            stride *= extent;
        }
        i /= extent;
    }
    return place;
}

// The result of integers that are known, with every step in 32 bits.
Status defineReduced(Mapper& mapper, Function function, const std::vector<int32_t>& extents,
                     const std::vector<bool>& goes, bool keepDims) {
    HALYARD_ASSIGN_OR_RETURN(const int32_t input, mapper.input(0));
    HALYARD_ASSIGN_OR_RETURN(const int32_t output, mapper.output());
    HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> values, mapper.integers(input, "input"));
    if (values.empty() || values.size() > kMostIntegers) {
        return unsupported("it reduces " + std::to_string(values.size()) + " integers");
    }
    std::vector<int32_t> kept;
    size_t count = 1;
    for (size_t axis = 0; axis < extents.size(); ++axis) {
        if (!goes[axis]) {
            count *= static_cast<size_t>(extents[axis]);
        }
        if (!goes[axis] || keepDims) {
            kept.push_back(goes[axis] ? 1 : extents[axis]);
        }
    }
    std::vector<std::optional<int64_t>> results(count);
    for (size_t i = 0; i < values.size(); ++i) {
        std::optional<int64_t>& result = results[placeOf(i, extents, goes)];
        result = result.has_value() ? reduced(function, *result, values[i])
                                    : std::optional<int64_t>(values[i]);
        if (!result.has_value()) {
            return unsupported(
                    "it reduces integers to what has more than 32 bits, or to no "
                    "integer");
        }
    }
    std::vector<int32_t> found;
    for (const std::optional<int64_t>& result : results) {
        found.push_back(static_cast<int32_t>(*result));
    }
    HALYARD_ASSIGN_OR_RETURN(const engine::Shape shape, engine::Shape::create(kept));
    return mapper.defineIntegers(output, shape, found);
}

// The engine gives [1] where every axis goes, and TFLite a scalar.
Status emitScalar(Mapper& mapper, engine::Reduce node, TensorId x, TensorId axes) {
    HALYARD_ASSIGN_OR_RETURN(const int32_t output, mapper.output());
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorType type, mapper.declared(output));
    const bool isReal = node.function == Function::SUM || node.function == Function::PROD;
    const bool through = isReal && hasEightBits(type);
    HALYARD_ASSIGN_OR_RETURN(const TensorId one,
                             mapper.emitInner(node, {x, axes}, through ? realType(type) : type));
    if (!through) {
        return mapper.emitReshape(one, {}, output);
    }
    HALYARD_ASSIGN_OR_RETURN(const TensorId real, mapper.reshaped(one, {}));
    return mapper.emit(engine::Quantize{}, {real});
}

Status mapReduction(Mapper& mapper, Function function) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(2, 2));
    HALYARD_RETURN_IF_ERROR(mapper.checkOutputCount(1, 1));
    const bool keepDims = mapper.flag(ReducerOptions::kKeepDims);
    const bool isReal = function == Function::SUM || function == Function::PROD;
    HALYARD_ASSIGN_OR_RETURN(const int32_t input, mapper.input(0));
    HALYARD_ASSIGN_OR_RETURN(const int32_t axesIndex, mapper.input(1));
    const engine::Reduce node = {.function = function, .keepDims = keepDims};
    if (!mapper.isKnown(axesIndex)) {
        if (!keepDims) {
            return unsupported("its axes are computed, and none is kept");
        }
        HALYARD_ASSIGN_OR_RETURN(const TensorId x,
                                 isReal ? readReal(mapper, 0) : mapper.read(input));
        HALYARD_ASSIGN_OR_RETURN(const TensorId axes, mapper.read(axesIndex));
        return isReal ? emitReal(mapper, node, {x, axes}) : mapper.emit(node, {x, axes});
    }
    HALYARD_ASSIGN_OR_RETURN(std::vector<int32_t> axes, mapper.integers(axesIndex, "axes"));
    HALYARD_ASSIGN_OR_RETURN(TensorId x, mapper.read(input));
    HALYARD_ASSIGN_OR_RETURN(const size_t rank, rankOf(mapper, x));
    if (rank == 0) {
        axes.clear();  // which TFLite does not look at
    }
    std::vector<bool> goes(rank);
    for (const int32_t each : axes) {
        HALYARD_ASSIGN_OR_RETURN(const size_t axis, axisOf(each, rank));
        goes[axis] = true;
    }
    if (mapper.typeOf(x).type == engine::DataType::INT32 && mapper.isKnown(input)) {
        HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> extents, mapper.extents(x));
        return defineReduced(mapper, function, extents, goes, keepDims);
    }
    if (isReal) {
        HALYARD_ASSIGN_OR_RETURN(x, readReal(mapper, 0));
    }
    const TensorId list = mapper.int32Constant(axes);
    if (rank > 0 && !keepDims && std::ranges::all_of(goes, [](bool each) { return each; })) {
        return emitScalar(mapper, node, x, list);
    }
    return isReal ? emitReal(mapper, node, {x, list}) : mapper.emit(node, {x, list});
}

// A list has the place of one element, a scalar, and the engine gives [1].
Status mapArgMinMax(Mapper& mapper, engine::ArgMinMax::Function function) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(2, 2));
    HALYARD_ASSIGN_OR_RETURN(const TensorId x, mapper.readInput(0));
    HALYARD_ASSIGN_OR_RETURN(const int32_t index, mapper.input(1));
    HALYARD_ASSIGN_OR_RETURN(const int32_t axis, mapper.oneInteger(index, "axis"));
    HALYARD_ASSIGN_OR_RETURN(const size_t rank, rankOf(mapper, x));
    HALYARD_ASSIGN_OR_RETURN(const int32_t output, mapper.output());
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorType type, mapper.declared(output));
    const engine::ArgMinMax node = {.function = function, .axis = axis};
    if (rank != 1) {
        return mapper.emit(node, {x});
    }
    HALYARD_ASSIGN_OR_RETURN(const TensorId one, mapper.emitInner(node, {x}, type));
    return mapper.emitReshape(one, {}, output);
}

}  // namespace

Status mapMean(Mapper& mapper) {
    return mapReduction(mapper, Function::MEAN);
}

Status mapSum(Mapper& mapper) {
    return mapReduction(mapper, Function::SUM);
}

Status mapReduceProd(Mapper& mapper) {
    return mapReduction(mapper, Function::PROD);
}

Status mapReduceMax(Mapper& mapper) {
    return mapReduction(mapper, Function::MAX);
}

Status mapReduceMin(Mapper& mapper) {
    return mapReduction(mapper, Function::MIN);
}

Status mapReduceAll(Mapper& mapper) {
    return mapReduction(mapper, Function::ALL);
}

Status mapReduceAny(Mapper& mapper) {
    return mapReduction(mapper, Function::ANY);
}

// The output's own type says what the option does.
Status mapArgMax(Mapper& mapper) {
    mapper.accept(ArgMaxOptions::kOutputType);
    return mapArgMinMax(mapper, engine::ArgMinMax::Function::MAX);
}

Status mapArgMin(Mapper& mapper) {
    mapper.accept(ArgMinOptions::kOutputType);
    return mapArgMinMax(mapper, engine::ArgMinMax::Function::MIN);
}

// Of equals TFLite has the first one first, and the engine the last one: it is given each row from
// its end, and the places are counted from there.
Status mapTopK(Mapper& mapper) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(2, 2));
    HALYARD_RETURN_IF_ERROR(mapper.checkOutputCount(2, 2));
    HALYARD_ASSIGN_OR_RETURN(const TensorId x, mapper.readInput(0));
    HALYARD_ASSIGN_OR_RETURN(const int32_t index, mapper.input(1));
    HALYARD_ASSIGN_OR_RETURN(const int32_t count, mapper.oneInteger(index, "number of elements"));
    HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> extents, mapper.extents(x));
    if (extents.empty()) {
        return unsupported("its input is a scalar");
    }
    HALYARD_ASSIGN_OR_RETURN(const int32_t valuesIndex, mapper.output(0));
    HALYARD_ASSIGN_OR_RETURN(const int32_t placesIndex, mapper.output(1));
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorType values, mapper.declared(valuesIndex));
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorType places, mapper.declared(placesIndex));
    if (places.type != engine::DataType::INT32) {
        return unsupported(mapper.shown(placesIndex) + " is " + places.toString() + ", not INT32");
    }
    const auto axis = static_cast<int32_t>(extents.size() - 1);
    const TensorId axes = mapper.int32Constant(std::span(&axis, 1));
    HALYARD_ASSIGN_OR_RETURN(const TensorId reversed,
                             mapper.emitInner(engine::Reverse{}, {x, axes}, mapper.typeOf(x)));
    HALYARD_ASSIGN_OR_RETURN(
            const std::vector<TensorId> found,
            mapper.emitInnerN(engine::TopK{.k = count}, {reversed}, {values, places}));
    const int32_t last = extents.back() - 1;
    const TensorId end = mapper.int32Constant(std::span(&last, 1));
    HALYARD_RETURN_IF_ERROR(mapper.alias(valuesIndex, found[0]));
    return mapper.emitTo(engine::Binary{.function = engine::Binary::Function::SUB}, {end, found[1]},
                         std::span(&placesIndex, 1));
}

}  // namespace halyard::tflite
