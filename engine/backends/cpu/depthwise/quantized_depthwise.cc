// SPDX-License-Identifier: Apache-2.0

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backends/cpu/depthwise/quantized_depthwise.cc"
#include "engine/backends/cpu/vectors/targets.h"

#include <algorithm>

#include "engine/backends/cpu/depthwise/depthwise_line.h"
#include "engine/backends/cpu/vectors/partial_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Ints = hn::CappedTag<int32_t, 16>;
constexpr Ints kInts;
using IntVector = hn::Vec<Ints>;
using Floats = hn::CappedTag<float, 16>;
constexpr Floats kFloats;
using FloatVector = hn::Vec<Floats>;

// The way back to 8 bits, as numerics/requantize.h has it.
struct Requantizer {
    FloatVector low;
    FloatVector high;
    IntVector zeroPoint;

    explicit Requantizer(const QuantizedDepthwiseLine& line)
        : low(hn::Set(kFloats, static_cast<float>(line.low - line.zeroPoint))),
          high(hn::Set(kFloats, static_cast<float>(line.high - line.zeroPoint))),
          zeroPoint(hn::Set(kInts, line.zeroPoint)) {}

    HWY_INLINE IntVector operator()(IntVector sum, const float* multipliers) const {
        const FloatVector value =
                hn::Mul(hn::ConvertTo(kFloats, sum), hn::Load(kFloats, multipliers));
        return hn::Add(hn::NearestInt(hn::Min(hn::Max(value, low), high)), zeroPoint);
    }
};

// Taps in 16 bits, as many of one channel together as the processor multiplies and adds.
struct HalfTaps {
    using Weight = int16_t;
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_SSE4
    static constexpr int kGroup = 2;
#else
    static constexpr int kGroup = 1;
#endif
    static constexpr bool kBytes = false;
    static constexpr bool kParts = false;
    static constexpr int32_t kMoved = 0;
    static int64_t lanes() {
        return static_cast<int64_t>(hn::Lanes(kInts));
    }

    static HWY_INLINE IntVector load(const uint8_t* from, size_t count, uint8_t flip) {
        const hn::Rebind<uint8_t, Ints> bytes;
        return hn::PromoteTo(kInts, hn::Xor(loadFirst(bytes, from, count), hn::Set(bytes, flip)));
    }

    static void computePixel(const QuantizedDepthwiseLine& line, int64_t taps,
                             const std::byte* panel, int64_t channel, size_t count, ptrdiff_t shift,
                             uint8_t* y) {
        const ptrdiff_t at = shift + channel;
        const size_t size = hn::Lanes(kInts);
        const auto* biases = reinterpret_cast<const int32_t*>(panel);
        const auto* multipliers = reinterpret_cast<const float*>(biases + size);
        const auto* weights = reinterpret_cast<const Weight*>(multipliers + size);
        IntVector sum = hn::Load(kInts, biases);
        for (int64_t tap = 0; tap < taps; tap += kGroup) {
            IntVector x = load(line.taps[tap] + at, count, line.flip);
            if constexpr (kGroup == 2) {
                if (tap + 1 < taps) {
                    x = hn::Or(x,
                               hn::ShiftLeft<16>(load(line.taps[tap + 1] + at, count, line.flip)));
                }
                const hn::Repartition<int16_t, Ints> halves;
                IntVector unused = hn::Zero(kInts);  // on x86 all goes to `sum`
                sum = hn::ReorderWidenMulAccumulate(kInts, hn::BitCast(halves, x),
                                                    hn::Load(halves, weights), sum, unused);
            } else {
                const hn::Rebind<int16_t, Ints> halves;
                sum = hn::Add(sum, hn::Mul(x, hn::PromoteTo(kInts, hn::Load(halves, weights))));
            }
            weights += size * kGroup;
        }
        const hn::Rebind<uint8_t, Ints> bytes;
        const IntVector result = Requantizer(line)(sum, multipliers);
        storeFirst(hn::TruncateTo(bytes, hn::BitCast(hn::RebindToUnsigned<Ints>(), result)), bytes,
                   y + channel, count);
    }
};

