// SPDX-License-Identifier: Apache-2.0
//
// A processor's description, read from folders that the test makes up.

#include "engine/backends/cpu/hardware/cpu_description.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace halyard::engine::cpu {
namespace {

// A folder as /sys/devices/system/cpu is one, gone with the object.
class FakeCpus {
  public:
    FakeCpus() {
        std::string pattern = (std::filesystem::temp_directory_path() / "cpusXXXXXX").string();
        mRoot = mkdtemp(pattern.data());
    }
    ~FakeCpus() { std::filesystem::remove_all(mRoot); }
    FakeCpus(const FakeCpus&) = delete;
    FakeCpus& operator=(const FakeCpus&) = delete;

    const std::string& root() const { return mRoot; }
    void write(const std::string& path, const std::string& text) const {
        const std::filesystem::path file = std::filesystem::path(mRoot) / path;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << text;
    }
    void cache(int core, int index, const std::string& level, const std::string& type,
               const std::string& size, const std::string& ways, const std::string& cores) const {
        const std::string folder =
                "cpu" + std::to_string(core) + "/cache/index" + std::to_string(index) + "/";
        write(folder + "level", level + "\n");
        write(folder + "type", type + "\n");
        write(folder + "size", size + "\n");
        write(folder + "coherency_line_size", "64\n");
        write(folder + "ways_of_associativity", ways + "\n");
        write(folder + "shared_cpu_list", cores + "\n");
    }
    void core(int core, const std::string& midr, const std::string& capacity) const {
        const std::string folder = "cpu" + std::to_string(core) + "/";
        write(folder + "regs/identification/midr_el1", midr + "\n");
        write(folder + "cpu_capacity", capacity + "\n");
    }

