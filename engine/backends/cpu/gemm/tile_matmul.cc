// SPDX-License-Identifier: Apache-2.0

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backends/cpu/gemm/tile_matmul.cc"
#include "engine/backends/cpu/vectors/targets.h"

#include "engine/backends/cpu/gemm/hardware_tiles-inl.h"
#include "engine/backends/cpu/gemm/tile_matmul-inl.h"
#include "engine/backends/cpu/gemm/tile_matmul.h"

#if HWY_TARGET == HWY_AVX3
HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {

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