#if HWY_TARGET == HWY_AVX3
// Four taps of 64 channels at a time, or of 32 or 16 of two or four pixels: vpdpbusd, of which
// Highway 1.0.3 does not know.
struct ByteTaps {
    using Bytes = hn::CappedTag<uint8_t, 64>;
    static constexpr int kGroup = 4;
    static constexpr bool kBytes = true;
    static constexpr int64_t kLanes = 64;
    static constexpr bool kParts = true;
    static constexpr int32_t kMoved = 0;
    static int64_t lanes() { return kLanes; }

    static HWY_INLINE __m512i addProducts(__m512i sum, __m512i x, const std::byte* weights) {
        const __m512i w = _mm512_load_si512(weights);
        asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(x), "v"(w));
        return sum;
    }

    // The sums of a block's 64 lanes, where load(tap) gives their bytes.
    template <typename Load>
    static HWY_INLINE __m512i computeLanes(const QuantizedDepthwiseLine& line, int64_t taps,
                                           const std::byte* panel, Load load) {
        const auto* biases = reinterpret_cast<const int32_t*>(panel);
        const auto* multipliers = reinterpret_cast<const float*>(biases + kLanes);
        const auto* weights = reinterpret_cast<const std::byte*>(multipliers + kLanes);
        __m512i sum0 = _mm512_load_si512(biases);
        __m512i sum1 = _mm512_load_si512(biases + 16);
        __m512i sum2 = _mm512_load_si512(biases + 32);
        __m512i sum3 = _mm512_load_si512(biases + 48);
        const auto add = [&](__m512i x0, __m512i x1, __m512i x2, __m512i x3) HWY_ATTR {
            const __m512i low01 = _mm512_unpacklo_epi8(x0, x1);
            const __m512i high01 = _mm512_unpackhi_epi8(x0, x1);
            const __m512i low23 = _mm512_unpacklo_epi8(x2, x3);
            const __m512i high23 = _mm512_unpackhi_epi8(x2, x3);
            sum0 = addProducts(sum0, _mm512_unpacklo_epi16(low01, low23), weights);
            sum1 = addProducts(sum1, _mm512_unpackhi_epi16(low01, low23), weights + 64);
            sum2 = addProducts(sum2, _mm512_unpacklo_epi16(high01, high23), weights + 128);
            sum3 = addProducts(sum3, _mm512_unpackhi_epi16(high01, high23), weights + 192);
            weights += 256;
        };
        int64_t tap = 0;
        for (; tap + kGroup <= taps; tap += kGroup) {
            add(load(tap), load(tap + 1), load(tap + 2), load(tap + 3));
        }
        if (tap < taps) {
            const __m512i none = _mm512_setzero_si512();
            add(load(tap), tap + 1 < taps ? load(tap + 1) : none,
                tap + 2 < taps ? load(tap + 2) : none, none);
        }
        // As quantized_matmul.cc goes back to 8 bits.
        const int32_t shift = line.low < 0 ? 128 : 0;
        const __m512 high = _mm512_set1_ps(static_cast<float>(line.high - line.zeroPoint));
        const __m512i zeroPoint = _mm512_set1_epi16(static_cast<int16_t>(line.zeroPoint + shift));
        const auto rounded = [&](__m512i sum, const float* factors) HWY_ATTR {
            const __m512 value = _mm512_mul_ps(_mm512_cvtepi32_ps(sum), _mm512_load_ps(factors));
            return _mm512_cvtps_epi32(_mm512_min_ps(value, high));
        };
        const __m512i low16 = _mm512_adds_epi16(
                _mm512_packs_epi32(rounded(sum0, multipliers), rounded(sum1, multipliers + 16)),
                zeroPoint);
        const __m512i high16 =
                _mm512_adds_epi16(_mm512_packs_epi32(rounded(sum2, multipliers + 32),
                                                     rounded(sum3, multipliers + 48)),
                                  zeroPoint);
        const __m512i low = _mm512_set1_epi8(static_cast<char>(line.low + shift));
        return _mm512_xor_si512(_mm512_max_epu8(_mm512_packus_epi16(low16, high16), low),
                                _mm512_set1_epi8(static_cast<char>(shift)));
    }

    static void computePixel(const QuantizedDepthwiseLine& line, int64_t taps,
                             const std::byte* panel, int64_t channel, size_t count, ptrdiff_t shift,
                             uint8_t* y) {
        const __m512i flip = _mm512_set1_epi8(static_cast<char>(line.flip));
        const uint8_t** const addresses = line.taps;
        const ptrdiff_t at = shift + channel;
        if (count == kLanes) {
            const __m512i bytes = computeLanes(line, taps, panel, [&](int64_t tap) HWY_ATTR {
                return _mm512_xor_si512(_mm512_loadu_si512(addresses[tap] + at), flip);
            });
            _mm512_storeu_si512(y + channel, bytes);
            return;
        }
        const __mmask64 mask = (uint64_t{1} << count) - 1;
        const __m512i bytes = computeLanes(line, taps, panel, [&](int64_t tap) HWY_ATTR {
            return _mm512_xor_si512(_mm512_maskz_loadu_epi8(mask, addresses[tap] + at), flip);
        });
        _mm512_mask_storeu_epi8(y + channel, mask, bytes);
    }

    // kPixels neighbouring pixels, whose windows lie `step` apart, of up to kLanes / kPixels
    // channels; the results lie `yStep` apart. kWhole: of that many.
    template <int kPixels, bool kWhole>
    static void computePixels(const QuantizedDepthwiseLine& line, int64_t taps,
                              const std::byte* panel, const DepthwiseBlock& block, ptrdiff_t shift,
                              ptrdiff_t step, uint8_t* y, ptrdiff_t yStep) {
        const __m512i flip = _mm512_set1_epi8(static_cast<char>(line.flip));
        const uint8_t** const addresses = line.taps;
        const ptrdiff_t at = shift + block.channel;
        const auto mask = static_cast<__mmask32>((uint64_t{1} << block.channels) - 1);
        const __m512i bytes = computeLanes(line, taps, panel, [&](int64_t tap) HWY_ATTR {
            const uint8_t* const from = addresses[tap] + at;
            __m512i x;
            if constexpr (kPixels == 2) {
                const auto load = [&](int i) HWY_ATTR {
                    return kWhole ? _mm256_loadu_si256(
                                            reinterpret_cast<const __m256i*>(from + i * step))
                                  : _mm256_maskz_loadu_epi8(mask, from + i * step);
                };
                x = _mm512_inserti64x4(_mm512_castsi256_si512(load(0)), load(1), 1);
            } else {
                const auto load = [&](int i) HWY_ATTR {
                    return kWhole ? _mm_loadu_si128(
                                            reinterpret_cast<const __m128i*>(from + i * step))
                                  : _mm_maskz_loadu_epi8(static_cast<__mmask16>(mask),
                                                         from + i * step);
                };
                x = _mm512_inserti32x4(_mm512_castsi128_si512(load(0)), load(1), 1);
                x = _mm512_inserti32x4(x, load(2), 2);
                x = _mm512_inserti32x4(x, load(3), 3);
            }
            return _mm512_xor_si512(x, flip);
        });
        y += block.channel;
        if (kWhole && yStep == kLanes / kPixels) {
            _mm512_storeu_si512(y, bytes);
        } else if constexpr (kPixels == 2) {
            _mm256_mask_storeu_epi8(y, mask, _mm512_castsi512_si256(bytes));
            _mm256_mask_storeu_epi8(y + yStep, mask, _mm512_extracti64x4_epi64(bytes, 1));
        } else {
            const auto mask16 = static_cast<__mmask16>(mask);
            _mm_mask_storeu_epi8(y, mask16, _mm512_castsi512_si128(bytes));
            _mm_mask_storeu_epi8(y + yStep, mask16, _mm512_extracti32x4_epi32(bytes, 1));
            _mm_mask_storeu_epi8(y + 2 * yStep, mask16, _mm512_extracti32x4_epi32(bytes, 2));
            _mm_mask_storeu_epi8(y + 3 * yStep, mask16, _mm512_extracti32x4_epi32(bytes, 3));
        }
    }
};
#endif

