// SPDX-License-Identifier: Apache-2.0
//
// Elements of a tensor of any type as the real numbers they stand for: for kernels that compute on
// real numbers whatever stores them. Float types load exactly and store to nearest; quantised types
// follow requantize.h. INT32 and BOOL8 stand for themselves (INT32 beyond 2^24 rounds).

#pragma once

#include <cmath>
#include <cstdint>

#include "engine/base/half.h"
#include "engine/graph/tensor.h"
#include "engine/numerics/elements.h"
#include "engine/numerics/requantize.h"

namespace halyard::engine {

// Reads a tensor's elements. The view's type outlives it.
class RealReader {
  public:
    explicit RealReader(const ConstTensorView& view)
        : mData(view.data), mType(view.type->type), mQuantization(&view.type->quantization) {
        if (mType == DataType::QUANT8_SYMM_PER_CHANNEL) {
            const Shape& shape = view.shape();
            mChannels = shape[mQuantization->channelDim];
            mInner = countOf(Shape(shape.extents().subspan(mQuantization->channelDim + 1)));
        }
    }

    float operator[](int64_t i) const {
        switch (mType) {
            case DataType::FLOAT32:
                return at<float>(i);
            case DataType::FLOAT16:
                return toFloat(at<Half>(i));
            case DataType::INT32:
                return static_cast<float>(at<int32_t>(i));
            case DataType::BOOL8:
                return at<uint8_t>(i) != 0 ? 1.0F : 0.0F;
            case DataType::QUANT8_ASYMM:
                return dequantize(at<uint8_t>(i), *mQuantization);
            case DataType::QUANT8_ASYMM_SIGNED:
            case DataType::QUANT8_SYMM:
                return dequantize(at<int8_t>(i), *mQuantization);
            case DataType::QUANT8_SYMM_PER_CHANNEL:
                return mQuantization->channelScales[static_cast<size_t>(i / mInner % mChannels)] *
                       static_cast<float>(at<int8_t>(i));
            case DataType::QUANT16_SYMM:
                return dequantize(at<int16_t>(i), *mQuantization);
            case DataType::QUANT16_ASYMM:
                return dequantize(at<uint16_t>(i), *mQuantization);
        }
        return 0.0F;
    }

  private:
    template <typename T>
    T at(int64_t i) const {
        return static_cast<const T*>(mData)[i];
    }

    const void* mData;
    DataType mType;
    const Quantization* mQuantization;
    int64_t mChannels = 1;  // per-channel types only, as is the next
    int64_t mInner = 1;     // elements between neighbours along the channels' axis
};

// Writes a tensor's elements; not for per-channel types. INT32 takes the nearest integer (NaN: 0),
// BOOL8 whether the number is not 0.
class RealWriter {
  public:
    explicit RealWriter(const TensorView& view) : mData(view.data), mType(view.type) {}

    void set(int64_t i, float value) const {
        switch (mType->type) {
            case DataType::FLOAT32:
                at<float>(i) = value;
                return;
            case DataType::FLOAT16:
                at<Half>(i) = toHalf(value);
                return;
            case DataType::INT32:
                at<int32_t>(i) = toInt32(value);
                return;
            case DataType::BOOL8:
                at<uint8_t>(i) = value != 0.0F ? 1 : 0;
                return;
            case DataType::QUANT8_ASYMM:
                at<uint8_t>(i) = static_cast<uint8_t>(quantize(value, *mType));
                return;
            case DataType::QUANT8_ASYMM_SIGNED:
            case DataType::QUANT8_SYMM:
            case DataType::QUANT8_SYMM_PER_CHANNEL:
                at<int8_t>(i) = static_cast<int8_t>(quantize(value, *mType));
                return;
            case DataType::QUANT16_SYMM:
                at<int16_t>(i) = static_cast<int16_t>(quantize(value, *mType));
                return;
            case DataType::QUANT16_ASYMM:
                at<uint16_t>(i) = static_cast<uint16_t>(quantize(value, *mType));
                return;
        }
    }

  private:
    static int32_t toInt32(float value) {
        if (std::isnan(value)) {
            return 0;
        }
        // Below 2^31, the largest float is 2^31 - 128.
        return static_cast<int32_t>(
                std::nearbyint(std::clamp(value, -2147483648.0F, 2147483520.0F)));
    }
    template <typename T>
    T& at(int64_t i) const {
        return static_cast<T*>(mData)[i];
    }

    void* mData;
    const TensorType* mType;
};

}  // namespace halyard::engine
