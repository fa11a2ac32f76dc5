// SPDX-License-Identifier: Apache-2.0
//
// The multiply-adds of 8-bit depthwise convolutions on NEON, of 16 channels of a spatial position
// at a time or 8, and their sums' way to bytes: for quantized_depthwise_neon-inl.h.

// Read again for each instruction set.
#if defined(HALYARD_ENGINE_BACKENDS_CPU_BYTE_TAPS_NEON_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALYARD_ENGINE_BACKENDS_CPU_BYTE_TAPS_NEON_INL_H_
#undef HALYARD_ENGINE_BACKENDS_CPU_BYTE_TAPS_NEON_INL_H_
#else
#define HALYARD_ENGINE_BACKENDS_CPU_BYTE_TAPS_NEON_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

#include "engine/backends/cpu/depthwise/depthwise_line.h"

#if HWY_TARGET == HWY_NEON
HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

// Members and no arrays of two to four vectors: GCC 12 gives such arrays neighbouring registers,
// and moves vectors there and back.

// The sums of 8 lanes, and of 16.
struct HalfSums {
    int32x4_t a, b;

    HalfSums() = default;
    explicit HWY_INLINE HalfSums(const int32_t* from)
        : a(vld1q_s32(from)), b(vld1q_s32(from + 4)) {}
};
struct BlockSums {
    int32x4_t a, b, c, d;

    BlockSums() = default;
    explicit HWY_INLINE BlockSums(const int32_t* from)
        : a(vld1q_s32(from)),
          b(vld1q_s32(from + 4)),
          c(vld1q_s32(from + 8)),
          d(vld1q_s32(from + 12)) {}
};

// Sums to 8 bits, as numerics/requantize.h has it. Conversions and additions saturate, so that
// clamping comes last.
class Requantizer {
  public:
    explicit HWY_INLINE Requantizer(const QuantizedDepthwiseLine& line)
        : mZeroPoint(vdupq_n_s16(static_cast<int16_t>(line.zeroPoint))),
          mLow(vdupq_n_s16(static_cast<int16_t>(line.low))),
          mHigh(vdupq_n_s16(static_cast<int16_t>(line.high))) {}

    HWY_INLINE uint8x16_t operator()(const BlockSums& sums, const float* multipliers) const {
        return vuzp1q_u8(rounded(sums.a, sums.b, multipliers),
                         rounded(sums.c, sums.d, multipliers + 8));
    }
    HWY_INLINE uint8x8_t operator()(const HalfSums& sums, const float* multipliers) const {
        return vmovn_u16(vreinterpretq_u16_u8(rounded(sums.a, sums.b, multipliers)));
    }

  private:
    // Eight results of 16 bits.
    HWY_INLINE uint8x16_t rounded(int32x4_t a, int32x4_t b, const float* multipliers) const {
        const int16x8_t values =
                vqmovn_high_s32(vqmovn_s32(scaled(a, multipliers)), scaled(b, multipliers + 4));
        return vreinterpretq_u8_s16(
                vminq_s16(vmaxq_s16(vqaddq_s16(values, mZeroPoint), mLow), mHigh));
    }
    static HWY_INLINE int32x4_t scaled(int32x4_t sums, const float* multipliers) {
        return vcvtnq_s32_f32(vmulq_f32(vcvtq_f32_s32(sums), vld1q_f32(multipliers)));
    }

    int16x8_t mZeroPoint, mLow, mHigh;
};

// A panel's parts.
template <int kLanes>
struct Panel {
    const int32_t* biases;
    const float* multipliers;
    const std::byte* weights;

    explicit HWY_INLINE Panel(const std::byte* panel)
        : biases(reinterpret_cast<const int32_t*>(panel)),
          multipliers(reinterpret_cast<const float*>(biases + kLanes)),
          weights(reinterpret_cast<const std::byte*>(multipliers + kLanes)) {}
};

HWY_INLINE uint8x16_t loadBytes(const uint8_t* from, uint8x16_t /*as*/) {
    return vld1q_u8(from);
}
HWY_INLINE uint8x8_t loadBytes(const uint8_t* from, uint8x8_t /*as*/) {
    return vld1_u8(from);
}
HWY_INLINE void storeBytes(uint8_t* to, uint8x16_t bytes) {
    vst1q_u8(to, bytes);
}
HWY_INLINE void storeBytes(uint8_t* to, uint8x8_t bytes) {
    vst1_u8(to, bytes);
}
HWY_INLINE uint8x16_t flipOf(int32_t flip, uint8x16_t /*as*/) {
    return vdupq_n_u8(static_cast<uint8_t>(flip));
}
HWY_INLINE uint8x8_t flipOf(int32_t flip, uint8x8_t /*as*/) {
    return vdup_n_u8(static_cast<uint8_t>(flip));
}
HWY_INLINE uint8x16_t flipped(uint8x16_t bytes, uint8x16_t flip) {
    return veorq_u8(bytes, flip);
}
HWY_INLINE uint8x8_t flipped(uint8x8_t bytes, uint8x8_t flip) {
    return veor_u8(bytes, flip);
}

