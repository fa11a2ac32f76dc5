// SPDX-License-Identifier: Apache-2.0

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backends/cpu/depthwise/quantized_depthwise.cc"
#include "engine/backends/cpu/vectors/targets.h"

#include <algorithm>
#include <type_traits>

#include "engine/backends/cpu/depthwise/depthwise_line.h"
#include "engine/backends/cpu/depthwise/quantized_depthwise_neon-inl.h"
#include "engine/backends/cpu/depthwise/quantized_depthwise_vnni-inl.h"
#include "engine/backends/cpu/vectors/partial_vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

#if HWY_TARGET != HWY_NEON
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
                                             .order = TapOrder::COLUMNS,
                                             .bytes = true,
                                             .overlaps = true,
                                             .compute = compute<VnniTaps>};
    return &kForm;
}
#endif
#endif

}  // namespace

#if HWY_TARGET == HWY_NEON
const QuantizedDepthwise* quantizedDepthwiseForm() {
    return formOf<WidenedTaps>();
}
const QuantizedDepthwise* quantizedDepthwisePairedForm() {
    return formOf<PairedTaps>();
}
const QuantizedDepthwise* quantizedDepthwiseDotForm() {
    return formOf<DotTaps>();
}
#else
const QuantizedDepthwise* quantizedDepthwiseForm() {
    return formOf<HalfTaps>();
}
#endif

#if HWY_TARGET == HWY_AVX3
const QuantizedDepthwise* quantizedDepthwiseDotForm() {
    return formOf<VnniTaps>();
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halyard::engine::cpu {

const QuantizedDepthwise& quantizedDepthwise(InstructionSet set, Form form) {
#if HWY_TARGETS & HWY_AVX3
    if (form == Form::INT8_DEPTHWISE_DOT) {
        return *N_AVX3::quantizedDepthwiseDotForm();
    }
#elif HWY_TARGETS & HWY_NEON
    if (form == Form::INT8_DEPTHWISE_DOT) {
        return *N_NEON::quantizedDepthwiseDotForm();
    }
    if (form == Form::INT8_DEPTHWISE_PAIRED) {
        return *N_NEON::quantizedDepthwisePairedForm();
    }
#else
    static_cast<void>(form);
#endif
    return *HALYARD_CPU_CHOOSE(set, quantizedDepthwiseForm)();
}

}  // namespace halyard::engine::cpu
#endif
