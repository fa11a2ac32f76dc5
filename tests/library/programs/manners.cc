// SPDX-License-Identifier: Apache-2.0
//
// The library's effects on the process around it: nothing that it was not asked for.

#include <dirent.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <csignal>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "adding.h"
#include "claims.h"

namespace {

constexpr int32_t kCount = 200000;

struct Lines {
    std::mutex mutex;
    std::vector<std::string> all;

    static void take(void* self, int32_t /*level*/, const char* line) {
        auto& lines = *static_cast<Lines*>(self);
        const std::lock_guard lock(lines.mutex);
        lines.all.emplace_back(line);
    }
};

int entriesOf(const char* path) {
    int count = 0;
    DIR* const folder = opendir(path);
    while (readdir(folder) != nullptr) {
        ++count;
    }
    closedir(folder);
    return count;
}

// Of the signals that have handlers, as the kernel counts them.
std::string caughtSignals() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("SigCgt:")) {
            return line;
        }
    }
    return {};
}

std::string children() {
    std::ifstream file("/proc/self/task/" + std::to_string(getpid()) + "/children");
    std::string text;
    std::getline(file, text);
    return text;
}

// The states that the system lets the process use, AMX's tiles among them.
uint64_t permittedStates() {
    uint64_t states = 0;
#if defined(__x86_64__)
    constexpr int kGetStates = 0x1022;  // ARCH_GET_XCOMP_PERM
    syscall(SYS_arch_prctl, kGetStates, &states);
#endif
    return states;
}

struct Run {
    halyard_status status = HALYARD_FAILED;
    std::string message;
    halyard_run_report report = {};
    bool right = false;
};

// Compiles and runs an addition on the runtime, over floats that begin `offset` bytes behind a
// multiple of their size.
Run runOn(halyard_runtime* runtime, size_t offset = 0) {
    Run run;
    halyard_message message = {};
    halyard_program* program = nullptr;
    halyard_execution* execution = nullptr;
    halyard_graph* const graph = adding(-1);
    std::vector<float> values(3 * kCount + 4);
    for (int32_t i = 0; i < 2 * kCount; ++i) {
        values[static_cast<size_t>(i)] = static_cast<float>(i % 7);
    }
    std::vector<char> shifted(values.size() * sizeof(float) + sizeof(float));
    std::copy_n(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float),
                shifted.data() + offset);
    const auto* const a = reinterpret_cast<const float*>(shifted.data() + offset);
    auto* const sum = reinterpret_cast<float*>(shifted.data() + offset + 2 * kCount * sizeof *a);
    const std::array inputs = {
            input_of(a, kCount),
            input_of(reinterpret_cast<const float*>(shifted.data() + offset + kCount * sizeof *a),
                     kCount)};
    halyard_output output = output_to(sum, kCount);
    run.status = halyard_compile(runtime, graph, nullptr, &program, &message);
    if (run.status == HALYARD_OK) {
        run.status = halyard_execution_create(program, &execution, &message);
    }
    if (run.status == HALYARD_OK) {
        run.status =
                halyard_execution_run(execution, inputs.data(), 2, &output, 1, nullptr, &message);
        run.report.struct_size = sizeof run.report;
        halyard_execution_report(execution, &run.report, nullptr);
    }
    run.message = message.text;
    std::vector<float> sums(kCount);
    std::memcpy(sums.data(), shifted.data() + offset + 2 * kCount * sizeof(float),
                kCount * sizeof(float));
    run.right = true;
    for (size_t i = 0; i < sums.size(); ++i) {
        run.right = run.right && sums[i] == values[i] + values[i + kCount];
    }
    halyard_graph_release(graph);
    halyard_program_release(program);
    halyard_execution_release(execution);
    return run;
}

void leavesTheProcessAlone() {
    const std::string signals = caughtSignals();
    const uint64_t states = permittedStates();
    const int threads = entriesOf("/proc/self/task");
    const int descriptors = entriesOf("/proc/self/fd");
    halyard_runtime_options options = {};
    options.struct_size = sizeof options;
    options.backends = "GpuAcc,CpuAcc";
    halyard_runtime* runtime = nullptr;
    CLAIM_OK(halyard_runtime_create(&options, &runtime, &message));
    CLAIM(children().empty());
    CLAIM(runOn(runtime).right);
    CLAIM(entriesOf("/proc/self/task") == threads);
    halyard_runtime_release(runtime);
    CLAIM(caughtSignals() == signals);
    CLAIM(permittedStates() == states);
    CLAIM(entriesOf("/proc/self/fd") == descriptors);
}

