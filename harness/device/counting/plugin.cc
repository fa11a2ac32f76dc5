// SPDX-License-Identifier: Apache-2.0
//
// A plugin of QEMU's user emulation that counts the instructions of an arm64 program by class.
//
// A translated block has one counter, which its code increments; the classes of its instructions
// are known once it is translated. Each time that the program is about to read from its standard
// input, and when it ends, all counts so far are written as one line: the difference of two lines
// is the work for one command.
//
// Arguments: counts=FILE receives the lines, of as many numbers as there are classes; blocks=FILE,
// if it is there, at the end each block with its instructions.

#include <array>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "harness/device/counting/instruction_class.h"
#include "harness/device/counting/qemu_plugin.h"

namespace halyard::counting {

namespace {

constexpr int64_t kRead = 63;  // the number of arm64's system call

struct Block {
    uint64_t address = 0;
    std::vector<uint32_t> instructions;
    std::array<uint32_t, kInstructionClasses> ofClass{};
    uint64_t executions = 0;  // translated code adds to it
    std::vector<uint64_t> executionsAtReads;
};

struct Counter {
    std::mutex mutex;  // threads of the program translate, and read
    // Blocks stay where they are: translated code has their addresses. One that is translated
    // again, after QEMU has thrown away what it had, goes on counting.
    std::deque<Block> blocks;
    std::unordered_multimap<uint64_t, Block*> byAddress;
    std::string blocksPath;
    FILE* counts = nullptr;
    size_t reads = 0;
};

Counter& counter() {
    // Never destroyed: translated code may run until the process is gone.
    static auto* const instance = new Counter;
    return *instance;
}

Block& blockOf(Counter& all, uint64_t address, std::vector<uint32_t> instructions) {
    const auto [first, last] = all.byAddress.equal_range(address);
    for (auto it = first; it != last; ++it) {
        if (it->second->instructions == instructions) {
            return *it->second;
        }
    }
    Block& block = all.blocks.emplace_back();
    block.address = address;
    for (const uint32_t instruction : instructions) {
        ++block.ofClass[static_cast<size_t>(instructionClass(instruction))];
    }
    block.instructions = std::move(instructions);
    all.byAddress.emplace(address, &block);
    return block;
}

void onTranslation(qemu_plugin_id_t, qemu_plugin_tb* translated) {
    std::vector<uint32_t> instructions(qemu_plugin_tb_n_insns(translated));
    for (size_t i = 0; i < instructions.size(); ++i) {
        const qemu_plugin_insn* instruction = qemu_plugin_tb_get_insn(translated, i);
        std::memcpy(&instructions[i], qemu_plugin_insn_data(instruction), sizeof(uint32_t));
    }
    Counter& all = counter();
    const std::lock_guard lock(all.mutex);
    Block& block = blockOf(all, qemu_plugin_tb_vaddr(translated), std::move(instructions));
    qemu_plugin_register_vcpu_tb_exec_inline(translated, QEMU_PLUGIN_INLINE_ADD_U64,
                                             &block.executions, 1);
}

void writeCounts(Counter& all, const char* event) {
    std::array<uint64_t, kInstructionClasses> total{};
    for (Block& block : all.blocks) {
        for (size_t i = 0; i < kInstructionClasses; ++i) {
            total[i] += block.executions * block.ofClass[i];
        }
        if (!all.blocksPath.empty()) {
            block.executionsAtReads.resize(all.reads);
            block.executionsAtReads.push_back(block.executions);
        }
    }
    ++all.reads;
    std::fputs(event, all.counts);
    for (const uint64_t count : total) {
        std::fprintf(all.counts, " %" PRIu64, count);
    }
    std::fputc('\n', all.counts);
    std::fflush(all.counts);
}

void onSystemCall(qemu_plugin_id_t, unsigned int, int64_t number, uint64_t descriptor, uint64_t,
                  uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t) {
    if (number == kRead && descriptor == 0) {
        Counter& all = counter();
        const std::lock_guard lock(all.mutex);
        writeCounts(all, "read");
    }
}

void writeBlock(FILE* file, const Block& block) {
    std::fprintf(file, "block %" PRIx64, block.address);
    for (const uint64_t executions : block.executionsAtReads) {
        std::fprintf(file, " %" PRIu64, executions);
    }
    std::fputs(" :", file);
    for (const uint32_t instruction : block.instructions) {
        std::fprintf(file, " %08" PRIx32, instruction);
    }
    std::fputc('\n', file);
}

// A line for each block: its address, how often it had been executed at each read and in the end,
// and its instructions. Then the kernel's lines of what is mapped where: a program of as many bits
// as the host's has the host's addresses.
void writeBlocks(const Counter& all) {
    FILE* file = std::fopen(all.blocksPath.c_str(), "we");
    if (file == nullptr) {
        std::perror(all.blocksPath.c_str());
        return;
    }
    for (const Block& block : all.blocks) {
        writeBlock(file, block);
    }
    if (FILE* maps = std::fopen("/proc/self/maps", "re"); maps != nullptr) {
        std::array<char, 8192> line;
        while (std::fgets(line.data(), line.size(), maps) != nullptr) {
            std::fprintf(file, "map %s", line.data());
        }
        std::fclose(maps);
    }
    std::fclose(file);
}

void onExit(qemu_plugin_id_t, void*) {
    Counter& all = counter();
    const std::lock_guard lock(all.mutex);
    writeCounts(all, "exit");
    if (!all.blocksPath.empty()) {
        writeBlocks(all);
    }
}

// Says on stderr what is wrong with the arguments.
bool configure(Counter& all, int count, char** arguments) {
    std::string countsPath;
    for (int i = 0; i < count; ++i) {
        const std::string_view argument = arguments[i];
        if (argument.starts_with("counts=")) {
            countsPath = argument.substr(argument.find('=') + 1);
        } else if (argument.starts_with("blocks=")) {
            all.blocksPath = argument.substr(argument.find('=') + 1);
        } else {
            std::fprintf(stderr, "no argument of the instruction counter: %s\n", arguments[i]);
            return false;
        }
    }
    all.counts = std::fopen(countsPath.c_str(), "we");
    if (all.counts == nullptr) {
        std::perror(("counts=" + countsPath).c_str());
        return false;
    }
    return true;
}

}  // namespace

}  // namespace halyard::counting

extern "C" {

HALYARD_QEMU_CALLS int qemu_plugin_version = 1;

HALYARD_QEMU_CALLS int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t* info, int count,
                                           char** arguments) {
    using namespace halyard::counting;
    if (std::string_view(info->target_name) != "aarch64") {
        std::fprintf(stderr, "the instruction counter is for programs of aarch64, not of %s\n",
                     info->target_name);
        return -1;
    }
    if (!configure(counter(), count, arguments)) {
        return -1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, onTranslation);
    qemu_plugin_register_vcpu_syscall_cb(id, onSystemCall);
    qemu_plugin_register_atexit_cb(id, onExit, nullptr);
    return 0;
}
}
