// SPDX-License-Identifier: Apache-2.0

#include "engine/graph/tensor.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "engine/base/checked_math.h"

namespace halyard::engine {

size_t elementSize(DataType type) {
    switch (type) {
        case DataType::FLOAT32:
        case DataType::INT32:
            return 4;
        case DataType::FLOAT16:
        case DataType::QUANT16_SYMM:
        case DataType::QUANT16_ASYMM:
            return 2;
        case DataType::BOOL8:
        case DataType::QUANT8_ASYMM:
        case DataType::QUANT8_ASYMM_SIGNED:
        case DataType::QUANT8_SYMM:
        case DataType::QUANT8_SYMM_PER_CHANNEL:
            return 1;
    }
    std::abort();
}

std::string_view toString(DataType type) {
    switch (type) {
        case DataType::FLOAT32:
            return "FLOAT32";
        case DataType::FLOAT16:
            return "FLOAT16";
        case DataType::INT32:
            return "INT32";
        case DataType::BOOL8:
            return "BOOL8";
        case DataType::QUANT8_ASYMM:
            return "QUANT8_ASYMM";
        case DataType::QUANT8_ASYMM_SIGNED:
            return "QUANT8_ASYMM_SIGNED";
        case DataType::QUANT8_SYMM:
            return "QUANT8_SYMM";
        case DataType::QUANT8_SYMM_PER_CHANNEL:
            return "QUANT8_SYMM_PER_CHANNEL";
        case DataType::QUANT16_SYMM:
            return "QUANT16_SYMM";
        case DataType::QUANT16_ASYMM:
            return "QUANT16_ASYMM";
    }
    return "unknown type";
}

bool isFloat(DataType type) {
    return type == DataType::FLOAT32 || type == DataType::FLOAT16;
}

bool isQuantized(DataType type) {
    return !isFloat(type) && type != DataType::INT32 && type != DataType::BOOL8;
}

int32_t minValue(DataType type) {
    switch (type) {
        case DataType::INT32:
            return std::numeric_limits<int32_t>::min();
        case DataType::QUANT8_ASYMM_SIGNED:
        case DataType::QUANT8_SYMM:
        case DataType::QUANT8_SYMM_PER_CHANNEL:
            return std::numeric_limits<int8_t>::min();
        case DataType::QUANT16_SYMM:
            return std::numeric_limits<int16_t>::min();
        default:
            return 0;
    }
}

int32_t maxValue(DataType type) {
    switch (type) {
        case DataType::INT32:
            return std::numeric_limits<int32_t>::max();
        case DataType::BOOL8:
            return 1;
        case DataType::QUANT8_ASYMM:
            return std::numeric_limits<uint8_t>::max();
        case DataType::QUANT8_ASYMM_SIGNED:
        case DataType::QUANT8_SYMM:
        case DataType::QUANT8_SYMM_PER_CHANNEL:
            return std::numeric_limits<int8_t>::max();
        case DataType::QUANT16_SYMM:
            return std::numeric_limits<int16_t>::max();
        case DataType::QUANT16_ASYMM:
            return std::numeric_limits<uint16_t>::max();
        default:
            return 0;
    }
}

Shape::Shape(std::initializer_list<int32_t> extents)
    : Shape(std::span<const int32_t>(extents.begin(), extents.size())) {}

Shape::Shape(std::span<const int32_t> extents) {
    if (extents.size() > kMaxRank) {
        std::abort();
    }
    std::copy(extents.begin(), extents.end(), mExtents);
    mRank = static_cast<uint8_t>(extents.size());
}

Result<Shape> Shape::create(std::span<const int32_t> extents) {
    if (extents.size() > kMaxRank) {
        return unsupported("rank " + std::to_string(extents.size()) + " is above " +
                           std::to_string(kMaxRank));
    }
    for (const int32_t extent : extents) {
        if (extent < 0 && extent != kUnknownDimension) {
            return invalidArgument("extent " + std::to_string(extent) + " is negative");
        }
    }
    return Shape(extents);
}

Shape Shape::unknownRank() {
    Shape shape;
    shape.mKnownRank = false;
    return shape;
}

bool Shape::isFullyKnown() const {
    return mKnownRank && std::ranges::none_of(extents(), [](int32_t extent) { return extent < 0; });
}

Result<int64_t> Shape::elementCount() const {
    if (!isFullyKnown()) {
        return invalidArgument("shape " + toString() + " is not fully known");
    }
    // A tensor without elements stays one, however large its other extents are.
    if (std::ranges::find(extents(), 0) != extents().end()) {
        return int64_t{0};
    }
    int64_t count = 1;
    for (const int32_t extent : extents()) {
        count *= extent;  // both factors are below 2^31
        if (count > std::numeric_limits<int32_t>::max()) {
            return invalidArgument("shape " + toString() + " has more than 2^31 - 1 elements");
        }
    }
    return count;
}

bool Shape::operator==(const Shape& other) const {
    return mKnownRank == other.mKnownRank && std::ranges::equal(extents(), other.extents());
}

std::string Shape::toString() const {
    if (!mKnownRank) {
        return "[*]";
    }
    std::string text = "[";
    for (const int32_t extent : extents()) {
        text.append(text.size() > 1 ? ", " : "");
        text.append(extent < 0 ? "?" : std::to_string(extent));
    }
    return text + "]";
}

Result<size_t> TensorType::byteSize() const {
    HALYARD_ASSIGN_OR_RETURN(const int64_t count, shape.elementCount());
    const std::optional<size_t> bytes =
            checkedMultiply(static_cast<size_t>(count), elementSize(type));
    if (!bytes.has_value() || *bytes > std::numeric_limits<size_t>::max() / 2) {
        return invalidArgument(toString() + " takes more bytes than can be addressed");
    }
    return *bytes;
}

std::string TensorType::toString() const {
    std::string text(engine::toString(type));
    text += shape.toString();
    if (type == DataType::QUANT8_SYMM_PER_CHANNEL) {
        text += " " + std::to_string(quantization.channelScales.size()) + " scales along axis " +
                std::to_string(quantization.channelDim);
    } else if (isQuantized(type)) {
        text += " scale " + std::to_string(quantization.scale) + " zero point " +
                std::to_string(quantization.zeroPoint);
    }
    return text;
}

}  // namespace halyard::engine