#if HWY_TARGET == HWY_NEON
// Four taps of 16 channels at a time: sdot, of which Highway 1.0.3 does not know. Its factors are
// signed, so that what is unsigned is moved by 128.
struct ByteTaps {
    using Bytes = hn::CappedTag<uint8_t, 16>;
    static constexpr int kGroup = 4;
    static constexpr bool kBytes = true;
    static constexpr bool kParts = false;
    static constexpr int32_t kMoved = 128;
    static constexpr int64_t kLanes = 16;
    static int64_t lanes() { return kLanes; }

    static HWY_INLINE IntVector addProducts(IntVector sum, uint16x8_t x, const int8_t* weights) {
        const int8x16_t w = vld1q_s8(weights);
        // For the assembler, which else knows no more than the file is compiled for.
        asm(".arch armv8.2-a+crypto+dotprod\n\tsdot %0.4s, %1.16b, %2.16b"
            : "+w"(sum.raw)
            : "w"(x), "w"(w));
        return sum;
    }

    static void computePixel(const QuantizedDepthwiseLine& line, int64_t taps,
                             const std::byte* panel, int64_t channel, size_t count, ptrdiff_t shift,
                             uint8_t* y) {
        const Bytes bytes;
        const ptrdiff_t at = shift + channel;
        const auto flip = hn::Set(bytes, static_cast<uint8_t>(line.flip ^ kMoved));
        const auto* biases = reinterpret_cast<const int32_t*>(panel);
        const auto* multipliers = reinterpret_cast<const float*>(biases + kLanes);
        const auto* weights = reinterpret_cast<const int8_t*>(multipliers + kLanes);
        IntVector sums[4];
        HALYARD_UNROLL
        for (int i = 0; i < 4; ++i) {
            sums[i] = hn::Load(kInts, biases + i * 4);
        }
        for (int64_t tap = 0; tap < taps; tap += kGroup) {
            // Weights of taps that are not there are zero, whatever stands against them.
            uint8x16_t x[kGroup];
            HALYARD_UNROLL
            for (int i = 0; i < kGroup; ++i) {
                const int64_t real = std::min(tap + i, taps - 1);
                x[i] = hn::Xor(loadFirst(bytes, line.taps[real] + at, count), flip).raw;
            }
            const uint16x8_t low01 = vreinterpretq_u16_u8(vzip1q_u8(x[0], x[1]));
            const uint16x8_t high01 = vreinterpretq_u16_u8(vzip2q_u8(x[0], x[1]));
            const uint16x8_t low23 = vreinterpretq_u16_u8(vzip1q_u8(x[2], x[3]));
            const uint16x8_t high23 = vreinterpretq_u16_u8(vzip2q_u8(x[2], x[3]));
            sums[0] = addProducts(sums[0], vzip1q_u16(low01, low23), weights);
            sums[1] = addProducts(sums[1], vzip2q_u16(low01, low23), weights + 16);
            sums[2] = addProducts(sums[2], vzip1q_u16(high01, high23), weights + 32);
            sums[3] = addProducts(sums[3], vzip2q_u16(high01, high23), weights + 48);
            weights += kLanes * kGroup;
        }
        const Requantizer requantize(line);
        int16x4_t narrow[4];
        HALYARD_UNROLL
        for (int i = 0; i < 4; ++i) {
            narrow[i] = vmovn_s32(requantize(sums[i], multipliers + i * 4).raw);
        }
        const int8x8_t low = vmovn_s16(vcombine_s16(narrow[0], narrow[1]));
        const int8x8_t high = vmovn_s16(vcombine_s16(narrow[2], narrow[3]));
        storeFirst(hn::Vec<Bytes>(vreinterpretq_u8_s8(vcombine_s8(low, high))), bytes, y + channel,
                   count);
    }
};
#endif

