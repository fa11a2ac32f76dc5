// SPDX-License-Identifier: Apache-2.0
//
// 8-bit depthwise convolutions by vpdpbusd, which multiplies four bytes of each lane and adds them
// to its sum, and of which Highway 1.0.3 does not know: for quantized_depthwise.cc.
//
// Vectors have 64 channels of a spatial position, or 32 or 16 of two or four. Taps of one column of
// the filter are brought together, four lines at a time: where windows overlap, the next spatial
// position needs that of its last columns alone.

// Read again for each instruction set.
#if defined(HALYARD_ENGINE_BACKENDS_CPU_QUANTIZED_DEPTHWISE_VNNI_INL_H_) == \
        defined(HWY_TARGET_TOGGLE)
#ifdef HALYARD_ENGINE_BACKENDS_CPU_QUANTIZED_DEPTHWISE_VNNI_INL_H_
#undef HALYARD_ENGINE_BACKENDS_CPU_QUANTIZED_DEPTHWISE_VNNI_INL_H_
#else
#define HALYARD_ENGINE_BACKENDS_CPU_QUANTIZED_DEPTHWISE_VNNI_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <utility>

#include <hwy/highway.h>

#include "engine/backends/cpu/depthwise/depthwise_line.h"

#if HWY_TARGET == HWY_AVX3
HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

// A form of QuantizedDepthwise, and what it computes a line with.
struct VnniTaps {
    static constexpr int kGroup = 4;
    static constexpr int64_t kLanes = 64;
    static constexpr int64_t kGroupBytes = kGroup * kLanes;

    // Of 64 lanes: numbers of 32 bits, or up to four bytes for each, of as many lines.
    struct Lanes {
        __m512i v[4];
    };

    static HWY_INLINE Lanes bringTogether(__m512i x0, __m512i x1, __m512i x2, __m512i x3) {
        const __m512i low01 = _mm512_unpacklo_epi8(x0, x1);
        const __m512i high01 = _mm512_unpackhi_epi8(x0, x1);
        const __m512i low23 = _mm512_unpacklo_epi8(x2, x3);
        const __m512i high23 = _mm512_unpackhi_epi8(x2, x3);
        return {{_mm512_unpacklo_epi16(low01, low23), _mm512_unpackhi_epi16(low01, low23),
                 _mm512_unpacklo_epi16(high01, high23), _mm512_unpackhi_epi16(high01, high23)}};
    }

    static HWY_INLINE void addProducts(Lanes& sums, const Lanes& x, const std::byte* weights) {
        HALYARD_UNROLL
        for (int i = 0; i < 4; ++i) {
            asm("vpdpbusd %2, %1, %0"
                : "+v"(sums.v[i])
                : "v"(x.v[i]), "m"(*reinterpret_cast<const __m512i*>(weights + i * kLanes)));
        }
    }

    // A panel, and what becomes of its sums.
    class Block {
      public:
        HWY_INLINE Block(const QuantizedDepthwiseLine& line, const std::byte* panel)
            : mBiases(reinterpret_cast<const int32_t*>(panel)),
              mMultipliers(reinterpret_cast<const float*>(mBiases + kLanes)),
              mWeights(reinterpret_cast<const std::byte*>(mMultipliers + kLanes)),
              mHigh(_mm512_set1_ps(static_cast<float>(line.high - line.zeroPoint))),
              mZeroPoint(_mm512_set1_epi16(static_cast<int16_t>(line.zeroPoint + shiftOf(line)))),
              mLow(_mm512_set1_epi8(static_cast<char>(line.low + shiftOf(line)))),
              mShift(_mm512_set1_epi8(static_cast<char>(shiftOf(line)))) {}

        HWY_INLINE Lanes biases() const {
            return {{_mm512_load_si512(mBiases), _mm512_load_si512(mBiases + 16),
                     _mm512_load_si512(mBiases + 32), _mm512_load_si512(mBiases + 48)}};
        }
        HWY_INLINE const std::byte* weights() const { return mWeights; }

