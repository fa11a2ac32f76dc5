// SPDX-License-Identifier: Apache-2.0

#include "litert/vendor/processor.h"

#include <algorithm>
#include <array>

#include "engine/backends/cpu/cpu_acc.h"
#include "engine/backends/cpu/hardware/cpu_description.h"
#include "engine/backends/cpu/hardware/cpu_tuning.h"

namespace halyard::vendor {
namespace {

using engine::cpu::CpuTarget;
using engine::cpu::InstructionSet;
using engine::cpu::Microarchitecture;
using engine::cpu::Tiles;

struct Row {
    std::string_view name;
    InstructionSet set;
    Microarchitecture core;
};

// Behind "host". Caches are those of the typical core of a kind; of x86, whose kernels are not
// chosen by them, L1d is the smallest that processors with the instruction set have.
constexpr std::array kRows = {
        Row{"x86_64-sse4", InstructionSet::SSE4, Microarchitecture::X86},
        Row{"x86_64-avx2", InstructionSet::AVX2, Microarchitecture::X86},
        Row{"x86_64-avx512", InstructionSet::AVX512, Microarchitecture::X86},
        Row{"x86_64-avx512vnni", InstructionSet::AVX512_VNNI, Microarchitecture::X86},
        Row{"x86_64-amx", InstructionSet::AVX512_AMX, Microarchitecture::X86},
        Row{"arm64-cortex-a53", InstructionSet::NEON, Microarchitecture::CORTEX_A53},
        Row{"arm64-cortex-a55", InstructionSet::NEON_DOT, Microarchitecture::CORTEX_A55},
        Row{"arm64-cortex-a72", InstructionSet::NEON, Microarchitecture::CORTEX_A72},
        Row{"arm64-cortex-a76", InstructionSet::NEON_DOT, Microarchitecture::CORTEX_A76},
        Row{"arm64-cortex-x", InstructionSet::NEON_I8MM, Microarchitecture::CORTEX_X},
        Row{"arm64-neoverse-v1", InstructionSet::NEON_I8MM, Microarchitecture::NEOVERSE_V1},
};

constexpr std::array kNames = [] {
    std::array<std::string_view, kRows.size() + 1> names = {kHost};
    std::ranges::transform(kRows, names.begin() + 1, &Row::name);
    return names;
}();

engine::cpu::CpuDescription descriptionOf(const Row& row) {
    engine::cpu::CoreCluster core = engine::cpu::typicalCluster(row.core);
    if (row.core == Microarchitecture::X86) {
        core.l1d = {.bytes = int64_t{32} << 10, .ways = 8};
        core.l2 = {.bytes = int64_t{512} << 10, .ways = 8};
    }
    return {.clusters = {core}, .lastLevel = {}};
}

}  // namespace

std::span<const std::string_view> processorNames() {
    return kNames;
}

Status checkName(std::string_view name) {
    if (std::ranges::find(kNames, name) != kNames.end()) {
        return {};
    }
    std::string known;
    for (const std::string_view each : kNames) {
        known.append(known.empty() ? "" : ", ").append(each);
    }
    return invalidArgument("there is no processor \"" + std::string(name) + "\"; there are " +
                           known);
}

Result<std::unique_ptr<const engine::Backend>> openProcessor(std::string_view name) {
    HALYARD_RETURN_IF_ERROR(checkName(name));
    if (name == kHost) {
        return engine::makeCpuAcc(engine::cpu::bestInstructionSet(Tiles::LEAVE),
                                  engine::cpu::withheldInstructionSet());
    }
    const Row& row = *std::ranges::find(kRows, name, &Row::name);
    if (!engine::cpu::isAvailable(row.set)) {
        return unsupported("this processor has no " + std::string(engine::cpu::toString(row.set)));
    }
    return engine::makeCpuAcc(CpuTarget::of(row.set, descriptionOf(row)));
}

std::string hostIdentity() {
    return engine::makeCpuAcc(engine::cpu::bestInstructionSet(Tiles::LEAVE))->identity();
}

}  // namespace halyard::vendor
