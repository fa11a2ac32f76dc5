// SPDX-License-Identifier: Apache-2.0

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backends/cpu/products/tile_matmul.cc"
#include "engine/backends/cpu/vectors/targets.h"

#include "engine/backends/cpu/products/tile_matmul-inl.h"
#include "engine/backends/cpu/products/tile_matmul.h"

#if HWY_TARGET == HWY_AVX3
HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

// What ldtilecfg reads.
struct TileConfiguration {
    uint8_t palette = 1;
    uint8_t startRow = 0;
    uint8_t reserved[14] = {};
    uint16_t rowBytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfiguration) == 64);

// AMX. The compiler knows nothing of the registers: GCC 12's own functions for them say too little
// of the memory that they touch.
struct HardwareTiles {
    static HWY_INLINE void configure() {
        static constexpr TileConfiguration kConfiguration;
        asm volatile("ldtilecfg %0" : : "m"(kConfiguration));
    }
    // Threads whose tiles are not in use are cheaper to switch.
    static HWY_INLINE void release() { asm volatile("tilerelease"); }

    template <int kTile>
    static HWY_INLINE void zero() {
        asm volatile("tilezero %%tmm%c0" : : "i"(kTile));
    }
    template <int kTile>
    static HWY_INLINE void load(const void* from, ptrdiff_t stride) {
        asm volatile("tileloadd (%0,%1,1), %%tmm%c2"
                     :
                     : "r"(from), "r"(stride), "i"(kTile)
                     : "memory");
    }
    template <int kTile>
    static HWY_INLINE void store(void* to, ptrdiff_t stride) {
        asm volatile("tilestored %%tmm%c2, (%0,%1,1)"
                     :
                     : "r"(to), "r"(stride), "i"(kTile)
                     : "memory");
    }
    // Adds the products of left rows, signed or not, and signed right columns.
    template <bool kSigned, int kSum, int kLeft, int kRight>
    static HWY_INLINE void multiply() {
        if constexpr (kSigned) {
            asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0"
                         :
                         : "i"(kSum), "i"(kLeft), "i"(kRight));
        } else {
            asm volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0"
                         :
                         : "i"(kSum), "i"(kLeft), "i"(kRight));
        }
    }
};

}  // namespace

const TileMatmul* hardwareTileForm() {
    return tileForm<HardwareTiles>();
}

}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();
#endif

#if HWY_ONCE
namespace halyard::engine::cpu {

const TileMatmul* tileMatmul(InstructionSet set) {
#if HWY_TARGETS & HWY_AVX3
    if (set == InstructionSet::AVX512_AMX) {
        return N_AVX3::hardwareTileForm();
    }
#else
    static_cast<void>(set);
#endif
    return nullptr;
}

}  // namespace halyard::engine::cpu
#endif