        // As quantized_gemm.cc goes back to 8 bits.
        HWY_INLINE __m512i bytesOf(const Lanes& sums) const {
            const __m512i low = _mm512_adds_epi16(
                    _mm512_packs_epi32(rounded(sums, 0), rounded(sums, 1)), mZeroPoint);
            const __m512i high = _mm512_adds_epi16(
                    _mm512_packs_epi32(rounded(sums, 2), rounded(sums, 3)), mZeroPoint);
            return _mm512_xor_si512(_mm512_max_epu8(_mm512_packus_epi16(low, high), mLow), mShift);
        }

      private:
        // Signed bounds are moved to where unsigned ones are.
        static int32_t shiftOf(const QuantizedDepthwiseLine& line) {
            return line.low < 0 ? 128 : 0;
        }
        HWY_INLINE __m512i rounded(const Lanes& sums, int i) const {
            const __m512 value = _mm512_mul_ps(_mm512_cvtepi32_ps(sums.v[i]),
                                               _mm512_load_ps(mMultipliers + i * 16));
            return _mm512_cvtps_epi32(_mm512_min_ps(value, mHigh));
        }

        const int32_t* mBiases;
        const float* mMultipliers;
        const std::byte* mWeights;
        __m512 mHigh;
        __m512i mZeroPoint;
        __m512i mLow;
        __m512i mShift;
    };

    // kPixels spatial positions beside each other in a vector, of up to kLanes / kPixels channels
    // each, which lie far from each other in x and y. kWhole: of that many.
    template <int kPixels, bool kWhole>
    class Beside {
      public:
        static constexpr int kCount = kPixels;

        HWY_INLINE Beside(uint8_t flip, int64_t channels, ptrdiff_t xApart, ptrdiff_t yApart)
            : mFlip(_mm512_set1_epi8(static_cast<char>(flip))),
              mMask(~uint64_t{0} >> static_cast<unsigned>(kLanes - channels)),
              mXApart(xApart),
              mYApart(yApart) {}

        HWY_INLINE __m512i load(const uint8_t* x) const {
            __m512i bytes;
            if constexpr (kPixels == 1) {
                bytes = kWhole ? _mm512_loadu_si512(x) : _mm512_maskz_loadu_epi8(mMask, x);
            } else if constexpr (kPixels == 2) {
                bytes = _mm512_inserti64x4(_mm512_castsi256_si512(half(x)), half(x + mXApart), 1);
            } else {
                bytes = _mm512_inserti32x4(_mm512_castsi128_si512(quarter(x)), quarter(x + mXApart),
                                           1);
                bytes = _mm512_inserti32x4(bytes, quarter(x + 2 * mXApart), 2);
                bytes = _mm512_inserti32x4(bytes, quarter(x + 3 * mXApart), 3);
            }
            return _mm512_xor_si512(bytes, mFlip);
        }

        HWY_INLINE void store(__m512i bytes, uint8_t* y) const {
            if constexpr (kPixels == 1) {
                if constexpr (kWhole) {
                    _mm512_storeu_si512(y, bytes);
                } else {
                    _mm512_mask_storeu_epi8(y, mMask, bytes);
                }
            } else if constexpr (kPixels == 2) {
                const auto mask = static_cast<__mmask32>(mMask);
                _mm256_mask_storeu_epi8(y, mask, _mm512_castsi512_si256(bytes));
                _mm256_mask_storeu_epi8(y + mYApart, mask, _mm512_extracti64x4_epi64(bytes, 1));
            } else {
                const auto mask = static_cast<__mmask16>(mMask);
                _mm_mask_storeu_epi8(y, mask, _mm512_castsi512_si128(bytes));
                _mm_mask_storeu_epi8(y + mYApart, mask, _mm512_extracti32x4_epi32(bytes, 1));
                _mm_mask_storeu_epi8(y + 2 * mYApart, mask, _mm512_extracti32x4_epi32(bytes, 2));
                _mm_mask_storeu_epi8(y + 3 * mYApart, mask, _mm512_extracti32x4_epi32(bytes, 3));
            }
        }