// Where the taps of a pixel's window lie, beside the input those of the padding.
void findTaps(const QuantizedDepthwiseLine& line, int64_t pixel) {
    const DepthwiseWindow& window = line.window;
    const int64_t start = pixel * window.strideW - window.left;
    const uint8_t** tap = line.taps;
    for (int64_t i = 0; i < window.filterH; ++i) {
        const bool rowIsThere = i >= window.firstRow && i < window.endRow;
        for (int64_t j = 0; j < window.filterW; ++j) {
            const int64_t at = start + j * window.dilationW;
            *tap++ = rowIsThere && at >= 0 && at < window.inputW
                             ? line.x + i * window.row + at * window.channels
                             : line.padding;
        }
    }
}

template <typename Taps>
const QuantizedDepthwise* formOf();

// The pixels of a line whose windows lie on the input, several at a time: of a block in which each
// takes a part of the vector. Returns the first that is not computed.
template <typename Taps>
int64_t computeParts(const QuantizedDepthwiseLine& line, int64_t taps, const std::byte* panel,
                     const DepthwiseBlock& block, const InnerPixels& inner) {
    int64_t pixel = inner.first;
    if constexpr (Taps::kParts) {
        const DepthwiseWindow& window = line.window;
        const ptrdiff_t step = window.strideW * window.channels;
        const int64_t pixels = Taps::kLanes / block.part;
        const bool isWhole = block.channels == block.part;
        const auto compute = pixels == 2 ? (isWhole ? Taps::template computePixels<2, true>
                                                    : Taps::template computePixels<2, false>)
                                         : (isWhole ? Taps::template computePixels<4, true>
                                                    : Taps::template computePixels<4, false>);
        for (; pixel + pixels <= inner.end; pixel += pixels) {
            compute(line, taps, panel, block, (pixel - inner.first) * step, step,
                    line.y + pixel * window.channels, window.channels);
        }
    }
    return pixel;
}

