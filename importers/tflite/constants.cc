// SPDX-License-Identifier: Apache-2.0

#include "importers/tflite/constants.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>

#include "engine/base/checked_math.h"
#include "engine/base/half.h"

namespace halyard::tflite {
namespace {

using engine::ConstantData;
using engine::DataType;
using engine::TensorType;

std::string at(std::string_view shown) {
    return std::string(shown);
}

// An element type with no quantisation.
std::optional<DataType> plainType(ElementType type) {
    switch (type) {
        case ElementType::FLOAT32:
            return DataType::FLOAT32;
        case ElementType::FLOAT16:
            return DataType::FLOAT16;
        case ElementType::INT32:
            return DataType::INT32;
        case ElementType::BOOL:
            return DataType::BOOL8;
        default:
            return std::nullopt;
    }
}

Status checkScales(const TensorQuantization& quantization, std::string_view shown) {
    const bool areScales = std::ranges::all_of(
            quantization.scales, [](float scale) { return std::isfinite(scale) && scale > 0.0F; });
    if (!areScales) {
        return unsupported(at(shown) + " has a scale that is not positive and finite");
    }
    return {};
}

Result<int32_t> zeroPoint(const TensorQuantization& quantization, std::string_view shown) {
    const int64_t found = quantization.zeroPoints.empty() ? 0 : quantization.zeroPoints.front();
    if (found < std::numeric_limits<int32_t>::min() ||
        found > std::numeric_limits<int32_t>::max()) {
        return unsupported(at(shown) + " has a zero point of " + std::to_string(found));
    }
    return static_cast<int32_t>(found);
}

// Of elements of 8 or 16 bits.
Status quantize(const Tensor& tensor, std::string_view shown, TensorType& type) {
    const TensorQuantization& from = tensor.quantization;
    HALYARD_RETURN_IF_ERROR(checkScales(from, shown));
    const bool isSigned = tensor.type != ElementType::UINT8 && tensor.type != ElementType::UINT4;
    const bool hasZeroPoint =
            std::ranges::any_of(from.zeroPoints, [](int64_t z) { return z != 0; });
    if (from.scales.size() > 1) {
        if (!isSigned || tensor.type == ElementType::INT16 || hasZeroPoint) {
            return unsupported(at(shown) +
                               " has scales per channel, which the engine has for signed 8-bit "
                               "elements without zero points only");
        }
        const auto axis = static_cast<size_t>(from.axis);
        if (from.axis < 0 || axis >= tensor.shape.size() ||
            static_cast<size_t>(std::max(tensor.shape[axis], 0)) != from.scales.size()) {
            return unsupported(at(shown) + " has " + std::to_string(from.scales.size()) +
                               " scales for axis " + std::to_string(from.axis) +
                               ", which has another extent");
        }
        type.type = DataType::QUANT8_SYMM_PER_CHANNEL;
        type.quantization.channelScales = from.scales;
        type.quantization.channelDim = static_cast<uint32_t>(from.axis);
        return {};
    }
    // Integers that are no quantised numbers count in steps of one.
    const bool hasScale = !from.scales.empty();
    type.quantization.scale = hasScale ? from.scales.front() : 1.0F;
    if (hasScale) {
        HALYARD_ASSIGN_OR_RETURN(type.quantization.zeroPoint, zeroPoint(from, shown));
    }
    const int32_t zero = type.quantization.zeroPoint;
    if (tensor.type != ElementType::INT16 &&
        (zero < (isSigned ? -128 : 0) || zero > (isSigned ? 127 : 255))) {
        return unsupported(at(shown) + " has a zero point of " + std::to_string(zero));
    }
    if (tensor.type == ElementType::INT16) {
        if (!hasScale || hasZeroPoint) {
            return unsupported(
                    at(shown) +
                    " is INT16, which the engine has with a scale and no zero point only");
        }
        type.type = DataType::QUANT16_SYMM;
    } else {
        type.type = isSigned ? DataType::QUANT8_ASYMM_SIGNED : DataType::QUANT8_ASYMM;
    }
    return {};
}

bool isNarrow(ElementType type) {
    return type == ElementType::INT4 || type == ElementType::UINT4 || type == ElementType::INT2;
}

Result<size_t> elementCount(const Tensor& tensor, std::string_view shown) {
    size_t count = 1;
    for (const int32_t extent : tensor.shape) {
        const std::optional<size_t> product =
                extent < 0 ? std::nullopt : checkedMultiply(count, static_cast<size_t>(extent));
        if (!product.has_value()) {
            return invalidArgument(at(shown) + " is a constant of no known size");
        }
        count = *product;
    }
    return count;
}

// That a constant has the bytes of so many elements.
Result<size_t> checkedCount(const Tensor& tensor, std::string_view shown) {
    HALYARD_ASSIGN_OR_RETURN(const size_t count, elementCount(tensor, shown));
    const size_t bits = bitsOf(tensor.type);
    const std::optional<size_t> all = checkedMultiply(count, bits);
    if (bits == 0 || !all.has_value() || (*all + 7) / 8 != tensor.constant.bytes.size()) {
        return invalidArgument(at(shown) + " has " + std::to_string(tensor.constant.bytes.size()) +
                               " bytes for " + std::to_string(count) + " elements of " +
                               toString(tensor.type));
    }
    return count;
}

// The first element lies in the lowest bits.
std::vector<uint8_t> unpacked(const Tensor& tensor, size_t count) {
    const size_t bits = bitsOf(tensor.type);
    const bool isSigned = tensor.type != ElementType::UINT4;
    const size_t perByte = 8 / bits;
    std::vector<uint8_t> elements(count);
    for (size_t i = 0; i < count; ++i) {
        const uint8_t raw = tensor.constant.bytes[i / perByte] >> (i % perByte * bits);
        const auto shifted = static_cast<uint8_t>(raw << (8 - bits));
        elements[i] = isSigned ? static_cast<uint8_t>(static_cast<int8_t>(shifted) >> (8 - bits))
                               : static_cast<uint8_t>(shifted >> (8 - bits));
    }
    return elements;
}

template <typename T>
T load(std::span<const uint8_t> bytes, size_t i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    return value;
}

Result<ConstantData> floats(size_t count, const std::shared_ptr<Budget>& memory, const auto& of) {
    std::vector<uint8_t> bytes;
    HALYARD_ASSIGN_OR_RETURN(Reservation reserved,
                             Reservation::create(memory, count * sizeof(float)));
    bytes.resize(count * sizeof(float));
    for (size_t i = 0; i < count; ++i) {
        const float value = of(i);
        std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
    }
    reserved = {};
    return ownedConstant(std::move(bytes), memory);
}

// Of one that is stored without its zeros.
Result<ConstantData> denseConstant(const Tensor& tensor, std::string_view shown,
                                   const std::shared_ptr<Budget>& memory) {
    const size_t bits = bitsOf(tensor.type);
    if (bits == 0 || bits % 8 != 0) {
        return unsupported(at(shown) + " is stored without its zeros, in " + toString(tensor.type));
    }
    HALYARD_ASSIGN_OR_RETURN(const size_t count, elementCount(tensor, shown));
    const std::optional<size_t> size = checkedMultiply(count, bits / 8);
    if (!size.has_value()) {
        return invalidArgument(at(shown) + " has no size");
    }
    HALYARD_ASSIGN_OR_RETURN(Reservation reserved, Reservation::create(memory, *size));
    Result<std::vector<uint8_t>> bytes =
            densified(*tensor.sparsity, tensor.shape, tensor.constant.bytes, bits / 8);
    HALYARD_RETURN_IF_ERROR(bytes.status().withContext(at(shown)));
    reserved = {};
    return ownedConstant(*std::move(bytes), memory);
}

TensorType typed(DataType type, const engine::Shape& shape) {
    return {.type = type, .shape = shape, .quantization = {}};
}

}  // namespace

Result<ConstantData> ownedConstant(std::vector<uint8_t> bytes,
                                   const std::shared_ptr<Budget>& memory) {
    struct Owner {
        Reservation reserved;
        std::vector<uint8_t> bytes;
    };
    HALYARD_ASSIGN_OR_RETURN(Reservation reserved, Reservation::create(memory, bytes.size()));
    const auto owner = std::make_shared<const Owner>(
            Owner{.reserved = std::move(reserved), .bytes = std::move(bytes)});
    return ConstantData{.owner = owner, .bytes = owner->bytes};
}

Result<TensorType> engineType(const Tensor& tensor, std::string_view shown) {
    if (!tensor.unreadable.empty()) {
        return unsupported(at(shown) + ": " + tensor.unreadable);
    }
    TensorType type;
    HALYARD_ASSIGN_OR_RETURN(type.shape, engine::Shape::create(tensor.shape));
    if (type.shape.isFullyKnown() && !type.shape.elementCount().ok()) {
        return unsupported(at(shown) + ": " +
                           std::string(type.shape.elementCount().status().message()));
    }
    if (const std::optional<DataType> plain = plainType(tensor.type)) {
        type.type = *plain;
        return type;
    }
    if (tensor.type == ElementType::INT8 || tensor.type == ElementType::UINT8 ||
        tensor.type == ElementType::INT16 || (isNarrow(tensor.type) && tensor.isConstant())) {
        HALYARD_RETURN_IF_ERROR(quantize(tensor, shown, type));
        return type;
    }
    const bool isForConstants = tensor.type == ElementType::INT64 || isNarrow(tensor.type) ||
                                tensor.type == ElementType::BFLOAT16;
    if (isForConstants && tensor.isConstant()) {
        type.type = tensor.type == ElementType::INT64 ? DataType::INT32 : DataType::FLOAT32;
        return type;
    }
    return unsupported(at(shown) + " is " + toString(tensor.type) + ", which the engine has " +
                       (isForConstants ? "for constants only" : "not"));
}

Result<std::pair<TensorType, ConstantData>> engineConstant(const Tensor& tensor,
                                                           std::string_view shown,
                                                           const std::shared_ptr<Budget>& memory) {
    HALYARD_ASSIGN_OR_RETURN(TensorType type, engineType(tensor, shown));
    if (tensor.sparsity != nullptr) {
        Tensor dense = tensor;
        dense.sparsity = nullptr;
        HALYARD_ASSIGN_OR_RETURN(dense.constant, denseConstant(tensor, shown, memory));
        return engineConstant(dense, shown, memory);
    }
    HALYARD_ASSIGN_OR_RETURN(const size_t count, checkedCount(tensor, shown));
    ConstantData data = tensor.constant;
    if (isNarrow(tensor.type)) {
        HALYARD_ASSIGN_OR_RETURN(data, ownedConstant(unpacked(tensor, count), memory));
    } else if (tensor.type == ElementType::BFLOAT16) {
        HALYARD_ASSIGN_OR_RETURN(
                data, floats(count, memory, [&](size_t i) {
                    return toFloat(BFloat16{load<uint16_t>(tensor.constant.bytes, i)});
                }));
    } else if (tensor.type == ElementType::INT64) {
        std::vector<uint8_t> bytes(count * sizeof(int32_t));
        for (size_t i = 0; i < count; ++i) {
            const auto value = load<int64_t>(tensor.constant.bytes, i);
            const auto narrow = static_cast<int32_t>(value);
            if (narrow != value) {
                return unsupported(at(shown) + " has the element " + std::to_string(value) +
                                   ", and the engine's integers have 32 bits");
            }
            std::memcpy(bytes.data() + i * sizeof narrow, &narrow, sizeof narrow);
        }
        HALYARD_ASSIGN_OR_RETURN(data, ownedConstant(std::move(bytes), memory));
    } else if (tensor.type == ElementType::BOOL &&
               std::ranges::any_of(data.bytes, [](uint8_t each) { return each > 1; })) {
        return invalidArgument(at(shown) + " has truth values beyond 1");
    }
    return std::pair(std::move(type), std::move(data));
}

Result<std::pair<TensorType, ConstantData>> realConstant(const Tensor& tensor,
                                                         std::string_view shown,
                                                         const std::shared_ptr<Budget>& memory) {
    HALYARD_ASSIGN_OR_RETURN(auto constant, engineConstant(tensor, shown, memory));
    auto& [type, data] = constant;
    const std::span<const uint8_t> bytes = data.bytes;
    HALYARD_ASSIGN_OR_RETURN(const int64_t count, type.shape.elementCount());
    const auto elements = static_cast<size_t>(count);
    const engine::Quantization& quantization = type.quantization;
    Result<ConstantData> reals = ConstantData{};
    switch (type.type) {
        case DataType::FLOAT32:
            return constant;
        case DataType::FLOAT16:
            reals = floats(elements, memory,
                           [&](size_t i) { return toFloat(Half{load<uint16_t>(bytes, i)}); });
            break;
        case DataType::QUANT8_ASYMM:
            reals = floats(elements, memory, [&](size_t i) {
                return static_cast<float>(bytes[i] - quantization.zeroPoint) * quantization.scale;
            });
            break;
        case DataType::QUANT8_ASYMM_SIGNED:
            reals = floats(elements, memory, [&](size_t i) {
                return static_cast<float>(load<int8_t>(bytes, i) - quantization.zeroPoint) *
                       quantization.scale;
            });
            break;
        case DataType::QUANT16_SYMM:
            reals = floats(elements, memory, [&](size_t i) {
                return static_cast<float>(load<int16_t>(bytes, i)) * quantization.scale;
            });
            break;
        case DataType::QUANT8_SYMM_PER_CHANNEL: {
            size_t inner = 1;
            for (size_t axis = quantization.channelDim + 1; axis < type.shape.rank(); ++axis) {
                inner *= static_cast<size_t>(type.shape[axis]);
            }
            const size_t channels = quantization.channelScales.size();
            reals = floats(elements, memory, [&](size_t i) {
                return static_cast<float>(load<int8_t>(bytes, i)) *
                       quantization.channelScales[i / inner % channels];
            });
            break;
        }
        default:
            return unsupported(at(shown) + " has no real values: " + type.toString());
    }
    HALYARD_RETURN_IF_ERROR(reals.status());
    return std::pair(typed(DataType::FLOAT32, type.shape), *std::move(reals));
}

Result<std::vector<int64_t>> integersOf(const Tensor& tensor, std::string_view shown) {
    if (!tensor.unreadable.empty()) {
        return unsupported(at(shown) + ": " + tensor.unreadable);
    }
    if (tensor.sparsity != nullptr) {
        return unsupported(at(shown) + " is stored without its zeros");
    }
    HALYARD_ASSIGN_OR_RETURN(const size_t count, checkedCount(tensor, shown));
    const std::span<const uint8_t> bytes = tensor.constant.bytes;
    std::vector<int64_t> values(count);
    for (size_t i = 0; i < count; ++i) {
        switch (tensor.type) {
            case ElementType::INT8:
                values[i] = load<int8_t>(bytes, i);
                break;
            case ElementType::UINT8:
            case ElementType::BOOL:
                values[i] = bytes[i];
                break;
            case ElementType::INT16:
                values[i] = load<int16_t>(bytes, i);
                break;
            case ElementType::INT32:
                values[i] = load<int32_t>(bytes, i);
                break;
            case ElementType::INT64:
                values[i] = load<int64_t>(bytes, i);
                break;
            default:
                return unsupported(at(shown) + " is " + toString(tensor.type) +
                                   ", where integers are wanted");
        }
    }
    return values;
}

}  // namespace halyard::tflite