bool processorHas(const char* feature) {
    std::ifstream file("/proc/cpuinfo");
    for (std::string word; file >> word;) {
        if (word == feature) {
            return true;
        }
    }
    return false;
}

// The first node's placement with kernels withheld.
std::string withheldBy(const char* backends) {
    halyard_runtime_options options = {};
    options.struct_size = sizeof options;
    options.backends = backends;
    halyard_runtime* runtime = nullptr;
    halyard_program* program = nullptr;
    halyard_graph* const graph = adding(4);
    CLAIM_OK(halyard_runtime_create(&options, &runtime, &message));
    CLAIM_OK(halyard_compile(runtime, graph, nullptr, &program, &message));
    halyard_placement placement = {};
    placement.struct_size = sizeof placement;
    CLAIM_OK(halyard_program_placement(program, 0, &placement, &message));
    std::string withheld = placement.withheld;
    halyard_graph_release(graph);
    halyard_program_release(program);
    halyard_runtime_release(runtime);
    return withheld;
}

void saysWhatItGoesWithout() {
    const bool tiles =
            processorHas("amx_int8") && processorHas("amx_bf16") && processorHas("avx512_vnni");
    const std::string withheld = withheldBy("CpuAcc");
    CLAIM(withheld.starts_with("avx512amx takes a permission") == tiles);
    CLAIM(withheld.empty() == !tiles);
    CLAIM(withheldBy("CpuAcc:features=portable").empty());
    CLAIM(withheldBy("CpuRef").empty());
}

void refusesWhatIsNotPermitted() {
    halyard_runtime* runtime = nullptr;
    halyard_runtime_options options = {};
    options.struct_size = sizeof options;
    options.backends = "CpuAcc:features=avx512amx";
    CLAIM_REFUSAL(halyard_runtime_create(&options, &runtime, &message), HALYARD_INVALID_ARGUMENT,
                  "avx512amx takes a permission");
    halyard_message said = {};
    options.backends = "GpuAcc:compiler=apart";
    // A library without GpuAcc does not know it.
    CLAIM(halyard_runtime_create(&options, &runtime, &said) == HALYARD_INVALID_ARGUMENT);
    CLAIM(std::strstr(said.text, "may not be started") != nullptr ||
          std::strstr(said.text, "there is no backend") != nullptr);
}

void writesToItsOwnLogOnly() {
    constexpr int kRounds = 20;
    std::array<Lines, 2> logs;
    std::vector<std::thread> hosts;
    for (size_t i = 0; i < logs.size(); ++i) {
        hosts.emplace_back([&logs, i] {
            const std::string backends =
                    "GpuAcc:library=/nonexistent/" + std::to_string(i) + ",CpuAcc";
            for (int round = 0; round < kRounds; ++round) {
                halyard_runtime_options options = {};
                options.struct_size = sizeof options;
                options.backends = backends.c_str();
                options.log = &Lines::take;
                options.log_context = &logs[i];
                options.threads = 2;
                halyard_runtime* runtime = nullptr;
                CLAIM_OK(halyard_runtime_create(&options, &runtime, &message));
                CLAIM(runOn(runtime).right);
                halyard_runtime_release(runtime);
            }
        });
    }
    for (std::thread& host : hosts) {
        host.join();
    }
    for (size_t i = 0; i < logs.size(); ++i) {
        const std::string own = "/nonexistent/" + std::to_string(i);
        const std::string other = "/nonexistent/" + std::to_string(1 - i);
        size_t owned = 0;
        for (const std::string& line : logs[i].all) {
            owned += line.find(own) != std::string::npos ? 1 : 0;
            claim(line.find(other) == std::string::npos ? 1 : 0, "is its own", line.c_str(),
                  __LINE__);
        }
        CLAIM(owned == kRounds);
    }
}

