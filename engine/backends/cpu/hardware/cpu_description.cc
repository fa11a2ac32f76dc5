// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/hardware/cpu_description.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <numeric>
#include <optional>
#include <utility>

#include "engine/backends/cpu/hardware/cpuid_caches.h"

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace halyard::engine::cpu {
namespace {

// Bounds of plausible values in sysfs; others are ignored.
constexpr int64_t kMostCores = 4096;
constexpr int64_t kMostCaches = 16;  // of a core
constexpr int64_t kLeastCacheBytes = int64_t{1} << 10;
constexpr int64_t kMostCacheBytes = int64_t{1} << 32;
constexpr int64_t kLeastLineBytes = 16;
constexpr int64_t kMostLineBytes = 1024;
constexpr int64_t kMostWays = 1024;
constexpr int64_t kMostCapacity = 1024;
constexpr int64_t kMostFrequencyKhz = 100'000'000;

struct KindRow {
    Microarchitecture kind;
    std::string_view name;
    // Typical: KiB and ways of L1d, KiB of a core's own L2; 0: it mostly has none.
    int64_t l1d, l1dWays, l2;
};

constexpr std::array kKinds = {
        KindRow{Microarchitecture::UNKNOWN, "unknown", 32, 0, 256},
        KindRow{Microarchitecture::X86, "x86", 0, 0, 0},
        KindRow{Microarchitecture::CORTEX_A53, "Cortex-A53", 32, 4, 128},
        KindRow{Microarchitecture::CORTEX_A55, "Cortex-A55", 32, 4, 128},
        KindRow{Microarchitecture::CORTEX_A72, "Cortex-A72", 32, 2, 256},
        KindRow{Microarchitecture::CORTEX_A76, "Cortex-A76", 64, 4, 256},
        KindRow{Microarchitecture::CORTEX_A78, "Cortex-A78", 64, 4, 512},
        KindRow{Microarchitecture::CORTEX_X, "Cortex-X", 64, 4, 1024},
        KindRow{Microarchitecture::NEOVERSE_N1, "Neoverse-N1", 64, 4, 1024},
        KindRow{Microarchitecture::NEOVERSE_V1, "Neoverse-V1", 64, 4, 1024},
        KindRow{Microarchitecture::NEOVERSE_N2, "Neoverse-N2", 64, 4, 1024},
        KindRow{Microarchitecture::NEOVERSE_V2, "Neoverse-V2", 64, 4, 2048},
};

struct PartRow {
    uint64_t part;
    Microarchitecture kind;
};

// Part numbers of Arm's own cores (implementer 0x41).
constexpr std::array kArmParts = {
        PartRow{0xD03, Microarchitecture::CORTEX_A53},
        PartRow{0xD04, Microarchitecture::CORTEX_A53},
        PartRow{0xD05, Microarchitecture::CORTEX_A55},
        PartRow{0xD46, Microarchitecture::CORTEX_A55},
        PartRow{0xD80, Microarchitecture::CORTEX_A55},
        PartRow{0xD07, Microarchitecture::CORTEX_A72},
        PartRow{0xD08, Microarchitecture::CORTEX_A72},
        PartRow{0xD09, Microarchitecture::CORTEX_A72},
        PartRow{0xD0A, Microarchitecture::CORTEX_A72},
        PartRow{0xD0B, Microarchitecture::CORTEX_A76},
        PartRow{0xD0D, Microarchitecture::CORTEX_A76},
        PartRow{0xD41, Microarchitecture::CORTEX_A78},
        PartRow{0xD47, Microarchitecture::CORTEX_A78},
        PartRow{0xD4B, Microarchitecture::CORTEX_A78},
        PartRow{0xD4D, Microarchitecture::CORTEX_A78},
        PartRow{0xD81, Microarchitecture::CORTEX_A78},
        PartRow{0xD44, Microarchitecture::CORTEX_X},
        PartRow{0xD48, Microarchitecture::CORTEX_X},
        PartRow{0xD4C, Microarchitecture::CORTEX_X},
        PartRow{0xD4E, Microarchitecture::CORTEX_X},
        PartRow{0xD82, Microarchitecture::CORTEX_X},
        PartRow{0xD0C, Microarchitecture::NEOVERSE_N1},
        PartRow{0xD40, Microarchitecture::NEOVERSE_V1},
        PartRow{0xD49, Microarchitecture::NEOVERSE_N2},
        PartRow{0xD4F, Microarchitecture::NEOVERSE_V2},
};

// Qualcomm's names for cores of Arm's (implementer 0x51): Kryo 2xx to 4xx.
constexpr std::array kQualcommParts = {
        PartRow{0x800, Microarchitecture::CORTEX_A72},
        PartRow{0x801, Microarchitecture::CORTEX_A53},
        PartRow{0x802, Microarchitecture::CORTEX_A72},
        PartRow{0x803, Microarchitecture::CORTEX_A55},
        PartRow{0x804, Microarchitecture::CORTEX_A76},
        PartRow{0x805, Microarchitecture::CORTEX_A55},
};

const KindRow& rowOf(Microarchitecture kind) {
    const auto* const row = std::ranges::find(kKinds, kind, &KindRow::kind);
    return row == kKinds.end() ? kKinds.front() : *row;
}

// ---- Small files --------------------------------------------------------------------------------

// The first line of a file, without its end; empty where it can't be read.
std::string lineOf(const std::string& path) {
    constexpr size_t kMostBytes = 4096;
    std::array<char, kMostBytes> text;
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0) {
        return {};
    }
    const ssize_t count = read(file, text.data(), text.size());
    close(file);
    const std::string_view all(text.data(), count > 0 ? static_cast<size_t>(count) : 0);
    return std::string(all.substr(0, all.find('\n')));
}

// A whole number at the beginning of the text, which is taken from it.
std::optional<int64_t> takeNumber(std::string_view& text, int base = 10) {
    if (base == 16 && text.starts_with("0x")) {
        text.remove_prefix(2);
    }
    int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
    if (error != std::errc() || number < 0) {
        return std::nullopt;
    }
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    return number;
}

// A file's number, if it is within the bounds and nothing else is there.
std::optional<int64_t> numberOf(const std::string& path, int64_t least, int64_t most) {
    const std::string line = lineOf(path);
    std::string_view text = line;
    const std::optional<int64_t> number = takeNumber(text);
    return number.has_value() && text.empty() && *number >= least && *number <= most ? number
                                                                                     : std::nullopt;
}

// "48K" in bytes.
std::optional<int64_t> sizeOf(const std::string& path) {
    const std::string line = lineOf(path);
    std::string_view text = line;
    const std::optional<int64_t> number = takeNumber(text);
    if (!number.has_value() || *number > kMostCacheBytes || text.size() > 1) {
        return std::nullopt;
    }
    const int shift = text == "K" ? 10 : text == "M" ? 20 : text == "G" ? 30 : 0;
    if (shift == 0 && !text.empty()) {
        return std::nullopt;
    }
    const int64_t bytes = *number > kMostCacheBytes >> shift ? 0 : *number << shift;
    return bytes >= kLeastCacheBytes ? std::optional(bytes) : std::nullopt;
}

// "0-3,8": the numbers below kMostCores, ascending; those before what is no list.
std::vector<int64_t> listOf(const std::string& path) {
    const std::string line = lineOf(path);
    std::string_view text = line;
    std::vector<bool> there(kMostCores, false);
    while (true) {
        const std::optional<int64_t> first = takeNumber(text);
        std::optional<int64_t> last = first;
        if (first.has_value() && text.starts_with("-")) {
            text.remove_prefix(1);
            last = takeNumber(text);
        }
        if (!last.has_value()) {
            break;
        }
        for (int64_t i = *first; i <= std::min(*last, kMostCores - 1); ++i) {
            there[static_cast<size_t>(i)] = true;
        }
        if (!text.starts_with(",")) {
            break;
        }
        text.remove_prefix(1);
    }
    std::vector<int64_t> numbers;
    for (size_t i = 0; i < there.size(); ++i) {
        if (there[i]) {
            numbers.push_back(static_cast<int64_t>(i));
        }
    }
    return numbers;
}

// ---- A core -------------------------------------------------------------------------------------

struct CoreCaches {
    CacheLevel l1d, l2, l3;
};

void readCache(const std::string& folder, CoreCaches& caches) {
    const std::optional<int64_t> level = numberOf(folder + "/level", 1, 4);
    const std::optional<int64_t> bytes = sizeOf(folder + "/size");
    const std::string type = lineOf(folder + "/type");
    if (!level.has_value() || !bytes.has_value() || (type != "Data" && type != "Unified")) {
        return;
    }
    CacheLevel cache = {.bytes = *bytes};
    const std::optional<int64_t> line =
            numberOf(folder + "/coherency_line_size", kLeastLineBytes, kMostLineBytes);
    if (line.has_value() && std::has_single_bit(static_cast<uint64_t>(*line))) {
        cache.lineBytes = *line;
    }
    const std::optional<int64_t> ways = numberOf(folder + "/ways_of_associativity", 1, kMostWays);
    if (ways.has_value() && *bytes % (*ways * cache.lineBytes) == 0) {
        cache.ways = *ways;
    }
    cache.sharedBy =
            std::max<int64_t>(static_cast<int64_t>(listOf(folder + "/shared_cpu_list").size()), 1);
    (*level == 1 ? caches.l1d : *level == 2 ? caches.l2 : caches.l3) = cache;
}

CoreCaches cachesOf(const std::string& core) {
    CoreCaches caches;
    for (int64_t i = 0; i < kMostCaches; ++i) {
        const std::string folder = core + "/cache/index" + std::to_string(i);
        if (lineOf(folder + "/level").empty()) {
            break;
        }
        readCache(folder, caches);
    }
    return caches;
}

std::optional<Microarchitecture> kindOf(const std::string& core) {
    const std::string line = lineOf(core + "/regs/identification/midr_el1");
    std::string_view text = line;
    const std::optional<int64_t> midr = takeNumber(text, 16);
    return midr.has_value() && text.empty()
                   ? std::optional(microarchitectureOf(static_cast<uint64_t>(*midr)))
                   : std::nullopt;
}

// Properties that distinguish clusters of cores; cores of one cluster have equal caches.
CoreCluster coreOf(const std::string& core, const CoreCluster& fallback) {
    CoreCluster cluster;
    const std::optional<Microarchitecture> kind = kindOf(core);
    cluster = kind.has_value() ? typicalCluster(*kind) : fallback;
    cluster.cores = 1;
    cluster.capacity = numberOf(core + "/cpu_capacity", 1, kMostCapacity).value_or(kMostCapacity);
    cluster.maxFrequencyKhz =
            numberOf(core + "/cpufreq/cpuinfo_max_freq", 1, kMostFrequencyKhz).value_or(0);
    return cluster;
}

bool isFaster(const CoreCluster& a, const CoreCluster& b) {
    return std::pair(a.capacity, a.maxFrequencyKhz) > std::pair(b.capacity, b.maxFrequencyKhz);
}

// Of the core that this thread is on, where Linux lets programs read the register.
Microarchitecture kindOfThisCore() {
#if defined(__aarch64__)
    if ((getauxval(AT_HWCAP) & HWCAP_CPUID) != 0) {
        uint64_t midr = 0;
        asm("mrs %0, MIDR_EL1" : "=r"(midr));
        return microarchitectureOf(midr);
    }
    return Microarchitecture::UNKNOWN;
#elif defined(__x86_64__)
    return Microarchitecture::X86;
#else
    return Microarchitecture::UNKNOWN;
#endif
}

std::string textOf(std::string_view name, const CacheLevel& cache) {
    return std::string(name) + " " +
           (cache.bytes > 0 ? std::to_string(cache.bytes >> 10) + " KiB" : "unknown");
}

}  // namespace