template <typename Taps>
void compute(const QuantizedDepthwiseLine& line) {
    const QuantizedDepthwise& form = *formOf<Taps>();
    const DepthwiseWindow& window = line.window;
    const int64_t taps = window.filterH * window.filterW;
    const int64_t panelBytes = form.panelBytes(taps);
    const int64_t blocks = form.blocks(window.channels);
    // Blocks [begin, end) of the pixel whose taps have been found, `shift` bytes further along the
    // line.
    const auto computePixel = [&](int64_t pixel, ptrdiff_t shift, int64_t begin, int64_t end) {
        for (int64_t index = begin; index < end; ++index) {
            const DepthwiseBlock block = form.block(index, window.channels);
            Taps::computePixel(line, taps, line.panels + index * panelBytes, block.channel,
                               static_cast<size_t>(block.channels), shift,
                               line.y + pixel * window.channels);
        }
    };
    const auto computeEach = [&](int64_t begin, int64_t end) {
        for (int64_t pixel = begin; pixel < end; ++pixel) {
            findTaps(line, pixel);
            computePixel(pixel, 0, 0, blocks);
        }
    };
    if (window.firstRow != 0 || window.endRow != window.filterH) {
        computeEach(window.firstPixel, window.endPixel);
        return;
    }
    const InnerPixels inner = innerPixels(window);
    computeEach(window.firstPixel, inner.first);
    if (inner.first < inner.end) {
        findTaps(line, inner.first);
        const ptrdiff_t step = window.strideW * window.channels;
        const DepthwiseBlock last = form.block(blocks - 1, window.channels);
        const int64_t wide = last.part < form.lanes ? blocks - 1 : blocks;
        for (int64_t pixel = inner.first; wide > 0 && pixel < inner.end; ++pixel) {
            computePixel(pixel, (pixel - inner.first) * step, 0, wide);
        }
        if (wide < blocks) {
            int64_t pixel =
                    computeParts<Taps>(line, taps, line.panels + wide * panelBytes, last, inner);
            for (; pixel < inner.end; ++pixel) {
                computePixel(pixel, (pixel - inner.first) * step, wide, blocks);
            }
        }
    }
    computeEach(inner.end, window.endPixel);
}

template <typename Taps>
const QuantizedDepthwise* formOf() {
    static const QuantizedDepthwise kForm = {
            .lanes = Taps::lanes(),
            .part = Taps::kParts ? Taps::lanes() / 4 : Taps::lanes(),
            .group = Taps::kGroup,
            .bytes = Taps::kBytes,
            .moved = Taps::kMoved,
            .compute = compute<Taps>};
    return &kForm;
}

}  // namespace

const QuantizedDepthwise* quantizedDepthwiseForm() {
    return formOf<HalfTaps>();
}

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
const QuantizedDepthwise* quantizedDepthwiseDotForm() {
    return formOf<ByteTaps>();
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halyard::engine::cpu {

const QuantizedDepthwise& quantizedDepthwise(InstructionSet set, bool signedBytes) {
#if HWY_TARGETS & HWY_AVX3
    if (hasByteProducts(set) && signedBytes) {
        return *N_AVX3::quantizedDepthwiseDotForm();
    }
#elif HWY_TARGETS & HWY_NEON
    if (set >= InstructionSet::NEON_DOT && signedBytes) {
        return *N_NEON::quantizedDepthwiseDotForm();
    }
#else
    static_cast<void>(signedBytes);
#endif
    return *HALYARD_CPU_CHOOSE(set, quantizedDepthwiseForm)();
}

}  // namespace halyard::engine::cpu
#endif
