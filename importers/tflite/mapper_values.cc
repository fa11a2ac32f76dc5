// SPDX-License-Identifier: Apache-2.0
//
// What operators read.

#include "importers/tflite/mapper.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "importers/tflite/constants.h"

namespace halyard::tflite {
namespace {

using engine::DataType;
using engine::kNoTensor;
using engine::Shape;
using engine::TensorType;

constexpr std::string_view kComputed = " is computed, and a constant is wanted";

}  // namespace

bool Mapper::isKnown(int32_t index) const {
    return tensor(index).isConstant() || mKnown.contains(index);
}

Result<TensorId> Mapper::addConstant(int32_t index) {
    if (const auto known = mKnown.find(index); known != mKnown.end()) {
        return mGraph.addConstant(known->second.first, known->second.second, mCopies);
    }
    HALYARD_ASSIGN_OR_RETURN(auto constant,
                             engineConstant(tensor(index), shown(index), mOptions.memory));
    HALYARD_ASSIGN_OR_RETURN(
            const TensorId id,
            mGraph.addConstant(std::move(constant.first), std::move(constant.second), mCopies));
    mGraph.setName(id, tensor(index).name);
    return id;
}

Result<TensorId> Mapper::read(int32_t index) {
    if (const auto updated = mUpdated.find(index); updated != mUpdated.end()) {
        return updated->second;
    }
    if (const auto found = mTensors.find(index); found != mTensors.end()) {
        return found->second;
    }
    TensorId id = kNoTensor;
    if (isKnown(index)) {
        HALYARD_ASSIGN_OR_RETURN(id, addConstant(index));
    } else {
        HALYARD_ASSIGN_OR_RETURN(TensorType type, engineType(tensor(index), shown(index)));
        if (const auto given = mSurroundings.shapes.find(index);
            given != mSurroundings.shapes.end()) {
            type.shape = given->second;
        }
        id = mGraph.addTensor(std::move(type), tensor(index).name);
        mExternal.push_back(index);
    }
    mTensors[index] = id;
    return id;
}

Result<TensorId> Mapper::readInput(size_t place) {
    HALYARD_ASSIGN_OR_RETURN(const int32_t index, input(place));
    return read(index);
}

Result<TensorId> Mapper::readOptional(size_t place) {
    if (!has(place)) {
        return kNoTensor;
    }
    return read(mOperator->inputs[place]);
}

Result<TensorId> Mapper::readWidened(int32_t index) {
    if (const auto found = mWidened.find(index); found != mWidened.end()) {
        return found->second;
    }
    HALYARD_ASSIGN_OR_RETURN(auto constant,
                             realConstant(tensor(index), shown(index), mOptions.memory));
    HALYARD_ASSIGN_OR_RETURN(
            const TensorId id,
            mGraph.addConstant(std::move(constant.first), std::move(constant.second), mCopies));
    mGraph.setName(id, tensor(index).name);
    mWidened[index] = id;
    return id;
}

Result<TensorId> Mapper::readWeights(size_t place, int32_t activations) {
    HALYARD_ASSIGN_OR_RETURN(const int32_t index, input(place));
    const ElementType type = tensor(index).type;
    const bool isHybrid =
            tensor(activations).type == ElementType::FLOAT32 && type != ElementType::FLOAT32;
    if (!isHybrid) {
        return read(index);
    }
    if (!tensor(index).isConstant()) {
        return unsupported(shown(index) + " is " + toString(type) +
                           ", where its activations are FLOAT32, and" + std::string(kComputed));
    }
    return readWidened(index);
}

Result<TensorId> Mapper::readSymmetric(size_t place) {
    HALYARD_ASSIGN_OR_RETURN(const int32_t index, input(place));
    if (!tensor(index).isConstant() || tensor(index).type != ElementType::INT8) {
        return unsupported(shown(index) + " is no constant of INT8");
    }
    HALYARD_ASSIGN_OR_RETURN(auto constant,
                             engineConstant(tensor(index), shown(index), mOptions.memory));
    if (constant.first.type != DataType::QUANT8_ASYMM_SIGNED ||
        constant.first.quantization.zeroPoint != 0) {
        return unsupported(shown(index) + " has scales per channel or a zero point");
    }
    constant.first.type = DataType::QUANT8_SYMM;
    return mGraph.addConstant(std::move(constant.first), std::move(constant.second), mCopies);
}

Result<std::vector<int32_t>> Mapper::extents(TensorId id) const {
    const Shape& shape = typeOf(id).shape;
    if (!shape.isFullyKnown()) {
        return unsupported("'" + mGraph.tensor(id).name + "' has the shape " + shape.toString() +
                           ", which only a run tells");
    }
    return std::vector<int32_t>(shape.extents().begin(), shape.extents().end());
}

Result<std::vector<int32_t>> Mapper::integers(int32_t index, std::string_view what) const {
    std::vector<int32_t> values;
    if (const auto known = mKnown.find(index); known != mKnown.end()) {
        const auto& [type, data] = known->second;
        if (type.type != DataType::INT32) {
            return unsupported("its " + std::string(what) + " is " + type.toString());
        }
        values.resize(data.bytes.size() / sizeof(int32_t));
        std::memcpy(values.data(), data.bytes.data(), values.size() * sizeof(int32_t));
        return values;
    }
    if (!tensor(index).isConstant()) {
        return unsupported("its " + std::string(what) + std::string(kComputed));
    }
    HALYARD_ASSIGN_OR_RETURN(const std::vector<int64_t> found,
                             integersOf(tensor(index), shown(index)));
    for (const int64_t each : found) {
        values.push_back(static_cast<int32_t>(each));
        if (values.back() != each) {
            return unsupported("its " + std::string(what) + " is " + std::to_string(each) +
                               ", and the engine's integers have 32 bits");
        }
    }
    return values;
}

Result<int32_t> Mapper::oneInteger(int32_t index, std::string_view what) const {
    HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> found, integers(index, what));
    if (found.size() != 1) {
        return unsupported("its " + std::string(what) + " has " + std::to_string(found.size()) +
                           " values, and one is wanted");
    }
    return found.front();
}

Result<TensorType> Mapper::declared(int32_t index) const {
    const auto isKnownInput = [&](int32_t input) { return input == kOmitted || isKnown(input); };
    if (tensor(index).type == ElementType::INT64 &&
        std::ranges::all_of(mOperator->inputs, isKnownInput)) {
        return TensorType{
                .type = DataType::INT32, .shape = Shape::unknownRank(), .quantization = {}};
    }
    HALYARD_ASSIGN_OR_RETURN(TensorType type, engineType(tensor(index), shown(index)));
    type.shape = Shape::unknownRank();
    return type;
}

}  // namespace halyard::tflite