std::string_view toString(Microarchitecture kind) {
    return rowOf(kind).name;
}

Microarchitecture microarchitectureOf(uint64_t midr) {
    constexpr uint64_t kArm = 0x41;
    constexpr uint64_t kQualcomm = 0x51;
    const uint64_t implementer = midr >> 24U & 0xFFU;
    const uint64_t part = midr >> 4U & 0xFFFU;
    const auto find = [part](const auto& rows) {
        const auto* const row = std::ranges::find(rows, part, &PartRow::part);
        return row == rows.end() ? Microarchitecture::UNKNOWN : row->kind;
    };
    return implementer == kArm        ? find(kArmParts)
           : implementer == kQualcomm ? find(kQualcommParts)
                                      : Microarchitecture::UNKNOWN;
}

CoreCluster typicalCluster(Microarchitecture kind) {
    const KindRow& row = rowOf(kind);
    return {.kind = kind,
            .l1d = {.bytes = row.l1d << 10, .ways = row.l1dWays},
            .l2 = {.bytes = row.l2 << 10}};
}

CpuDescription describeCpu(const std::string& root, const CoreCluster& fallback) {
    std::vector<int64_t> numbers = listOf(root + "/present");
    if (numbers.empty()) {
        numbers = listOf(root + "/online");
    }
    // The caches of a cluster's first core are those of all.
    std::vector<std::pair<CoreCluster, CoreCluster>> found;  // as its core tells, with its caches
    CpuDescription description;
    for (const int64_t number : numbers) {
        const std::string folder = root + "/cpu" + std::to_string(number);
        const CoreCluster core = coreOf(folder, fallback);
        const auto same =
                std::ranges::find(found, core, &std::pair<CoreCluster, CoreCluster>::first);
        if (same != found.end()) {
            ++same->second.cores;
            continue;
        }
        CoreCluster cluster = core;
        const CoreCaches caches = cachesOf(folder);
        if (caches.l1d.bytes > 0) {
            cluster.l1d = caches.l1d;
        }
        if (caches.l1d.bytes > 0 || caches.l2.bytes > 0) {
            cluster.l2 = caches.l2;
        }
        if (caches.l3.bytes > description.lastLevel.bytes) {
            description.lastLevel = caches.l3;
        }
        found.emplace_back(core, cluster);
    }
    if (found.empty()) {
        description.clusters = {fallback};
        return description;
    }
    description.clusters.clear();
    for (const auto& [core, cluster] : found) {
        description.clusters.push_back(cluster);
    }
    std::ranges::stable_sort(description.clusters, isFaster);
    return description;
}

CpuDescription describeThisCpu() {
    CoreCluster fallback = typicalCluster(kindOfThisCore());
    const CpuidCaches caches = cpuidCaches();
    if (caches.l1d.bytes > 0) {
        fallback.l1d = caches.l1d;
    }
    if (caches.l2.bytes > 0) {
        fallback.l2 = caches.l2;
    }
    CpuDescription description = describeCpu("/sys/devices/system/cpu", fallback);
    if (description.lastLevel.bytes == 0) {
        description.lastLevel = caches.l3;
    }
    return description;
}

int64_t CpuDescription::cores() const {
    return std::accumulate(
            clusters.begin(), clusters.end(), int64_t{0},
            [](int64_t sum, const CoreCluster& cluster) { return sum + cluster.cores; });
}

std::string CpuDescription::toString() const {
    std::string text;
    for (const CoreCluster& cluster : clusters) {
        text.append(std::to_string(cluster.cores) + " x ")
                .append(cpu::toString(cluster.kind))
                .append(" (" + textOf("L1d", cluster.l1d) + ", " + textOf("L2", cluster.l2) +
                        "), ");
    }
    return text + textOf("last level", lastLevel);
}

}  // namespace halyard::engine::cpu
