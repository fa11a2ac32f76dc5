// SPDX-License-Identifier: Apache-2.0

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backends/cpu/depthwise/quantized_depthwise.cc"
#include "engine/backends/cpu/vectors/targets.h"

#include <algorithm>
#include <type_traits>

#include "engine/backends/cpu/depthwise/depthwise_line.h"
#include "engine/backends/cpu/depthwise/quantized_depthwise_vnni-inl.h"
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
    static constexpr int32_t kMoved = 0;
    static int64_t lanes() {
        return static_cast<int64_t>(hn::Lanes(kInts));
    }

    static HWY_INLINE IntVector load(const uint8_t* from, size_t count, uint8_t flip) {
        const hn::Rebind<uint8_t, Ints> bytes;
        return hn::PromoteTo(kInts, hn::Xor(loadFirst(bytes, from, count), hn::Set(bytes, flip)));
    }

    static void computePixel(const QuantizedDepthwiseLine& line, const std::byte* panel,
                             const DepthwiseBlock& block, ptrdiff_t shift, uint8_t* y) {
        const int64_t taps = line.window.filterH * line.window.filterW;
        const int64_t channel = block.channel;
        const auto count = static_cast<size_t>(block.channels);
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

#if HWY_TARGET == HWY_NEON
// Four taps of 16 channels at a time: sdot, of which Highway 1.0.3 does not know. Its factors are
// signed, so that what is unsigned is moved by 128.
struct DotTaps {
    using Bytes = hn::CappedTag<uint8_t, 16>;
    static constexpr int kGroup = 4;
    static constexpr bool kBytes = true;
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

    static void computePixel(const QuantizedDepthwiseLine& line, const std::byte* panel,
                             const DepthwiseBlock& block, ptrdiff_t shift, uint8_t* y) {
        const int64_t taps = line.window.filterH * line.window.filterW;
        const int64_t channel = block.channel;
        const auto count = static_cast<size_t>(block.channels);
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

// Where the taps of a spatial position's window lie, beside the input those of the padding.
void findTaps(const QuantizedDepthwiseLine& line, int64_t pixel) {
    const DepthwiseWindow& window = line.window;
    const int64_t start = pixel * window.strideW - window.left;
    const uint8_t** tap = line.taps;
    for (int64_t i = 0; i < window.filterH; ++i) {
        const bool rowIsThere = i >= window.firstRow && i < window.endRow;
        for (int64_t j = 0; j < window.filterW; ++j) {
            const int64_t at = start + j * window.dilationW;
            *tap++ = rowIsThere && at >= 0 && at < window.inputW
                             ? line.x + i * window.row + at * line.xPixel
                             : line.padding;
        }
    }
}

template <typename Taps>
const QuantizedDepthwise* formOf();

template <typename Taps>
void compute(const QuantizedDepthwiseLine& line) {
    const QuantizedDepthwise& form = *formOf<Taps>();
    const DepthwiseWindow& window = line.window;
    const int64_t panelBytes = form.panelBytes(window.filterH, window.filterW);
    const int64_t blocks = form.blocks(window.channels);
#if HWY_TARGET == HWY_AVX3
    if constexpr (std::is_same_v<Taps, VnniTaps>) {
        if (const VnniTaps::LineKernel kernel = VnniTaps::kernelOf(window); kernel != nullptr) {
            for (int64_t index = 0; index < blocks; ++index) {
                kernel(line, line.panels + index * panelBytes,
                       form.block(index, window.channels, line.blocksOverlap));
            }
            return;
        }
    }
#endif
    // The spatial position whose taps have been found, `shift` bytes further along the line.
    const auto computePixel = [&](int64_t pixel, ptrdiff_t shift) {
        for (int64_t index = 0; index < blocks; ++index) {
            Taps::computePixel(line, line.panels + index * panelBytes,
                               form.block(index, window.channels, line.blocksOverlap), shift,
                               line.y + pixel * line.yPixel);
        }
    };
    const auto computeEach = [&](int64_t begin, int64_t end) {
        for (int64_t pixel = begin; pixel < end; ++pixel) {
            findTaps(line, pixel);
            computePixel(pixel, 0);
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
        const ptrdiff_t step = window.strideW * line.xPixel;
        for (int64_t pixel = inner.first; pixel < inner.end; ++pixel) {
            computePixel(pixel, (pixel - inner.first) * step);
        }
    }
    computeEach(inner.end, window.endPixel);
}

template <typename Taps>
const QuantizedDepthwise* formOf() {
    static const QuantizedDepthwise kForm = {.lanes = Taps::lanes(),
                                             .part = Taps::lanes(),
                                             .group = Taps::kGroup,
                                             .bytes = Taps::kBytes,
                                             .moved = Taps::kMoved,
                                             .compute = compute<Taps>};
    return &kForm;
}
#if HWY_TARGET == HWY_AVX3
template <>
const QuantizedDepthwise* formOf<VnniTaps>() {
    static const QuantizedDepthwise kForm = {.lanes = VnniTaps::kLanes,
                                             .part = VnniTaps::kLanes / 4,
                                             .group = VnniTaps::kGroup,
                                             .byColumns = true,
                                             .bytes = true,
                                             .compute = compute<VnniTaps>};
    return &kForm;
}
#endif

}  // namespace

const QuantizedDepthwise* quantizedDepthwiseForm() {
    return formOf<HalfTaps>();
}

#if HWY_TARGET == HWY_AVX3
const QuantizedDepthwise* quantizedDepthwiseDotForm() {
    return formOf<VnniTaps>();
}
#elif HWY_TARGET == HWY_NEON
const QuantizedDepthwise* quantizedDepthwiseDotForm() {
    return formOf<DotTaps>();
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
