// SPDX-License-Identifier: Apache-2.0
//
// Elements of any type as vectors of floats, and back: for sources that targets.h compiles once for
// each instruction set. Nothing is read or written but the elements that are asked for.

// Read again for each instruction set.
#if defined(HALYARD_ENGINE_BACKENDS_CPU_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALYARD_ENGINE_BACKENDS_CPU_LANES_INL_H_
#undef HALYARD_ENGINE_BACKENDS_CPU_LANES_INL_H_
#else
#define HALYARD_ENGINE_BACKENDS_CPU_LANES_INL_H_
#endif

#include <cstdint>
#include <type_traits>

#include "engine/backends/cpu/vectors/partial_vectors-inl.h"
#include "engine/base/half.h"
#include "engine/numerics/elements.h"
#include "engine/numerics/requantize.h"

HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::CappedTag<float, 16>;
constexpr Floats kFloats;
using FloatVector = hn::Vec<Floats>;
using Ints = hn::Rebind<int32_t, Floats>;
constexpr Ints kInts;
using IntVector = hn::Vec<Ints>;

constexpr size_t kMostLanes = 16;

// How many of a vector's elements are there.
struct All {};
struct Some {
    size_t count;
};

// Calls body(i, All or Some) for each vector of [0, count).
template <typename Body>
HWY_INLINE void forEachVector(int64_t count, Body body) {
    const auto lanes = static_cast<int64_t>(hn::Lanes(kFloats));
    int64_t i = 0;
    for (; i + lanes <= count; i += lanes) {
        body(i, All());
    }
    if (i < count) {
        body(i, Some{.count = static_cast<size_t>(count - i)});
    }
}

// As many elements of T as a vector has floats.
template <typename T>
using Stored = hn::Rebind<T, Floats>;

template <typename T>
HWY_INLINE hn::Vec<Stored<T>> loadStored(const T* from, All /*all*/) {
    return hn::LoadU(Stored<T>(), from);
}
template <typename T>
HWY_INLINE void storeStored(hn::Vec<Stored<T>> values, T* to, All /*all*/) {
    hn::StoreU(values, Stored<T>(), to);
}
template <typename T>
HWY_INLINE hn::Vec<Stored<T>> loadStored(const T* from, Some some) {
    return loadFirst(Stored<T>(), from, some.count);
}
template <typename T>
HWY_INLINE void storeStored(hn::Vec<Stored<T>> values, T* to, Some some) {
    storeFirst(values, Stored<T>(), to, some.count);
}

HWY_INLINE size_t countIn(All /*all*/) {
    return hn::Lanes(kFloats);
}
HWY_INLINE size_t countIn(Some some) {
    return some.count;
}

// ---- Integers -----------------------------------------------------------------------------------

template <typename T, typename Count>
HWY_INLINE IntVector loadInts(const T* from, Count count) {
    if constexpr (sizeof(T) == sizeof(int32_t)) {
        return loadStored(from, count);
    } else {
        return hn::PromoteTo(kInts, loadStored(from, count));
    }
}

// The low bits of each.
template <typename T, typename Count>
HWY_INLINE void storeInts(IntVector values, T* to, Count count) {
    if constexpr (sizeof(T) == sizeof(int32_t)) {
        storeStored(values, to, count);
    } else {
        const hn::RebindToUnsigned<Ints> unsignedInts;
        storeStored(hn::TruncateTo(Stored<uint8_t>(), hn::BitCast(unsignedInts, values)),
                    reinterpret_cast<uint8_t*>(to), count);
    }
}

// ---- Floats -------------------------------------------------------------------------------------

// Elsewhere Highway 1.0.3 emulates conversions of halves without infinities and rounding.
#define HALYARD_HAS_FLOAT16                              \
    (HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2 || \
     (HWY_TARGET == HWY_NEON && HWY_ARCH_ARM_A64))

template <typename Count>
HWY_INLINE FloatVector loadFloats(const float* from, Count count) {
    return loadStored(from, count);
}
template <typename Count>
HWY_INLINE FloatVector loadFloats(const Half* from, Count count) {
#if HALYARD_HAS_FLOAT16
    const auto bits = loadStored(reinterpret_cast<const uint16_t*>(from), count);
    return hn::PromoteTo(kFloats, hn::BitCast(Stored<hwy::float16_t>(), bits));
#else
    alignas(64) float buffer[kMostLanes] = {};
    for (size_t i = 0; i < countIn(count); ++i) {
        buffer[i] = toFloat(from[i]);
    }
    return hn::Load(kFloats, buffer);
#endif
}
template <typename T, typename Count>
requires std::is_integral_v<T> HWY_INLINE FloatVector loadFloats(const T* from, Count count) {
    return hn::ConvertTo(kFloats, loadInts(from, count));
}

template <typename Count>
HWY_INLINE void storeFloats(FloatVector values, float* to, Count count) {
    storeStored(values, to, count);
}
template <typename Count>
HWY_INLINE void storeFloats(FloatVector values, Half* to, Count count) {
#if HALYARD_HAS_FLOAT16
    const auto halves = hn::DemoteTo(Stored<hwy::float16_t>(), values);
    storeStored(hn::BitCast(Stored<uint16_t>(), halves), reinterpret_cast<uint16_t*>(to), count);
#else
    alignas(64) float buffer[kMostLanes];
    hn::Store(values, kFloats, buffer);
    for (size_t i = 0; i < countIn(count); ++i) {
        to[i] = toHalf(buffer[i]);
    }
#endif
}

// A NaN stays one, which minima and maxima of some processors do not let through.
HWY_INLINE FloatVector clampLanes(FloatVector value, FloatVector low, FloatVector high) {
    value = hn::IfThenElse(hn::Lt(value, low), low, value);
    return hn::IfThenElse(hn::Gt(value, high), high, value);
}

// roundAndClamp() of requantize.h.
class Rounding {
  public:
    Rounding(int32_t zeroPoint, QuantizedRange range)
        : mZeroPoint(hn::Set(kInts, zeroPoint)),
          mLow(hn::Set(kFloats, static_cast<float>(range.low - zeroPoint))),
          mHigh(hn::Set(kFloats, static_cast<float>(range.high - zeroPoint))) {}

    HWY_INLINE IntVector operator()(FloatVector value) const {
        const FloatVector number = hn::IfThenElseZero(hn::Eq(value, value), value);
        return hn::Add(hn::NearestInt(clampLanes(number, mLow, mHigh)), mZeroPoint);
    }

  private:
    IntVector mZeroPoint;
    FloatVector mLow;
    FloatVector mHigh;
};

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();

#endif
