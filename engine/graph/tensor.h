// SPDX-License-Identifier: Apache-2.0
//
// Tensors: an element type, a shape and quantisation parameters, and views of the memory that holds
// its elements. Elements are dense, row-major, in native byte order.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/status.h"

namespace halyard::engine {

enum class DataType : uint8_t {
    FLOAT32,
    FLOAT16,  // IEEE binary16
    INT32,
    BOOL8,                    // one byte, 0 or 1
    QUANT8_ASYMM,             // real = scale * (uint8 - zeroPoint)
    QUANT8_ASYMM_SIGNED,      // real = scale * (int8 - zeroPoint)
    QUANT8_SYMM,              // real = scale * int8
    QUANT8_SYMM_PER_CHANNEL,  // real = channelScales[c] * int8
    QUANT16_SYMM,             // real = scale * int16
    QUANT16_ASYMM,            // real = scale * (uint16 - zeroPoint)
};

// Bytes per element.
size_t elementSize(DataType type);
std::string_view toString(DataType type);
bool isFloat(DataType type);      // FLOAT32, FLOAT16
bool isQuantized(DataType type);  // any QUANT*
// The smallest and largest value an element may hold, for integer types (quantised ones included).
int32_t minValue(DataType type);
int32_t maxValue(DataType type);

// A dimension that is not known until the graph is given inputs, or until a node has run. Zero is
// an ordinary extent: the tensor has no elements.
inline constexpr int32_t kUnknownDimension = -1;
// NNAPI sets no limit. No kernel's work for an element grows with more than the rank.
inline constexpr size_t kMaxRank = 16;

// Extents, outermost first, or "rank unknown". A scalar has rank 0. Value type, no heap.
class Shape {
  public:
    Shape() = default;  // scalar
    Shape(std::initializer_list<int32_t> extents);
    // `extents` holds at most kMaxRank entries, each >= 0 or kUnknownDimension: more is a defect of
    // the caller and ends the process. Extents from outside go through create().
    explicit Shape(std::span<const int32_t> extents);
    // UNSUPPORTED above kMaxRank; INVALID_ARGUMENT for a negative extent that is not unknown.
    static Result<Shape> create(std::span<const int32_t> extents);
    static Shape unknownRank();

    bool hasKnownRank() const { return mKnownRank; }
    size_t rank() const { return mRank; }
    int32_t operator[](size_t axis) const { return mExtents[axis]; }
    int32_t& operator[](size_t axis) { return mExtents[axis]; }
    std::span<const int32_t> extents() const { return {mExtents, mRank}; }
    bool isFullyKnown() const;
    // Product of the extents; fails when an extent is unknown or the product exceeds INT32_MAX.
    Result<int64_t> elementCount() const;
    bool operator==(const Shape& other) const;
    // "[1, ?, 3]", "[]", "[*]".
    std::string toString() const;

  private:
    int32_t mExtents[kMaxRank] = {};
    uint8_t mRank = 0;
    bool mKnownRank = true;
};

// The scales of a tensor's channels. Immutable, and shared by all copies: types are copied with
// every graph, partition and plan that a tensor appears in, and a client chooses how many channels
// there are.
class ChannelScales {
  public:
    ChannelScales() = default;                          // none
    ChannelScales(std::initializer_list<float> scales)  // NOLINT(google-explicit-constructor)
        : ChannelScales(std::vector<float>(scales)) {}
    ChannelScales(std::vector<float> scales)  // NOLINT(google-explicit-constructor)
        : mScales(std::make_shared<const std::vector<float>>(std::move(scales))) {}

    size_t size() const { return mScales == nullptr ? 0 : mScales->size(); }
    float operator[](size_t channel) const { return (*mScales)[channel]; }
    const float* begin() const { return mScales == nullptr ? nullptr : mScales->data(); }
    const float* end() const { return begin() + size(); }
    bool operator==(const ChannelScales& other) const {
        return mScales == other.mScales || std::ranges::equal(*this, other);
    }

  private:
    std::shared_ptr<const std::vector<float>> mScales;  // null: none
};

struct Quantization {
    float scale = 0.0F;
    int32_t zeroPoint = 0;
    // For QUANT8_SYMM_PER_CHANNEL only: one scale per index of dimension channelDim.
    ChannelScales channelScales;
    uint32_t channelDim = 0;

    bool operator==(const Quantization&) const = default;
};

struct TensorType {
    DataType type = DataType::FLOAT32;
    Shape shape;
    Quantization quantization;

    // Bytes that the elements take; fails like Shape::elementCount, or past SIZE_MAX / 2.
    Result<size_t> byteSize() const;
    std::string toString() const;
    bool operator==(const TensorType&) const = default;
};

// A block of a device's memory, which the processor can't read or write as it is
// (engine/plan/device_memory.h).
class DeviceBuffer;

// Read-only elements with their type. The view owns nothing; `data` may be unaligned only where a
// function says so. A tensor that was omitted (an optional input) has type == nullptr.
struct ConstTensorView {
    const TensorType* type = nullptr;
    const void* data = nullptr;            // null where the elements lie on a device
    const DeviceBuffer* device = nullptr;  // null: `data` is ordinary memory
    size_t offset = 0;                     // in `device`, in bytes
    // A graph's input, before a run says whether it is there. Only shape inference asks.
    bool mayBeLeftOut = false;

    bool present() const { return type != nullptr; }
    const Shape& shape() const { return type->shape; }
    template <typename T>
    const T* as() const {
        return static_cast<const T*>(data);
    }
};

struct TensorView {
    const TensorType* type = nullptr;
    void* data = nullptr;
    DeviceBuffer* device = nullptr;  // as above
    size_t offset = 0;

    bool placed() const { return data != nullptr || device != nullptr; }
    const Shape& shape() const { return type->shape; }
    template <typename T>
    T* as() const {
        return static_cast<T*>(data);
    }
};

}  // namespace halyard::engine