// Weights of 16 bits, of any zero point.
struct WidenedTaps {
    static constexpr int kLanes = 8;
    static constexpr int kGroup = 1;  // taps that are multiplied together
    static constexpr int kPackedGroup = 1;
    static constexpr TapOrder kOrder = TapOrder::ROWS;
    static constexpr bool kBytes = false;
    static constexpr int32_t kMoved = 0;
    using Bytes = uint8x8_t;
    using Sums = HalfSums;

    struct Column {
        int16x8_t x0, x1, x2;
        HWY_INLINE Column(Bytes row0, Bytes row1, Bytes row2)
            : x0(widened(row0)), x1(widened(row1)), x2(widened(row2)) {}
    };
    struct Filter {
        int16x8_t weights[9];
        explicit HWY_INLINE Filter(const std::byte* from) {
            HALYARD_UNROLL
            for (int i = 0; i < 9; ++i) {
                weights[i] = weightsOf(from, i);
            }
        }
        HWY_INLINE void addTo(HalfSums& sums, const Column& a, const Column& b,
                              const Column& c) const {
            add(sums, a.x0, weights[0]);
            add(sums, a.x1, weights[3]);
            add(sums, a.x2, weights[6]);
            add(sums, b.x0, weights[1]);
            add(sums, b.x1, weights[4]);
            add(sums, b.x2, weights[7]);
            add(sums, c.x0, weights[2]);
            add(sums, c.x1, weights[5]);
            add(sums, c.x2, weights[8]);
        }
    };

    // Taps of a group: their weights, and what they add.
    template <int kTaps>
    struct Group {
        int16x8_t weights;
        explicit HWY_INLINE Group(const std::byte* from) : weights(weightsOf(from, 0)) {}
        HWY_INLINE void addTo(HalfSums& sums, const Bytes (&x)[kTaps]) const {
            add(sums, widened(x[0]), weights);
        }
    };

  private:
    static HWY_INLINE int16x8_t weightsOf(const std::byte* from, int tap) {
        return vld1q_s16(reinterpret_cast<const int16_t*>(from) + tap * kLanes);
    }
    static HWY_INLINE int16x8_t widened(Bytes x) { return vreinterpretq_s16_u16(vmovl_u8(x)); }
    static HWY_INLINE void add(HalfSums& sums, int16x8_t x, int16x8_t weights) {
        sums.a = vmlal_s16(sums.a, vget_low_s16(x), vget_low_s16(weights));
        sums.b = vmlal_high_s16(sums.b, x, weights);
    }
};

// Weights of 8 bits, none of which is -128: 16 bits hold two products.
struct PairedTaps {
    static constexpr int kLanes = 16;
    static constexpr int kGroup = 2;
    static constexpr int kPackedGroup = 1;
    static constexpr TapOrder kOrder = TapOrder::ROWS;
    static constexpr bool kBytes = true;
    static constexpr int32_t kMoved = 128;
    using Bytes = uint8x16_t;
    using Sums = BlockSums;

    // Of one or two taps.
    struct Products {
        int16x8_t low, high;

        HWY_INLINE Products(int8x16_t x, int8x16_t w)
            : low(vmull_s8(vget_low_s8(x), vget_low_s8(w))), high(vmull_high_s8(x, w)) {}
        HWY_INLINE Products(int8x16_t x0, int8x16_t w0, int8x16_t x1, int8x16_t w1)
            : Products(x0, w0) {
            low = vmlal_s8(low, vget_low_s8(x1), vget_low_s8(w1));
            high = vmlal_high_s8(high, x1, w1);
        }
        HWY_INLINE void addTo(BlockSums& sums) const {
            sums.a = vaddw_s16(sums.a, vget_low_s16(low));
            sums.b = vaddw_high_s16(sums.b, low);
            sums.c = vaddw_s16(sums.c, vget_low_s16(high));
            sums.d = vaddw_high_s16(sums.d, high);
        }
    };

