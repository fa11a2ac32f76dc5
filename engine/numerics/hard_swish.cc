// SPDX-License-Identifier: Apache-2.0

#include "engine/numerics/hard_swish.h"

#include <algorithm>

namespace halyard::engine {
namespace {

using fixed_point::Multiplier;

// The fraction, rounded to 16 bits.
int16_t shortFraction(Multiplier multiplier) {
    return fixed_point::saturate<int16_t>((int64_t{multiplier.fraction} + (1 << 15)) >> 16);
}

}  // namespace

std::optional<FixedHardSwish> FixedHardSwish::of(float inputScale, float outputScale) {
    const float fine = inputScale * (1.0F / 128.0F);
    const Result<Multiplier> output =
            fixed_point::quantizeMultiplier(static_cast<double>(fine / outputScale));
    const Result<Multiplier> reluish =
            fixed_point::quantizeMultiplier(static_cast<double>(fine / (3.0F / 32768.0F)));
    if (!output.ok() || !reluish.ok() || output->shift > 0) {
        return std::nullopt;
    }
    FixedHardSwish result;
    result.mOutput = *output;
    result.mReluish = *reluish;
    return result;
}

int32_t FixedHardSwish::operator()(int32_t x) const {
    using fixed_point::multiply;
    using fixed_point::roundingShiftRight;
    using fixed_point::shiftLeft;
    const auto fine = static_cast<int16_t>(x * 128);
    const int16_t scaled = multiply(fine, shortFraction(mOutput));

    // x / 3 within [-1, 1]. It is shifted before the product, which keeps bits, but for the last
    // one, which might saturate too early.
    const int shift = mReluish.shift;
    int16_t reluish = shift > 0 ? shiftLeft(fine, std::min(shift - 1, 31)) : fine;
    reluish = multiply(reluish, shortFraction(mReluish));
    reluish = shift > 0 ? shiftLeft(reluish, 1) : roundingShiftRight(reluish, -shift);

    // (x / 3 + 1) / 2 within [0, 1]. The product is cut off, not rounded.
    const int32_t share = (int32_t{reluish} + (1 << 15)) >> 1;
    const int32_t product = share * scaled / (1 << 15);
    return roundingShiftRight(product, -mOutput.shift);
}

}  // namespace halyard::engine
