// SPDX-License-Identifier: Apache-2.0

#include "importers/tflite/flexbuffer.h"

#include <bit>
#include <cstring>
#include <string>

namespace halyard::tflite {
namespace {

// A packed type has the type above, and the binary logarithm of a width in its lowest two bits.
enum Type : uint8_t {
    kInt = 1,
    kUnsigned = 2,
    kFloat = 3,
    kIndirectInt = 6,
    kIndirectUnsigned = 7,
    kIndirectFloat = 8,
    kMap = 9,
    kBool = 26,
};

uint8_t typeOf(uint8_t packed) {
    return packed >> 2;
}

size_t widthOf(uint8_t packed) {
    return size_t{1} << (packed & 3U);
}

bool isWidth(uint64_t width) {
    return width == 1 || width == 2 || width == 4 || width == 8;
}

Status broken() {
    return unsupported("its options are no FlexBuffer");
}

}  // namespace

Result<FlexMap> FlexMap::create(std::span<const uint8_t> bytes) {
    FlexMap map(bytes);
    HALYARD_RETURN_IF_ERROR(map.readRoot());
    return map;
}

// Before a map's values lie its keys' offset, their width, and the number of both.
Status FlexMap::readRoot() {
    if (mBytes.size() < 3 || !isWidth(mBytes.back())) {
        return broken();
    }
    const size_t rootWidth = mBytes.back();
    const uint8_t packed = mBytes[mBytes.size() - 2];
    if (typeOf(packed) != kMap || mBytes.size() - 2 < rootWidth) {
        return broken();
    }
    mWidth = widthOf(packed);
    HALYARD_ASSIGN_OR_RETURN(mValues, target(mBytes.size() - 2 - rootWidth, rootWidth));
    if (mValues < 3 * mWidth) {
        return broken();
    }
    HALYARD_ASSIGN_OR_RETURN(const uint64_t count, unsignedAt(mValues - mWidth, mWidth));
    HALYARD_ASSIGN_OR_RETURN(const uint64_t keyWidth, unsignedAt(mValues - 2 * mWidth, mWidth));
    HALYARD_ASSIGN_OR_RETURN(mKeys, target(mValues - 3 * mWidth, mWidth));
    if (!isWidth(keyWidth)) {
        return broken();
    }
    mKeyWidth = static_cast<size_t>(keyWidth);
    // Each value has a byte for its type as well.
    if (count > (mBytes.size() - mValues) / (mWidth + 1) ||
        count > (mBytes.size() - mKeys) / mKeyWidth) {
        return broken();
    }
    mCount = static_cast<size_t>(count);
    return {};
}

Result<uint64_t> FlexMap::unsignedAt(size_t at, size_t width) const {
    if (at > mBytes.size() || width > mBytes.size() - at) {
        return broken();
    }
    uint64_t value = 0;
    for (size_t i = 0; i < width; ++i) {
        value |= static_cast<uint64_t>(mBytes[at + i]) << (8 * i);
    }
    return value;
}

Result<size_t> FlexMap::target(size_t at, size_t width) const {
    HALYARD_ASSIGN_OR_RETURN(const uint64_t offset, unsignedAt(at, width));
    if (offset > at) {
        return broken();
    }
    return at - static_cast<size_t>(offset);
}

Result<double> FlexMap::numberAt(size_t at, size_t width, uint8_t type) const {
    HALYARD_ASSIGN_OR_RETURN(const uint64_t raw, unsignedAt(at, width));
    switch (type) {
        case kInt: {
            const auto shift = static_cast<int>(64 - 8 * width);
            return static_cast<double>(static_cast<int64_t>(raw << shift) >> shift);
        }
        case kUnsigned:
        case kBool:
            return static_cast<double>(raw);
        default:
            if (width == sizeof(float)) {
                return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(raw)));
            }
            return width == sizeof(double) ? Result<double>(std::bit_cast<double>(raw)) : broken();
    }
}

Result<bool> FlexMap::isKey(size_t entry, std::string_view key) const {
    HALYARD_ASSIGN_OR_RETURN(const size_t at, target(mKeys + entry * mKeyWidth, mKeyWidth));
    // With the zero that ends it.
    return mBytes.size() - at > key.size() &&
           std::memcmp(mBytes.data() + at, key.data(), key.size()) == 0 &&
           mBytes[at + key.size()] == 0;
}

Result<std::optional<double>> FlexMap::number(std::string_view key) const {
    for (size_t entry = 0; entry < mCount; ++entry) {
        HALYARD_ASSIGN_OR_RETURN(const bool found, isKey(entry, key));
        if (!found) {
            continue;
        }
        const uint8_t packed = mBytes[mValues + mCount * mWidth + entry];
        const size_t at = mValues + entry * mWidth;
        const auto asOptional = [](const Result<double>& value) -> Result<std::optional<double>> {
            HALYARD_RETURN_IF_ERROR(value.status());
            return std::optional(*value);
        };
        switch (const uint8_t type = typeOf(packed)) {
            case kInt:
            case kUnsigned:
            case kFloat:
            case kBool:
                return asOptional(numberAt(at, mWidth, type));
            case kIndirectInt:
            case kIndirectUnsigned:
            case kIndirectFloat: {
                HALYARD_ASSIGN_OR_RETURN(const size_t there, target(at, mWidth));
                return asOptional(numberAt(there, widthOf(packed),
                                           static_cast<uint8_t>(type - kIndirectInt + kInt)));
            }
            default:
                return unsupported("its option " + std::string(key) + " is no number");
        }
    }
    return std::optional<double>();
}

}  // namespace halyard::tflite
