// SPDX-License-Identifier: Apache-2.0

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/engine/cpu_acc/emulated_tiles.cc"
#include "engine/backends/cpu/vectors/targets.h"

#include "engine/backends/cpu/gemm/amx_int8_gemm-inl.h"
#include "engine/backends/cpu/gemm/bf16_split_gemm-inl.h"
#include "tests/engine/cpu_acc/emulated_tiles.h"
#include "tests/engine/cpu_acc/tile_unit.h"

#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

struct EmulatedTiles {
    static cpu_test::TileUnit& unit() { return cpu_test::TileUnit::ofThread(); }
    static void configure() { unit().configure(); }
    static void release() { unit().release(); }
    template <int kTile>
    static void zero() {
        unit().zero(kTile);
    }
    template <int kTile>
    static void load(const void* from, ptrdiff_t stride) {
        unit().load(kTile, from, stride);
    }
    template <int kTile>
    static void store(void* to, ptrdiff_t stride) {
        unit().store(kTile, to, stride);
    }
    template <bool kSigned, int kSum, int kLeft, int kRight>
    static void multiply() {
        unit().multiply<std::conditional_t<kSigned, int8_t, uint8_t>>(kSum, kLeft, kRight);
    }
    template <int kSum, int kLeft, int kRight>
    static void multiplyBfloats() {
        unit().multiplyBfloats(kSum, kLeft, kRight);
    }
};

}  // namespace

const AmxInt8Gemm* emulatedTileForm() {
    return tileForm<EmulatedTiles>();
}
const Bf16SplitGemm* emulatedSplitForm() {
    return splitForm<EmulatedTiles>();
}

}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halyard::engine::cpu {

const AmxInt8Gemm& emulatedAmxInt8Gemm(InstructionSet set) {
    return *HALYARD_CPU_CHOOSE(set, emulatedTileForm)();
}
const Bf16SplitGemm& emulatedBf16SplitGemm(InstructionSet set) {
    return *HALYARD_CPU_CHOOSE(set, emulatedSplitForm)();
}

}  // namespace halyard::engine::cpu
#endif
