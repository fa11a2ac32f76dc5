// SPDX-License-Identifier: Apache-2.0
//
// AMX: the processor's work item that multiplies tiles, for sources that targets.h compiles once
// for each instruction set. The compiler knows nothing of the registers: GCC 12's own functions for
// them say too little of the memory that they touch.

// Read again for each instruction set.
#if defined(HALYARD_ENGINE_BACKENDS_CPU_HARDWARE_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALYARD_ENGINE_BACKENDS_CPU_HARDWARE_TILES_INL_H_
#undef HALYARD_ENGINE_BACKENDS_CPU_HARDWARE_TILES_INL_H_
#else
#define HALYARD_ENGINE_BACKENDS_CPU_HARDWARE_TILES_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

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

struct AmxTiles {
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
    // Adds those of rows and columns of bfloat16 to sums of float32.
    template <int kSum, int kLeft, int kRight>
    static HWY_INLINE void multiplyBfloats() {
        asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0"
                     :
                     : "i"(kSum), "i"(kLeft), "i"(kRight));
    }
};

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();
#endif

#endif