  private:
    std::string mRoot;
};

CoreCluster unknownCore() {
    return typicalCluster(Microarchitecture::UNKNOWN);
}

TEST(CpuDescription, TellsClustersOfAPhoneTheFastestFirst) {
    const FakeCpus cpus;
    cpus.write("present", "0-5\n");
    for (int core = 0; core < 4; ++core) {
        cpus.core(core, "0x00000000412fd050", "250");
        cpus.cache(core, 0, "1", "Data", "32K", "4", std::to_string(core));
        cpus.cache(core, 1, "1", "Instruction", "32K", "4", std::to_string(core));
        cpus.cache(core, 2, "2", "Unified", "128K", "4", std::to_string(core));
        cpus.cache(core, 3, "3", "Unified", "2048K", "16", "0-5");
    }
    for (int core = 4; core < 6; ++core) {
        cpus.core(core, "0x00000000414fd0b0", "1024");
        cpus.cache(core, 0, "1", "Data", "64K", "4", std::to_string(core));
        cpus.cache(core, 1, "2", "Unified", "512K", "8", std::to_string(core));
    }
    const CpuDescription cpu = describeCpu(cpus.root(), unknownCore());
    ASSERT_EQ(cpu.clusters.size(), 2U);
    EXPECT_EQ(cpu.cores(), 6);
    EXPECT_EQ(cpu.fastest().kind, Microarchitecture::CORTEX_A76);
    EXPECT_EQ(cpu.fastest().cores, 2);
    EXPECT_EQ(cpu.fastest().l1d.bytes, 64 << 10);
    EXPECT_EQ(cpu.fastest().l1d.setBytes(), 16 << 10);
    EXPECT_EQ(cpu.fastest().l2.bytes, 512 << 10);
    EXPECT_EQ(cpu.clusters[1].kind, Microarchitecture::CORTEX_A55);
    EXPECT_EQ(cpu.clusters[1].cores, 4);
    EXPECT_EQ(cpu.clusters[1].capacity, 250);
    EXPECT_EQ(cpu.lastLevel.bytes, 2 << 20);
    EXPECT_EQ(cpu.lastLevel.sharedBy, 6);
    EXPECT_EQ(cpu.toString(),
              "2 x Cortex-A76 (L1d 64 KiB, L2 512 KiB), 4 x Cortex-A55 (L1d 32 KiB, L2 128 KiB), "
              "last level 2048 KiB");
}

TEST(CpuDescription, TakesTypicalCachesWhereTheKernelTellsNone) {
    const FakeCpus cpus;
    cpus.write("present", "0-1\n");
    cpus.core(0, "0x410fd034", "1024");
    cpus.core(1, "0x410fd034", "1024");
    const CpuDescription cpu = describeCpu(cpus.root(), unknownCore());
    ASSERT_EQ(cpu.clusters.size(), 1U);
    EXPECT_EQ(cpu.fastest().cores, 2);
    EXPECT_EQ(cpu.fastest().l1d, typicalCluster(Microarchitecture::CORTEX_A53).l1d);
    EXPECT_EQ(cpu.fastest().l2, typicalCluster(Microarchitecture::CORTEX_A53).l2);
}

TEST(CpuDescription, IsTheFallbackWithoutAFolder) {
    CoreCluster fallback = typicalCluster(Microarchitecture::X86);
    fallback.l1d = {.bytes = 48 << 10, .ways = 12};
    const CpuDescription cpu = describeCpu("/nowhere/at/all", fallback);
    ASSERT_EQ(cpu.clusters.size(), 1U);
    EXPECT_EQ(cpu.fastest(), fallback);
}

TEST(CpuDescription, SharesACachePerCore) {
    const FakeCpus cpus;
    cpus.write("online", "0-3");
    for (int core = 0; core < 4; ++core) {
        cpus.core(core, "0x410fd034", "1024");
        cpus.cache(core, 0, "1", "Data", "32K", "4", std::to_string(core));
        cpus.cache(core, 1, "2", "Unified", "512K", "16", "0-3");
    }
    const CpuDescription cpu = describeCpu(cpus.root(), unknownCore());
    EXPECT_EQ(cpu.fastest().l2.bytesOfCore(), 128 << 10);
}

// Whatever the files say, the description is one that a processor could have.
TEST(CpuDescription, BelievesNothingThatNoProcessorCouldHave) {
    const std::string many(1 << 16, '9');
    for (const std::string& text :
         {std::string(), std::string("-1"), std::string("0"), std::string("512"), std::string("K"),
          std::string("3T"), std::string("99999999999999999999K"),
          std::string("9223372036854775807G"), many, std::string("0-"),
          std::string("0-99999999999"), std::string("\0\xFF", 2)}) {
        SCOPED_TRACE(text.substr(0, 20));
        const FakeCpus cpus;
        cpus.write("present", "0," + text);
        cpus.core(0, text, text);
        cpus.write("cpu0/cpufreq/cpuinfo_max_freq", text);
        cpus.cache(0, 0, "1", "Data", text, "4", "0");
        cpus.cache(0, 1, text, "Unified", "512K", "8", "0");
        cpus.cache(0, 2, "2", "Unified", "512K", text, text);
        cpus.cache(0, 3, "3", text, "8M", "16", "0");
        const CpuDescription cpu = describeCpu(cpus.root(), unknownCore());
        ASSERT_FALSE(cpu.clusters.empty());
        EXPECT_LE(cpu.cores(), 4096);
        for (const CoreCluster& cluster : cpu.clusters) {
            EXPECT_GE(cluster.capacity, 1);
            EXPECT_LE(cluster.capacity, 1024);
            EXPECT_EQ(cluster.l1d, unknownCore().l1d);
            EXPECT_GE(cluster.l2.bytesOfCore(), 0);
            EXPECT_GE(cluster.l2.sharedBy, 1);
        }
        EXPECT_EQ(cpu.lastLevel.bytes, 0);
    }
}

TEST(CpuDescription, KnowsCoresByTheirPartNumbers) {
    EXPECT_EQ(microarchitectureOf(0x410FD034), Microarchitecture::CORTEX_A53);
    EXPECT_EQ(microarchitectureOf(0x412FD050), Microarchitecture::CORTEX_A55);
    EXPECT_EQ(microarchitectureOf(0x414FD0B0), Microarchitecture::CORTEX_A76);
    EXPECT_EQ(microarchitectureOf(0x411FD410), Microarchitecture::CORTEX_A78);
    EXPECT_EQ(microarchitectureOf(0x411FD440), Microarchitecture::CORTEX_X);
    EXPECT_EQ(microarchitectureOf(0x413FD0C1), Microarchitecture::NEOVERSE_N1);
    EXPECT_EQ(microarchitectureOf(0x411FD402), Microarchitecture::NEOVERSE_V1);
    EXPECT_EQ(microarchitectureOf(0x410FD493), Microarchitecture::NEOVERSE_N2);
    EXPECT_EQ(microarchitectureOf(0x410FD4F0), Microarchitecture::NEOVERSE_V2);
    EXPECT_EQ(microarchitectureOf(0x51AF8050), Microarchitecture::CORTEX_A55);
    EXPECT_EQ(microarchitectureOf(0x610F0230), Microarchitecture::UNKNOWN) << "of no Arm design";
    EXPECT_EQ(microarchitectureOf(0), Microarchitecture::UNKNOWN);
}

TEST(CpuDescription, OfThisMachineHasCoresAndCaches) {
    const CpuDescription cpu = describeThisCpu();
    EXPECT_GE(cpu.cores(), 1);
    EXPECT_GE(cpu.fastest().l1d.bytes, 8 << 10) << cpu.toString();
    EXPECT_LE(cpu.fastest().l1d.bytes, 512 << 10) << cpu.toString();
}

}  // namespace
}  // namespace halyard::engine::cpu