void keepsLinesBelowTheLevelBack() {
    Lines lines;
    halyard_runtime_options options = {};
    options.struct_size = sizeof options;
    options.backends = "GpuAcc:library=/nonexistent/x,CpuAcc";
    options.log = &Lines::take;
    options.log_context = &lines;
    options.log_level = HALYARD_LOG_SILENT;
    halyard_runtime* runtime = nullptr;
    CLAIM_OK(halyard_runtime_create(&options, &runtime, &message));
    halyard_runtime_release(runtime);
    CLAIM(lines.all.empty());
}

// A host's threads: two per loop, made for it, which shows who runs what.
struct Host {
    std::atomic<int> loops = 0;
    std::atomic<int> tasks = 0;
    std::mutex mutex;
    std::set<std::thread::id> threads;
    enum class Fault {
        NONE,
        LEAVES_ONE_OUT,
        CALLS_TWICE,
        NAMES_ANOTHER_WORKER
    } fault = Fault::NONE;

    static constexpr uint32_t kThreads = 3;

    static void execute(void* self, halyard_task_function task, void* data, size_t tasks) {
        auto& host = *static_cast<Host*>(self);
        ++host.loops;
        std::atomic<size_t> next = host.fault == Fault::LEAVES_ONE_OUT ? 1 : 0;
        std::vector<std::thread> threads;
        for (size_t worker = 0; worker < kThreads; ++worker) {
            threads.emplace_back([&, worker] {
                {
                    const std::lock_guard lock(host.mutex);
                    host.threads.insert(std::this_thread::get_id());
                }
                for (size_t i = next++; i < tasks; i = next++) {
                    ++host.tasks;
                    task(data, i, worker + (host.fault == Fault::NAMES_ANOTHER_WORKER ? 61 : 0));
                    if (host.fault == Fault::CALLS_TWICE) {
                        task(data, i, worker);
                    }
                }
            });
        }
        for (std::thread& thread : threads) {
            thread.join();
        }
    }
};

Run runWith(Host& host) {
    const halyard_executor executor = {&Host::execute, &host, Host::kThreads, 0};
    halyard_runtime_options options = {};
    options.struct_size = sizeof options;
    options.executor = &executor;
    halyard_runtime* runtime = nullptr;
    CLAIM_OK(halyard_runtime_create(&options, &runtime, &message));
    Run run = runOn(runtime);
    CLAIM(entriesOf("/proc/self/task") == 3);  // this thread alone, beside "." and ".."
    halyard_runtime_release(runtime);
    return run;
}

void computesOnTheHostsThreads() {
    Host host;
    CLAIM(runWith(host).right);
    CLAIM(host.loops > 0 && host.tasks > host.loops);
    CLAIM(!host.threads.contains(std::this_thread::get_id()));
}

void noticesAnExecutorThatBreaksTheContract() {
    const auto claimFault = [](Host::Fault fault, const char* words) {
        Host host;
        host.fault = fault;
        const Run run = runWith(host);
        CLAIM(run.status == HALYARD_FAILED);
        claim(run.message.find(words) != std::string::npos ? 1 : 0, words, run.message.c_str(),
              __LINE__);
    };
    claimFault(Host::Fault::LEAVES_ONE_OUT, "the executor returned when");
    claimFault(Host::Fault::CALLS_TWICE, "twice");
    claimFault(Host::Fault::NAMES_ANOTHER_WORKER, "as worker 6");
}

void copiesNothingThatIsAligned() {
    halyard_runtime* runtime = nullptr;
    CLAIM_OK(halyard_runtime_create(nullptr, &runtime, &message));
    const Run aligned = runOn(runtime);
    CLAIM(aligned.right && aligned.report.copied_bytes == 0);
    const Run shifted = runOn(runtime, 1);
    CLAIM(shifted.right && shifted.report.copied_bytes == 3 * uint64_t{kCount} * sizeof(float));
    halyard_runtime_release(runtime);
}

}  // namespace

int main() {
    leavesTheProcessAlone();
    saysWhatItGoesWithout();
    refusesWhatIsNotPermitted();
    writesToItsOwnLogOnly();
    keepsLinesBelowTheLevelBack();
    computesOnTheHostsThreads();
    noticesAnExecutorThatBreaksTheContract();
    copiesNothingThatIsAligned();
    return claims_failed;
}
