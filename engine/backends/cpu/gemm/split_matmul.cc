// SPDX-License-Identifier: Apache-2.0

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backends/cpu/gemm/split_matmul.cc"
#include "engine/backends/cpu/vectors/targets.h"

#include "engine/backends/cpu/gemm/hardware_tiles-inl.h"
#include "engine/backends/cpu/gemm/split_matmul-inl.h"
#include "engine/backends/cpu/gemm/split_matmul.h"

#if HWY_TARGET == HWY_AVX3
HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {

const SplitMatmul* hardwareSplitForm() {
    return splitForm<HardwareTiles>();
}

}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();
#endif

#if HWY_ONCE
namespace halyard::engine::cpu {

const SplitMatmul* splitMatmul(InstructionSet set) {
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
