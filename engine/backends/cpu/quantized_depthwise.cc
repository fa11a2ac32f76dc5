// SPDX-License-Identifier: Apache-2.0

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backends/cpu/quantized_depthwise.cc"
#include "engine/backends/cpu/targets.h"

#include <algorithm>

#include "engine/backends/cpu/depthwise_line.h"
#include "engine/backends/cpu/partial_vectors-inl.h"

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

    explicit Requantizer(const QuantizedDepthwiseLine& line, int32_t shift = 0)
        : low(hn::Set(kFloats, static_cast<float>(line.low - line.zeroPoint))),
          high(hn::Set(kFloats, static_cast<float>(line.high - line.zeroPoint))),
          zeroPoint(hn::Set(kInts, line.zeroPoint + shift)) {}

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
    static int64_t lanes() {
        return static_cast<int64_t>(hn::Lanes(kInts));
    }

    static HWY_INLINE IntVector load(const uint8_t* from, size_t count, uint8_t flip) {
        const hn::Rebind<uint8_t, Ints> bytes;
        return hn::PromoteTo(kInts, hn::Xor(loadFirst(bytes, from, count), hn::Set(bytes, flip)));
    }

    static void computePixel(const QuantizedDepthwiseLine& line, int64_t taps,
                             const std::byte* panel, int64_t channel, size_t count, uint8_t* y) {
        const size_t size = hn::Lanes(kInts);
        const auto* biases = reinterpret_cast<const int32_t*>(panel);
        const auto* multipliers = reinterpret_cast<const float*>(biases + size);
        const auto* weights = reinterpret_cast<const Weight*>(multipliers + size);
        IntVector sum = hn::Load(kInts, biases);
        for (int64_t tap = 0; tap < taps; tap += kGroup) {
            IntVector x = load(line.taps[tap] + channel, count, line.flip);
            if constexpr (kGroup == 2) {
                if (tap + 1 < taps) {
                    x = hn::Or(x, hn::ShiftLeft<16>(
                                          load(line.taps[tap + 1] + channel, count, line.flip)));
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
// Four taps of 64 channels at a time: vpdpbusd, of which Highway 1.0.3 does not know.
struct ByteTaps {
    using Bytes = hn::CappedTag<uint8_t, 64>;
    using ByteVector = hn::Vec<Bytes>;
    static constexpr int kGroup = 4;
    static constexpr bool kBytes = true;
    static int64_t lanes() { return 64; }

    static HWY_INLINE IntVector add(IntVector sum, IntVector x, const std::byte* weights) {
        const __m512i w = _mm512_load_si512(weights);
        asm("vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(x.raw), "v"(w));
        return sum;
    }

    static void computePixel(const QuantizedDepthwiseLine& line, int64_t taps,
                             const std::byte* panel, int64_t channel, size_t count, uint8_t* y) {
        const Bytes bytes;
        const hn::Repartition<uint16_t, Bytes> pairs;
        const auto* biases = reinterpret_cast<const int32_t*>(panel);
        const auto* multipliers = reinterpret_cast<const float*>(biases + 64);
        const auto* weights = reinterpret_cast<const std::byte*>(multipliers + 64);
        const ByteVector flip = hn::Set(bytes, line.flip);
        IntVector sum0 = hn::Load(kInts, biases);
        IntVector sum1 = hn::Load(kInts, biases + 16);
        IntVector sum2 = hn::Load(kInts, biases + 32);
        IntVector sum3 = hn::Load(kInts, biases + 48);
        const auto load = [&](int64_t tap) HWY_ATTR {
            return tap < taps ? hn::Xor(loadFirst(bytes, line.taps[tap] + channel, count), flip)
                              : hn::Zero(bytes);
        };
        for (int64_t tap = 0; tap < taps; tap += kGroup) {
            const ByteVector x0 = load(tap);
            const ByteVector x1 = load(tap + 1);
            const ByteVector x2 = load(tap + 2);
            const ByteVector x3 = load(tap + 3);
            const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(bytes, x0, x1));
            const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(bytes, x0, x1));
            const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(bytes, x2, x3));
            const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(bytes, x2, x3));
            sum0 = add(sum0, hn::BitCast(kInts, hn::InterleaveLower(pairs, low01, low23)), weights);
            sum1 = add(sum1, hn::BitCast(kInts, hn::InterleaveUpper(pairs, low01, low23)),
                       weights + 64);
            sum2 = add(sum2, hn::BitCast(kInts, hn::InterleaveLower(pairs, high01, high23)),
                       weights + 128);
            sum3 = add(sum3, hn::BitCast(kInts, hn::InterleaveUpper(pairs, high01, high23)),
                       weights + 192);
            weights += 256;
        }
        // Packs saturate to unsigned bytes, so that signed results are moved there and back.
        const int32_t shift = line.low < 0 ? 128 : 0;
        const Requantizer requantize(line, shift);
        const __m512i low = _mm512_packs_epi32(requantize(sum0, multipliers).raw,
                                               requantize(sum1, multipliers + 16).raw);
        const __m512i high = _mm512_packs_epi32(requantize(sum2, multipliers + 32).raw,
                                                requantize(sum3, multipliers + 48).raw);
        const ByteVector result{_mm512_packus_epi16(low, high)};
        const ByteVector back = hn::Set(bytes, static_cast<uint8_t>(shift));
        storeFirst(hn::Xor(result, back), bytes, y + channel, count);
    }
};
#endif

template <typename Taps>
void compute(const QuantizedDepthwiseLine& line) {
    const DepthwiseWindow& window = line.window;
    const int64_t taps = window.filterH * window.filterW;
    const int64_t lanes = Taps::lanes();
    const int64_t groups = (taps + Taps::kGroup - 1) / Taps::kGroup;
    const int64_t panelBytes = lanes * (int64_t{sizeof(int32_t) + sizeof(float)} +
                                        groups * Taps::kGroup * (Taps::kBytes ? 1 : 2));
    for (int64_t pixel = window.firstPixel; pixel < window.endPixel; ++pixel) {
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
        const std::byte* panel = line.panels;
        uint8_t* y = line.y + pixel * window.channels;
        for (int64_t channel = 0; channel < window.channels; channel += lanes) {
            Taps::computePixel(line, taps, panel, channel,
                               static_cast<size_t>(std::min(lanes, window.channels - channel)), y);
            panel += panelBytes;
        }
    }
}

template <typename Taps>
const QuantizedDepthwise* formOf() {
    static const QuantizedDepthwise kForm = {.lanes = Taps::lanes(),
                                             .group = Taps::kGroup,
                                             .bytes = Taps::kBytes,
                                             .compute = compute<Taps>};
    return &kForm;
}

}  // namespace

const QuantizedDepthwise* quantizedDepthwiseForm() {
    return formOf<HalfTaps>();
}

#if HWY_TARGET == HWY_AVX3
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
    if (set == InstructionSet::AVX512_VNNI && signedBytes) {
        return *N_AVX3::quantizedDepthwiseDotForm();
    }
#else
    static_cast<void>(signedBytes);
#endif
    return *HALYARD_CPU_CHOOSE(set, quantizedDepthwiseForm)();
}

}  // namespace halyard::engine::cpu
#endif
