// SPDX-License-Identifier: Apache-2.0

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backends/cpu/vectors/half_conversion.cc"
#include "engine/backends/cpu/vectors/targets.h"
// Read for each instruction set.
#include "engine/backends/cpu/vectors/lanes-inl.h"

#include "engine/backends/cpu/vectors/half_conversion.h"

HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

// Vectors of a step of the loop: counting them takes as long as converting one.
constexpr int64_t kAtOnce = 4;

template <typename From, typename To>
void convert(const From* from, int64_t count, To* to) {
    const auto lanes = static_cast<int64_t>(hn::Lanes(kFloats));
    const int64_t whole = count / (kAtOnce * lanes) * (kAtOnce * lanes);
    for (int64_t first = 0; first < whole; first += kAtOnce * lanes) {
        FloatVector values[kAtOnce];
        HALYARD_UNROLL
        for (int64_t i = 0; i < kAtOnce; ++i) {
            values[i] = loadFloats(from + first + i * lanes, All());
        }
        HALYARD_UNROLL
        for (int64_t i = 0; i < kAtOnce; ++i) {
            storeFloats(values[i], to + first + i * lanes, All());
        }
    }
    forEachVector(count - whole, [&](int64_t i, auto there) HWY_ATTR {
        storeFloats(loadFloats(from + whole + i, there), to + whole + i, there);
    });
}

}  // namespace

const HalfConversion* halfConversionForm() {
    static const HalfConversion kForm = {.toFloats = convert<Half, float>,
                                         .toHalves = convert<float, Half>};
    return &kForm;
}

}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halyard::engine::cpu {

const HalfConversion& halfConversion(InstructionSet set) {
    return *HALYARD_CPU_CHOOSE(set, halfConversionForm)();
}

}  // namespace halyard::engine::cpu
#endif
