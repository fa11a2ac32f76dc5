// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/vectors/instruction_set.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/log.h"

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#elif defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace halyard::engine::cpu {
namespace {

using Row = std::pair<InstructionSet, std::string_view>;
constexpr std::array kNames = {
        Row{InstructionSet::PORTABLE, "portable"},
        Row{InstructionSet::SSE4, "sse4"},
        Row{InstructionSet::AVX2, "avx2"},
        Row{InstructionSet::AVX512, "avx512"},
        Row{InstructionSet::AVX512_VNNI, "avx512vnni"},
        Row{InstructionSet::AVX512_AMX, "avx512amx"},
        Row{InstructionSet::NEON, "neon"},
        Row{InstructionSet::NEON_DOT, "neondot"},
        Row{InstructionSet::NEON_I8MM, "neoni8mm"},
};

constexpr std::string_view kNoTiles =
        "avx512amx takes a permission of the whole process, which may not be asked for";

// Whether kernels are compiled for a set (HALYARD_CPU_TARGETS).
#ifdef HALYARD_WITHOUT_AVX2
[[maybe_unused]] constexpr bool kBuiltForAvx2 = false;
#else
[[maybe_unused]] constexpr bool kBuiltForAvx2 = true;
#endif
#ifdef HALYARD_WITHOUT_AVX512
[[maybe_unused]] constexpr bool kBuiltForAvx512 = false;
#else
[[maybe_unused]] constexpr bool kBuiltForAvx512 = true;
#endif

// Instruction sets that need no permission of the kernel's.
std::vector<InstructionSet> detect() {
    std::vector<InstructionSet> sets = {InstructionSet::PORTABLE};
#if defined(__x86_64__)
    // These look at what the system saves on a context switch, too.
    __builtin_cpu_init();
    const auto add = [&sets](bool has, bool built, InstructionSet set) {
        if (has && built) {
            sets.push_back(set);
        }
    };
    const bool sse4 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("aes");
    const bool avx2 = sse4 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                      __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2");
    const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd");
    add(sse4, true, InstructionSet::SSE4);
    add(avx2, kBuiltForAvx2, InstructionSet::AVX2);
    add(avx512, kBuiltForAvx512, InstructionSet::AVX512);
    add(avx512 && __builtin_cpu_supports("avx512vnni"), kBuiltForAvx512,
        InstructionSet::AVX512_VNNI);
#elif defined(__aarch64__)
    sets.push_back(InstructionSet::NEON);
    // FEAT_FP16 is as old as dot products are: cores that have these have it.
    constexpr unsigned long kProducts = HWCAP_ASIMDDP | HWCAP_ASIMDHP;
    if ((getauxval(AT_HWCAP) & kProducts) == kProducts) {
        sets.push_back(InstructionSet::NEON_DOT);
        if ((getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0) {
            sets.push_back(InstructionSet::NEON_I8MM);
        }
    }
#endif
    return sets;
}

// Nothing that has to be destroyed: threads that prepare models may outlive main(), and a library
// that is unloaded leaves no block on the heap.
class KeptSets {
  public:
    explicit KeptSets(const std::vector<InstructionSet>& sets) : mCount(sets.size()) {
        std::ranges::copy(sets, mSets.begin());
    }
    std::span<const InstructionSet> all() const { return std::span(mSets).first(mCount); }

  private:
    std::array<InstructionSet, kNames.size()> mSets = {};
    size_t mCount;
};

std::span<const InstructionSet> withoutTiles() {
    static const KeptSets sets(detect());
    return sets.all();
}

bool processorHasTiles() {
#if defined(__x86_64__)
    constexpr unsigned kBfloat16 = 1U << 22;  // in EDX of leaf 7
    constexpr unsigned kTile = 1U << 24;
    constexpr unsigned kInt8 = 1U << 25;
    constexpr unsigned kAll = kBfloat16 | kTile | kInt8;
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & kAll) == kAll;
#else
    return false;
#endif
}

int askForTiles() {
#if defined(__x86_64__)
    // In headers from Linux 5.16 on; the numbers are the kernel's for good.
    constexpr int kAskForState = 0x1023;  // ARCH_REQ_XCOMP_PERM
    constexpr int kTileData = 18;
    return syscall(SYS_arch_prctl, kAskForState, kTileData) == 0 ? 0 : errno;
#else
    return ENOSYS;
#endif
}

}  // namespace

std::string_view toString(InstructionSet set) {
    const auto* row = std::ranges::find(kNames, set, &Row::first);
    return row == kNames.end() ? "unknown" : row->second;
}

Result<InstructionSet> parseInstructionSet(std::string_view name, Tiles tiles) {
    // Without a request for AMX no permission for tiles is asked for.
    const std::span<const InstructionSet> plain = withoutTiles();
    const auto found = std::ranges::find(plain, name, [](auto set) { return toString(set); });
    if (found != plain.end()) {
        return *found;
    }
    if (tiles == Tiles::LEAVE && name == toString(InstructionSet::AVX512_AMX)) {
        return invalidArgument(std::string(kNoTiles));
    }
    std::string available;
    for (const InstructionSet set : tiles == Tiles::ASK ? availableInstructionSets() : plain) {
        if (toString(set) == name) {
            return set;
        }
        available.append(available.empty() ? "" : ", ").append(toString(set));
    }
    return invalidArgument("this processor has no instruction set \"" + std::string(name) +
                           "\" for CpuAcc; it has " + available);
}

std::span<const InstructionSet> availableInstructionSets() {
    static const KeptSets available(withTiles({withoutTiles().begin(), withoutTiles().end()},
                                              processorHasTiles(), askForTiles));
    return available.all();
}

std::string_view withheldInstructionSet() {
    return processorHasTiles() && withoutTiles().back() == InstructionSet::AVX512_VNNI
                   ? kNoTiles
                   : std::string_view();
}

bool isAvailable(InstructionSet set) {
    const std::span<const InstructionSet> available =
            set == InstructionSet::AVX512_AMX ? availableInstructionSets() : withoutTiles();
    return std::ranges::find(available, set) != available.end();
}

std::vector<InstructionSet> withTiles(std::vector<InstructionSet> sets, bool processorHasTiles,
                                      int (*ask)()) {
    if (!processorHasTiles || sets.back() != InstructionSet::AVX512_VNNI) {
        return sets;
    }
    if (const int refusal = ask(); refusal != 0) {
        log(LogLevel::INFO, "CpuAcc does without AMX, which the system refuses: " +
                                    std::string(std::strerror(refusal)));
        return sets;
    }
    sets.push_back(InstructionSet::AVX512_AMX);
    return sets;
}

InstructionSet bestInstructionSet(Tiles tiles) {
    return tiles == Tiles::ASK ? availableInstructionSets().back() : withoutTiles().back();
}

}  // namespace halyard::engine::cpu
