// SPDX-License-Identifier: Apache-2.0
//
// Operators whose results follow from shapes, or repeat a value.

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "importers/tflite/operators/axes.h"
#include "importers/tflite/operators/handlers.h"

namespace halyard::tflite {
namespace {

// Of a constant that an operator comes to.
constexpr int64_t kMostElements = int64_t{1} << 20;

Status checkLength(int64_t length) {
    return length <= kMostElements
                   ? Status()
                   : unsupported("it comes to " + std::to_string(length) + " elements, and " +
                                 std::to_string(kMostElements) + " are made");
}

// The constant's one FLOAT32.
Result<float> oneFloat(const Mapper& mapper, size_t place, std::string_view what) {
    HALYARD_ASSIGN_OR_RETURN(const int32_t index, mapper.input(place));
    const Tensor& tensor = mapper.tensor(index);
    float value = 0.0F;
    if (!tensor.isConstant() || tensor.type != ElementType::FLOAT32 ||
        tensor.constant.bytes.size() != sizeof value) {
        return unsupported("its " + std::string(what) + " " + mapper.shown(index) +
                           " is no constant of one " + toString(ElementType::FLOAT32));
    }
    std::memcpy(&value, tensor.constant.bytes.data(), sizeof value);
    return value;
}

// Each is the one before and the step, rounded, as TFLite adds them.
Status defineFloats(Mapper& mapper, int32_t output) {
    HALYARD_ASSIGN_OR_RETURN(const float start, oneFloat(mapper, 0, "start"));
    HALYARD_ASSIGN_OR_RETURN(const float limit, oneFloat(mapper, 1, "limit"));
    HALYARD_ASSIGN_OR_RETURN(const float step, oneFloat(mapper, 2, "step"));
    const float steps = std::ceil(std::abs((limit - start) / step));
    if (!(step > 0.0F ? start <= limit : start >= limit) || step == 0.0F || !(steps >= 0.0F)) {
        return unsupported("its steps do not lead from its start to its limit");
    }
    if (!(steps <= static_cast<float>(kMostElements))) {
        return checkLength(kMostElements + 1);
    }
    std::vector<uint8_t> bytes(static_cast<size_t>(steps) * sizeof(float));
    float value = start;
    for (size_t at = 0; at < bytes.size(); at += sizeof value) {
        std::memcpy(bytes.data() + at, &value, sizeof value);
        value += step;
    }
    return mapper.define(output,
                         {.type = engine::DataType::FLOAT32,
                          .shape = {static_cast<int32_t>(steps)},
                          .quantization = {}},
                         std::move(bytes));
}

}  // namespace

Status mapShape(Mapper& mapper) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(1, 1));
    HALYARD_ASSIGN_OR_RETURN(const int32_t output, mapper.output());
    // The output's own type says it as well.
    mapper.accept(ShapeOptions::kOutType);
    HALYARD_ASSIGN_OR_RETURN(const TensorId x, mapper.readInput(0));
    HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> extents, mapper.extents(x));
    return mapper.defineIntegers(output, {static_cast<int32_t>(extents.size())}, extents);
}

Status mapRank(Mapper& mapper) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(1, 1));
    HALYARD_ASSIGN_OR_RETURN(const int32_t output, mapper.output());
    HALYARD_ASSIGN_OR_RETURN(const TensorId x, mapper.readInput(0));
    HALYARD_ASSIGN_OR_RETURN(const size_t rank, rankOf(mapper, x));
    const auto value = static_cast<int32_t>(rank);
    return mapper.defineIntegers(output, {}, std::span(&value, 1));
}

Status mapRange(Mapper& mapper) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(3, 3));
    HALYARD_ASSIGN_OR_RETURN(const int32_t output, mapper.output());
    if (mapper.tensor(output).type == ElementType::FLOAT32) {
        return defineFloats(mapper, output);
    }
    std::array<int64_t, 3> given = {};
    constexpr std::array<std::string_view, 3> kNames = {"start", "limit", "step"};
    for (size_t place = 0; place < given.size(); ++place) {
        HALYARD_ASSIGN_OR_RETURN(const int32_t index, mapper.input(place));
        HALYARD_ASSIGN_OR_RETURN(given[place], mapper.oneInteger(index, kNames[place]));
    }
    const auto [start, limit, step] = given;
    if (step == 0 || (step > 0 ? start > limit : start < limit)) {
        return unsupported("its steps do not lead from its start to its limit");
    }
    const int64_t distance = std::abs(limit - start);
    const int64_t count = (distance + std::abs(step) - 1) / std::abs(step);
    HALYARD_RETURN_IF_ERROR(checkLength(count));
    std::vector<int32_t> values;
    for (int64_t i = 0; i < count; ++i) {
        values.push_back(static_cast<int32_t>(start + i * step));
    }
    return mapper.defineIntegers(output, {static_cast<int32_t>(count)}, values);
}

// Of bytes a constant, as the engine fills with wider numbers only.
// What it makes of a constant is a constant (Model::densify()), and needs no node.
Status mapDensify(Mapper& mapper) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(1, 1));
    HALYARD_ASSIGN_OR_RETURN(const int32_t output, mapper.output());
    if (!mapper.tensor(output).isConstant()) {
        return unsupported("what it reads is no constant, or of another type or shape");
    }
    return {};
}

Status mapFill(Mapper& mapper) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(2, 2));
    HALYARD_ASSIGN_OR_RETURN(const int32_t output, mapper.output());
    HALYARD_ASSIGN_OR_RETURN(const TensorId value, mapper.readInput(1));
    const engine::TensorType type = mapper.typeOf(value);
    if (engine::elementSize(type.type) != 1) {
        HALYARD_ASSIGN_OR_RETURN(const TensorId extents, mapper.readInput(0));
        return mapper.emit(engine::Fill{}, {extents, value});
    }
    HALYARD_ASSIGN_OR_RETURN(const int32_t extentsIndex, mapper.input(0));
    HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> extents,
                             mapper.integers(extentsIndex, "shape"));
    HALYARD_ASSIGN_OR_RETURN(engine::TensorType filled, mapper.declared(output));
    if (filled.type != type.type || !(filled.quantization == type.quantization)) {
        return unsupported("its value is " + type.toString() + ", and its output " +
                           filled.toString());
    }
    HALYARD_ASSIGN_OR_RETURN(const int32_t valueIndex, mapper.input(1));
    HALYARD_ASSIGN_OR_RETURN(const int32_t element, mapper.oneInteger(valueIndex, "value"));
    HALYARD_ASSIGN_OR_RETURN(filled.shape, engine::Shape::create(extents));
    HALYARD_ASSIGN_OR_RETURN(const int64_t count, filled.shape.elementCount());
    HALYARD_RETURN_IF_ERROR(checkLength(count));
    return mapper.define(
            output, std::move(filled),
            std::vector<uint8_t>(static_cast<size_t>(count), static_cast<uint8_t>(element)));
}

Status mapZerosLike(Mapper& mapper) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(1, 1));
    HALYARD_ASSIGN_OR_RETURN(const TensorId x, mapper.readInput(0));
    if (engine::isQuantized(mapper.typeOf(x).type)) {
        return unsupported("it is of " + mapper.typeOf(x).toString() +
                           ", and TFLite's is not of quantised numbers");
    }
    HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> extents, mapper.extents(x));
    HALYARD_ASSIGN_OR_RETURN(const TensorId zero, mapper.scalar(mapper.typeOf(x), 0.0));
    const TensorId list = mapper.int32Constant(extents);
    return mapper.emit(engine::Fill{}, {list, zero});
}

}  // namespace halyard::tflite