    struct Column {
        int8x16_t x0, x1, x2;
        HWY_INLINE Column(Bytes row0, Bytes row1, Bytes row2)
            : x0(vreinterpretq_s8_u8(row0)),
              x1(vreinterpretq_s8_u8(row1)),
              x2(vreinterpretq_s8_u8(row2)) {}
    };
    struct Filter {
        int8x16_t weights[9];
        explicit HWY_INLINE Filter(const std::byte* from) {
            HALYARD_UNROLL
            for (int i = 0; i < 9; ++i) {
                weights[i] = weightsOf(from, i);
            }
        }
        HWY_INLINE void addTo(BlockSums& sums, const Column& a, const Column& b,
                              const Column& c) const {
            Products(a.x0, weights[0], a.x1, weights[3]).addTo(sums);
            Products(a.x2, weights[6], b.x0, weights[1]).addTo(sums);
            Products(b.x1, weights[4], b.x2, weights[7]).addTo(sums);
            Products(c.x0, weights[2], c.x1, weights[5]).addTo(sums);
            Products(c.x2, weights[8]).addTo(sums);
        }
    };

    template <int kTaps>
    struct Group {
        int8x16_t weights[kTaps];
        explicit HWY_INLINE Group(const std::byte* from) {
            HALYARD_UNROLL
            for (int i = 0; i < kTaps; ++i) {
                weights[i] = weightsOf(from, i);
            }
        }
        HWY_INLINE void addTo(BlockSums& sums, const Bytes (&x)[kTaps]) const {
            const int8x16_t x0 = vreinterpretq_s8_u8(x[0]);
            if constexpr (kTaps == 1) {
                Products(x0, weights[0]).addTo(sums);
            } else {
                Products(x0, weights[0], vreinterpretq_s8_u8(x[1]), weights[1]).addTo(sums);
            }
        }
    };

  private:
    static HWY_INLINE int8x16_t weightsOf(const std::byte* from, int tap) {
        return vld1q_s8(reinterpret_cast<const int8_t*>(from) + tap * kLanes);
    }
};

// Four taps at once: sdot, of which Highway 1.0.3 does not know. For 3x3 filters a column of three
// rows with weights of zero for the fourth one, and for 5x5 filters those of computeFive().
struct DotTaps {
    static constexpr int kLanes = 16;
    static constexpr int kPackedGroup = 4;
    static constexpr TapOrder kOrder = TapOrder::COLUMNS_AND_LAST_ROW;
    static constexpr bool kBytes = true;
    static constexpr int32_t kMoved = 128;
    using Bytes = uint8x16_t;
    using Sums = BlockSums;

    struct Column {
        uint16x8_t a, b, c, d;  // [channel][row]
        HWY_INLINE Column(Bytes row0, Bytes row1, Bytes row2)
            : Column(row0, row1, vmovl_u8(vget_low_u8(row2)), vmovl_high_u8(row2)) {}
        HWY_INLINE Column(Bytes row0, Bytes row1, Bytes row2, Bytes row3)
            : Column(row0, row1, vreinterpretq_u16_u8(vzip1q_u8(row2, row3)),
                     vreinterpretq_u16_u8(vzip2q_u8(row2, row3))) {}

        HWY_INLINE void store(uint16_t* to) const {
            vst1q_u16(to, a);
            vst1q_u16(to + 8, b);
            vst1q_u16(to + 16, c);
            vst1q_u16(to + 24, d);
        }

      private:
        // The last two rows, of the first channels and of the others.
        HWY_INLINE Column(Bytes row0, Bytes row1, uint16x8_t low23, uint16x8_t high23) {
            const uint16x8_t low01 = vreinterpretq_u16_u8(vzip1q_u8(row0, row1));
            const uint16x8_t high01 = vreinterpretq_u16_u8(vzip2q_u8(row0, row1));
            a = vzip1q_u16(low01, low23);
            b = vzip2q_u16(low01, low23);
            c = vzip1q_u16(high01, high23);
            d = vzip2q_u16(high01, high23);
        }
    };
    struct Filter {
        int8x16_t weights[12];
        explicit HWY_INLINE Filter(const std::byte* from) {
            HALYARD_UNROLL
            for (int i = 0; i < 12; ++i) {
                weights[i] = vld1q_s8(reinterpret_cast<const int8_t*>(from) + kLanes * i);
            }
        }
        HWY_INLINE void addTo(BlockSums& sums, const Column& a, const Column& b,
                              const Column& c) const {
            add(sums, a, 0);
            add(sums, b, 4);
            add(sums, c, 8);
        }

      private:
        HWY_INLINE void add(BlockSums& sums, const Column& column, int first) const {
            DotTaps::add(sums.a, column.a, weights[first]);
            DotTaps::add(sums.b, column.b, weights[first + 1]);
            DotTaps::add(sums.c, column.c, weights[first + 2]);
            DotTaps::add(sums.d, column.d, weights[first + 3]);
        }
    };

    static HWY_INLINE void add(int32x4_t& sum, uint16x8_t x, int8x16_t w) {
        // For the assembler, which else knows no more than the file is compiled for.
        asm(".arch armv8.2-a+crypto+dotprod\n\tsdot %0.4s, %1.16b, %2.16b"
            : "+w"(sum)
            : "w"(x), "w"(w));
    }
};

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();
#endif

#endif
