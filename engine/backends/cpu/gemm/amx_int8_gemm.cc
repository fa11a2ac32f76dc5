// SPDX-License-Identifier: Apache-2.0

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backends/cpu/gemm/amx_int8_gemm.cc"
#include "engine/backends/cpu/vectors/targets.h"

#include "engine/backends/cpu/gemm/amx_int8_gemm-inl.h"
#include "engine/backends/cpu/gemm/amx_int8_gemm.h"
#include "engine/backends/cpu/gemm/amx_tiles-inl.h"

#if HWY_TARGET == HWY_AVX3
HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {

const AmxInt8Gemm* hardwareTileForm() {
    return tileForm<AmxTiles>();
}

}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();
#endif

#if HWY_ONCE
namespace halyard::engine::cpu {

const AmxInt8Gemm* amxInt8Gemm(InstructionSet set) {
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
