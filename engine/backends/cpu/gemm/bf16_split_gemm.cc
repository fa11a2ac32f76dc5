// SPDX-License-Identifier: Apache-2.0

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backends/cpu/gemm/bf16_split_gemm.cc"
#include "engine/backends/cpu/vectors/targets.h"

#include "engine/backends/cpu/gemm/amx_tiles-inl.h"
#include "engine/backends/cpu/gemm/bf16_split_gemm-inl.h"
#include "engine/backends/cpu/gemm/bf16_split_gemm.h"

#if HWY_TARGET == HWY_AVX3
HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {

const Bf16SplitGemm* hardwareSplitForm() {
    return splitForm<AmxTiles>();
}

}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();
#endif

#if HWY_ONCE
namespace halyard::engine::cpu {

const Bf16SplitGemm* bf16SplitGemm(InstructionSet set) {
#if HWY_TARGETS & HWY_AVX3
    if (set == InstructionSet::AVX512_AMX) {
        return N_AVX3::hardwareSplitForm();
    }
#else
    static_cast<void>(set);
#endif
    return nullptr;
}

}  // namespace halyard::engine::cpu
#endif