      private:
        HWY_INLINE __m256i half(const uint8_t* x) const {
            return kWhole ? _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x))
                          : _mm256_maskz_loadu_epi8(static_cast<__mmask32>(mMask), x);
        }
        HWY_INLINE __m128i quarter(const uint8_t* x) const {
            return kWhole ? _mm_loadu_si128(reinterpret_cast<const __m128i*>(x))
                          : _mm_maskz_loadu_epi8(static_cast<__mmask16>(mMask), x);
        }

        __m512i mFlip;
        __mmask64 mMask;
        ptrdiff_t mXApart;
        ptrdiff_t mYApart;
    };

    // Some columns of the feature map in the lines that a filter of kSide by kSide taps reads, one
    // after another, with the padding beside it.
    template <int kSide, typename Pixels>
    class Columns {
      public:
        // From the first column of the window of `pixel` on.
        HWY_INLINE Columns(const QuantizedDepthwiseLine& line, const Pixels& pixels,
                           int64_t channel, int64_t pixel)
            : mPixels(pixels),
              // There are no more bytes of it than those of one spatial position; others reach
              // none.
              mPadding(Pixels::kCount == 1 ? pixels.load(line.padding + channel)
                                           : _mm512_setzero_si512()),
              mColumn(pixel * line.window.strideW - line.window.left),
              mWidth(line.window.inputW) {
            const DepthwiseWindow& window = line.window;
            for (int64_t i = 0; i < kSide; ++i) {
                const bool isThere = i >= window.firstRow && i < window.endRow;
                mSteps[i] = isThere ? line.xPixel : 0;
                mLines[i] = isThere ? line.x + i * window.row + mColumn * line.xPixel + channel
                                    : line.padding + channel;
            }
        }

        HWY_INLINE void next(__m512i (&x)[kSide]) {
            if (mColumn >= 0 && mColumn < mWidth) {
                HALYARD_UNROLL
                for (int i = 0; i < kSide; ++i) {
                    x[i] = mPixels.load(mLines[i]);
                }
            } else {
                HALYARD_UNROLL
                for (int i = 0; i < kSide; ++i) {
                    x[i] = mPadding;
                }
            }
            ++mColumn;
            HALYARD_UNROLL
            for (int i = 0; i < kSide; ++i) {
                mLines[i] += mSteps[i];
            }
        }

      private:
        const Pixels& mPixels;
        const __m512i mPadding;
        int64_t mColumn;
        const int64_t mWidth;
        const uint8_t* mLines[kSide];
        ptrdiff_t mSteps[kSide];
    };

    // So many spatial positions, whose windows lie kStride spatial positions apart, from `columns`
    // on.
    template <int kStride, typename Pixels>
    static HWY_INLINE void computeThree(const Block& block, const Pixels& pixels,
                                        Columns<3, Pixels> columns, int64_t count, uint8_t* y,
                                        ptrdiff_t yStep) {
        const auto next = [&]() HWY_ATTR __attribute__((always_inline)) {
            __m512i x[3];
            columns.next(x);
            return bringTogether(x[0], x[1], x[2], _mm512_setzero_si512());
        };
        const auto give = [&](const Lanes& a, const Lanes& b, const Lanes& c) HWY_ATTR
                __attribute__((always_inline)) {
            Lanes sums = block.biases();
            addProducts(sums, a, block.weights());
            addProducts(sums, b, block.weights() + kGroupBytes);
            addProducts(sums, c, block.weights() + 2 * kGroupBytes);
            pixels.store(block.bytesOf(sums), y);
            y += yStep;
        };
        Lanes a = next();
        if constexpr (kStride == 2) {
            for (int64_t i = 0; i < count; ++i) {
                const Lanes b = next();
                const Lanes c = next();
                give(a, b, c);
                a = c;
            }
            return;
        }
        Lanes b = next();
        int64_t i = 0;
        for (; i + 3 <= count; i += 3) {
            const Lanes c = next();
            give(a, b, c);
            a = next();
            give(b, c, a);
            b = next();
            give(c, a, b);
        }
        for (; i < count; ++i) {
            const Lanes c = next();
            give(a, b, c);
            a = b;
            b = c;
        }
    }

    // The same of five by five taps. Each column is added to the sums of the spatial positions that
    // reach it.
    template <int kStride, typename Pixels>
    class Five {
      public:
        HWY_INLINE Five(const Block& block, const Pixels& pixels, Columns<5, Pixels> columns,
                        int64_t count, uint8_t* y, ptrdiff_t yStep)
            : mBlock(block),
              mPixels(pixels),
              mColumns(columns),
              mAll(count + kEarly),
              mY(y),
              mYStep(yStep) {}

        // The first sums are those of the spatial position that begins with the next column, the
        // last ones those of the spatial position that ends with it, and then of one that begins.
        HWY_INLINE void run() {
            Lanes a = mBlock.biases();
            Lanes b = a;
            Lanes c = a;
            if constexpr (kStride == 2) {
                while (addTwo(a, c, b) && addTwo(b, a, c) && addTwo(c, b, a)) {
                }
            } else {
                Lanes d = a;
                Lanes e = a;
                while (addOne(a, e, d, c, b) && addOne(b, a, e, d, c) && addOne(c, b, a, e, d) &&
                       addOne(d, c, b, a, e) && addOne(e, d, c, b, a)) {
                }
            }
        }

      private:
        // Spatial positions before these that end with the first columns.
        static constexpr int64_t kEarly = 4 / kStride;

        // Adds the next column to sums, as tap kFirst of the first ones, kFirst + kStride of the
        // second ones and so on. Four lines first and then the fifth: sums take most registers.
        template <int kFirst, typename... Sums>
        HWY_INLINE void addNext(Sums&... sums) {
            // All that columns share is read where it is used: sums take the registers.
            asm volatile("" : : "r"(&mBlock), "r"(&mPixels) : "memory");
            __m512i x[5];
            mColumns.next(x);
            const __m512i none = _mm512_setzero_si512();
            const Lanes four = bringTogether(x[0], x[1], x[2], x[3]);
            const std::byte* weights = mBlock.weights() + 2 * kFirst * kGroupBytes;
            (addProducts(sums, four, std::exchange(weights, weights + 2 * kStride * kGroupBytes)),
             ...);
            const Lanes last = bringTogether(x[4], none, none, none);
            weights = mBlock.weights() + (2 * kFirst + 1) * kGroupBytes;
            (addProducts(sums, last, std::exchange(weights, weights + 2 * kStride * kGroupBytes)),
             ...);
        }
        // Whether another spatial position ends after this one.
        HWY_INLINE bool end(Lanes& sums) {
            if (mDone++ >= kEarly) {
                mPixels.store(mBlock.bytesOf(sums), mY);
                mY += mYStep;
            }
            sums = mBlock.biases();
            return mDone < mAll;
        }

        HWY_INLINE bool addOne(Lanes& first, Lanes& second, Lanes& third, Lanes& fourth,
                               Lanes& fifth) {
            addNext<0>(first, second, third, fourth, fifth);
            return end(fifth);
        }
        HWY_INLINE bool addTwo(Lanes& first, Lanes& second, Lanes& third) {
            addNext<0>(first, second, third);
            if (!end(third)) {
                return false;
            }
            addNext<1>(first, second);
            return true;
        }

        const Block& mBlock;
        const Pixels& mPixels;
        Columns<5, Pixels> mColumns;
        const int64_t mAll;  // spatial positions, with the early ones
        int64_t mDone = 0;
        uint8_t* mY;
        const ptrdiff_t mYStep;
    };

    // Spatial positions [pixel, pixel + count), and as many that follow them for each
    // place beside them in a vector.
    template <int kSide, int kStride, int kPixels, bool kWhole>
    static void computeRow(const QuantizedDepthwiseLine& line, const std::byte* panel,
                           const DepthwiseBlock& at, int64_t pixel, int64_t count) {
        if (count <= 0) {
            return;
        }
        const ptrdiff_t yStep = line.yPixel;
        using Pixels = Beside<kPixels, kWhole>;
        const Pixels pixels(line.flip, at.channels, count * kStride * line.xPixel, count * yStep);
        const Block block(line, panel);
        const Columns<kSide, Pixels> columns(line, pixels, at.channel, pixel);
        uint8_t* const y = line.y + pixel * yStep + at.channel;
        if constexpr (kSide == 3) {
            computeThree<kStride>(block, pixels, columns, count, y, yStep);
        } else {
            Five<kStride, Pixels>(block, pixels, columns, count, y, yStep).run();
        }
    }

    template <int kSide, int kStride>
    static void computeLine(const QuantizedDepthwiseLine& line, const std::byte* panel,
                            const DepthwiseBlock& block) {
        const DepthwiseWindow& window = line.window;
        const int64_t beside = kLanes / block.part;
        const bool isWhole = block.channels == block.part;
        constexpr auto kOne = computeRow<kSide, kStride, 1, false>;
        int64_t begin = window.firstPixel;
        if (beside == 1) {
            const auto compute = isWhole ? computeRow<kSide, kStride, 1, true> : kOne;
            compute(line, panel, block, begin, window.endPixel - begin);
            return;
        }
        // Padding is the same for all spatial positions beside each other.
        if (window.firstRow == 0 && window.endRow == window.filterH) {
            const InnerPixels inner = innerPixels(window);
            const int64_t each = (inner.end - inner.first) / beside;
            kOne(line, panel, block, begin, inner.first - begin);
            const auto compute = beside == 2 ? (isWhole ? computeRow<kSide, kStride, 2, true>
                                                        : computeRow<kSide, kStride, 2, false>)
                                             : (isWhole ? computeRow<kSide, kStride, 4, true>
                                                        : computeRow<kSide, kStride, 4, false>);
            compute(line, panel, block, inner.first, each);
            begin = inner.first + each * beside;
        }
        kOne(line, panel, block, begin, window.endPixel - begin);
    }

    // Computes a block of channels of a line. Null where the filter is none whose columns are kept
    // for the next spatial positions.
    using LineKernel = void (*)(const QuantizedDepthwiseLine& line, const std::byte* panel,
                                const DepthwiseBlock& block);
    static LineKernel kernelOf(const DepthwiseWindow& window) {
        if (window.filterH != window.filterW || window.dilationW != 1) {
            return nullptr;
        }
        if (window.filterH == 3) {
            return window.strideW == 1   ? computeLine<3, 1>
                   : window.strideW == 2 ? computeLine<3, 2>
                                         : nullptr;
        }
        if (window.filterH == 5) {
            return window.strideW == 1   ? computeLine<5, 1>
                   : window.strideW == 2 ? computeLine<5, 2>
                                         : nullptr;
        }
        return nullptr;
    }

    // One spatial position, of which line.taps are, some bytes further.
    static void computePixel(const QuantizedDepthwiseLine& line, const std::byte* panel,
                             const DepthwiseBlock& at, ptrdiff_t shift, uint8_t* y) {
        const DepthwiseWindow& window = line.window;
        const Block block(line, panel);
        const Beside<1, false> pixels(line.flip, at.channels, 0, 0);
        const __m512i none = _mm512_setzero_si512();
        Lanes sums = block.biases();
        const std::byte* weights = block.weights();
        for (int64_t column = 0; column < window.filterW; ++column) {
            const auto load = [&](int64_t i) HWY_ATTR {
                return i < window.filterH ? pixels.load(line.taps[i * window.filterW + column] +
                                                        shift + at.channel)
                                          : none;
            };
            for (int64_t i = 0; i < window.filterH; i += kGroup) {
                addProducts(sums, bringTogether(load(i), load(i + 1), load(i + 2), load(i + 3)),
                            weights);
                weights += kGroupBytes;
            }
        }
        pixels.store(block.bytesOf(sums), y + at.channel);
    }
};

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();
#endif

#endif
