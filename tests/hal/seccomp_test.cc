// SPDX-License-Identifier: Apache-2.0
//
// The filter of system calls. Each test filters a process of its own, as a filter is for good.

#include "hal/seccomp.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/android/binder.h>
#include <linux/seccomp.h>
#include <linux/sync_file.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "driver/device/device.h"
#include "engine/backends/gpu/tuning/tuning_file.h"
#include "engine/base/thread_pool.h"
#include "engine/plan/backend.h"
#include "hal/log_sink.h"
#include "hal/memory/guarded_mapping.h"
#include "hal/service/backend_needs.h"
#include "tests/hal/add_model.h"
#include "tests/hal/hidl_client.h"
#include "tests/hal/loopback.h"
#include "tests/hal/served_device.h"

namespace halyard::hal {

namespace {

using testing::addModel;
using testing::addRequest;
using testing::HidlClient;
using testing::LoopbackProcess;
using testing::RecordingCallback;
using testing::VersionMethods;

constexpr int kDone = 7;

void enforce() {
    const Status status = restrictSystemCalls(SeccompMode::ENFORCE);
    if (!status.ok()) {
        std::fprintf(stderr, "%s\n", status.toString().c_str());
        _exit(1);
    }
}

// Ends this process with kDone once `act` is done, or with 1 if it says that it failed.
template <typename Act>
[[noreturn]] void filtered(const Act& act) {
    enforce();
    if constexpr (std::is_void_v<decltype(act())>) {
        act();
        _exit(kDone);
    } else {
        _exit(act() ? kDone : 1);
    }
}

// The second filter, in a process that has the first.
void enforceServing(ServingFiles files) {
    openLog();
    const Status status = restrictServing(SeccompMode::ENFORCE, files);
    if (!status.ok()) {
        std::fprintf(stderr, "%s\n", status.toString().c_str());
        _exit(1);
    }
}

// As filtered(), once the service serves.
template <typename Act>
[[noreturn]] void filteredWhileServing(const Act& act, ServingFiles files = ServingFiles::NONE) {
    enforce();
    enforceServing(files);
    _exit(act() ? kDone : 1);
}

template <typename Act>
void expectRefusedWhileServing(const Act& act, const std::string& name) {
    const auto acting = [&] {
        static_cast<void>(act());
        return true;
    };
    EXPECT_EXIT(filtered(acting), ::testing::ExitedWithCode(kDone), "");
    EXPECT_EXIT(
            filteredWhileServing(acting), ::testing::KilledBySignal(SIGABRT),
            "E/halyard: system call [0-9]+ \\(" + name + "\\) is not on the list .*not any more");
}

template <typename Act>
void expectRefused(const Act& act, const std::string& name) {
    EXPECT_EXIT(filtered(act), ::testing::KilledBySignal(SIGABRT),
                "E/halyard: system call [0-9]+ \\(" + name + "\\) is not on the list");
}

TEST(SeccompDeathTest, EndsAProcessThatStartsPrograms) {
    expectRefused([] { execl("/bin/true", "true", nullptr); }, "execve");
    expectRefused([] { fork(); }, "clone");
    expectRefused([] { syscall(__NR_clone, CLONE_VM | SIGCHLD, 0, 0, 0, 0); }, "clone");
}

TEST(SeccompDeathTest, EndsAProcessThatTalksToTheNetworkOrToOthers) {
    expectRefused([] { socket(AF_INET, SOCK_STREAM, 0); }, "socket");
    expectRefused([] { socket(AF_NETLINK, SOCK_RAW, 0); }, "socket");
    expectRefused([] { ptrace(PTRACE_ATTACH, getpid() + 1, nullptr, nullptr); }, "ptrace");
    expectRefused([] { kill(getpid() + 1, 0); }, "kill");
    expectRefused([] { syscall(__NR_tgkill, getpid() + 1, getpid() + 1, 0); }, "tgkill");
}

TEST(SeccompDeathTest, EndsAProcessThatMakesCodeOfMemory) {
    expectRefused(
            [] { mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); },
            "mmap");
    void* page = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    expectRefused([page] { mprotect(page, 4096, PROT_READ | PROT_EXEC); }, "mprotect");
    munmap(page, 4096);
}

TEST(SeccompDeathTest, EndsAProcessThatAsksADriverForAnythingElse) {
    expectRefused([] { ioctl(0, 0x5412, "x"); }, "ioctl");
    expectRefused([] { ioctl(0, BINDER_SET_CONTEXT_MGR, 0); }, "ioctl");
    expectRefused([] { fcntl(0, F_SETOWN, 1); }, "fcntl");
}

TEST(SeccompDeathTest, NamesCallsThatHaveNoName) {
    expectRefused([] { syscall(1000); }, "\\?");
#if defined(__x86_64__)
    // The getpid() of another calling convention.
    expectRefused([] { syscall(0x40000000 | __NR_getpid); }, "\\?");
#endif
}

TEST(SeccompDeathTest, OpensNoFilesWhileServing) {
    // The first is what write() makes code with; into the last glibc looks to shrink a heap.
    for (const char* path : {"/proc/self/mem", "/dev/null", "/proc/sys/vm/overcommit_memory"}) {
        const auto opens = [path] { return open(path, O_RDONLY | O_CLOEXEC) >= 0; };
        EXPECT_EXIT(filtered(opens), ::testing::ExitedWithCode(kDone), "") << path;
        const auto fails = [path] {
            return open(path, O_RDONLY | O_CLOEXEC) == -1 && errno == EACCES;
        };
        EXPECT_EXIT(filteredWhileServing(fails), ::testing::ExitedWithCode(kDone), "") << path;
    }
}

TEST(SeccompDeathTest, EndsAProcessThatConnectsWhileServing) {
    const int there = socket(AF_UNIX, SOCK_DGRAM, 0);
    sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "/dev/socket/another"};
    const auto* bare = reinterpret_cast<const sockaddr*>(&address);
    expectRefusedWhileServing([] { return socket(AF_UNIX, SOCK_DGRAM, 0); }, "socket");
    expectRefusedWhileServing([&] { return connect(there, bare, sizeof(address)); }, "connect");
    expectRefusedWhileServing(
            [&] { return sendto(there, "x", 1, MSG_NOSIGNAL, bare, sizeof(address)); }, "sendto");
    // An address whose lower half is null is one, too.
    expectRefusedWhileServing(
            [&] {
                return syscall(__NR_sendto, there, "x", 1, MSG_NOSIGNAL, uint64_t{1} << 40,
                               sizeof(address));
            },
            "sendto");
    close(there);
}

TEST(SeccompDeathTest, EndsAProcessThatChangesItsPartInBinderWhileServing) {
    uint32_t threads = 1000;
    expectRefusedWhileServing([&] { return ioctl(0, BINDER_SET_MAX_THREADS, &threads); }, "ioctl");
    expectRefusedWhileServing([] { return syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, 0); },
                              "seccomp");
    const auto call = [] {
        binder_write_read nothing = {};
        sync_file_info fence = {};
        return ioctl(0, BINDER_WRITE_READ, &nothing) < 0 && ioctl(0, BINDER_THREAD_EXIT, 0) < 0 &&
               ioctl(0, SYNC_IOC_FILE_INFO, &fence) < 0;
    };
    EXPECT_EXIT(filteredWhileServing(call), ::testing::ExitedWithCode(kDone), "");
}

TEST(SeccompDeathTest, LetsDumpsBeWrittenWhereTheyAreAskedFor) {
    const auto dump = [] { return open("/dev/null", O_WRONLY | O_CREAT | O_CLOEXEC, 0600) >= 0; };
    EXPECT_EXIT(filteredWhileServing(dump, ServingFiles::DUMPS), ::testing::ExitedWithCode(kDone),
                "");
}

// Threads that run already, and those that start later.
TEST(SeccompDeathTest, HoldsForEveryThread) {
    const auto early = [] {
        std::atomic<bool> filteredNow = false;
        std::thread thread([&] {
            while (!filteredNow) {
                sched_yield();
            }
            execl("/bin/true", "true", nullptr);
        });
        enforce();
        filteredNow = true;
        thread.join();
    };
    EXPECT_EXIT(early(), ::testing::KilledBySignal(SIGABRT), "execve");
    const auto whileServing = [] {
        std::atomic<bool> serves = false;
        std::thread thread([&] {
            while (!serves) {
                sched_yield();
            }
            static_cast<void>(socket(AF_UNIX, SOCK_DGRAM, 0));
        });
        enforce();
        enforceServing(ServingFiles::NONE);
        serves = true;
        thread.join();
    };
    EXPECT_EXIT(whileServing(), ::testing::KilledBySignal(SIGABRT), "socket");
    expectRefused([] { std::thread([] { execl("/bin/true", "true", nullptr); }).join(); },
                  "execve");
}

// ---- what backends need -------------------------------------------------------------------------

// Needs what it is given.
class NeedyBackend : public engine::Backend {
  public:
    explicit NeedyBackend(engine::ProcessNeeds needs) : mNeeds(std::move(needs)) {}
    std::string_view name() const override { return "Needy"; }
    Status supports(const engine::Graph& /*graph*/, engine::NodeId /*node*/) const override {
        return unsupported("runs nothing");
    }
    Result<std::unique_ptr<engine::CompiledPartition>> compile(
            const engine::CompileArguments& /*arguments*/) const override {
        return unsupported("compiles nothing");
    }
    engine::ProcessNeeds needs() const override { return mNeeds; }

  private:
    const engine::ProcessNeeds mNeeds;
};

std::vector<std::unique_ptr<const engine::Backend>> needing(engine::ProcessNeeds needs) {
    std::vector<std::unique_ptr<const engine::Backend>> backends;
    backends.push_back(std::make_unique<NeedyBackend>(std::move(needs)));
    return backends;
}

// Both filters, with what such a backend needs; then it acts.
template <typename Act>
[[noreturn]] void serveWith(engine::ProcessNeeds needs, const Act& act) {
    std::vector<std::string> calls;
    Status status = meetNeeds(needing(std::move(needs)), calls);
    if (status.ok()) {
        status = restrictSystemCalls(SeccompMode::ENFORCE, calls);
    }
    openLog();
    if (status.ok()) {
        status = restrictServing(SeccompMode::ENFORCE, ServingFiles::NONE, calls);
    }
    _exit(status.ok() && act() ? kDone : 1);
}

TEST(SeccompDeathTest, LetsBackendsCallWhatTheyNeed) {
    const auto askDriver = [] { return ioctl(0, 0x5412, "x") <= 0; };
    EXPECT_EXIT(serveWith({}, askDriver), ::testing::KilledBySignal(SIGABRT), "ioctl");
    EXPECT_EXIT(serveWith({.systemCalls = {"ioctl"}}, askDriver), ::testing::ExitedWithCode(kDone),
                "");
    const auto openFile = [] { return open("/proc/self/status", O_RDONLY | O_CLOEXEC) >= 0; };
    EXPECT_EXIT(serveWith({.systemCalls = {"ioctl"}}, openFile), ::testing::ExitedWithCode(1), "");
    EXPECT_EXIT(serveWith({.systemCalls = {"openat"}}, openFile), ::testing::ExitedWithCode(kDone),
                "");
    const auto openSocket = [] { return socket(AF_UNIX, SOCK_STREAM, 0) >= 0; };
    EXPECT_EXIT(serveWith({.systemCalls = {"openat"}}, openSocket),
                ::testing::KilledBySignal(SIGABRT), "socket");
    EXPECT_EXIT(serveWith({.systemCalls = {"socket"}}, openSocket),
                ::testing::ExitedWithCode(kDone), "");
}

TEST(SeccompDeathTest, LetsGpuAccWriteItsTuning) {
    const std::string path = ::testing::TempDir() + "tuning_of_a_service";
    const auto write = [&] {
        return engine::gpu::writeTuningFile(path, "text").ok() &&
               engine::gpu::readTuningFile(path).value() == "text";
    };
    EXPECT_EXIT(serveWith({.systemCalls = engine::gpu::callsOfTuning()}, write),
                ::testing::ExitedWithCode(kDone), "");
    unlink(path.c_str());
}

TEST(SeccompDeathTest, RefusesNamesThatAreNoCalls) {
    const std::vector<std::string> names = {"iotcl"};
    const Status status = restrictSystemCalls(SeccompMode::ENFORCE, names);
    EXPECT_EQ(status.code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(status.message(), "there is no system call \"iotcl\"");
    EXPECT_EQ(restrictServing(SeccompMode::LOG, ServingFiles::NONE, names).code(),
              StatusCode::INVALID_ARGUMENT);
}

// A process that is started before the filter has none.
TEST(SeccompDeathTest, LetsBackendsStartHelpersBeforeIt) {
    const auto work = [] {
        std::array<int, 2> question = {};
        std::array<int, 2> answer = {};
        if (pipe2(question.data(), O_CLOEXEC) != 0 || pipe2(answer.data(), O_CLOEXEC) != 0) {
            _exit(1);
        }
        const auto start = [&]() -> Status {
            const pid_t helper = fork();
            if (helper == 0) {
                char byte = 0;
                // A call that no filter lets pass.
                const bool asked = read(question[0], &byte, 1) == 1;
                byte = asked && socket(AF_INET, SOCK_STREAM, 0) >= 0 ? 'y' : 'n';
                _exit(write(answer[1], &byte, 1) == 1 ? 0 : 1);
            }
            return helper > 0 ? Status() : internalError("can't fork");
        };
        serveWith({.systemCalls = {}, .startHelper = start}, [&] {
            // Where no helper has them, the pipes are broken: nothing is waited for.
            close(question[0]);
            close(answer[1]);
            char byte = 'q';
            return write(question[1], &byte, 1) == 1 && read(answer[0], &byte, 1) == 1 &&
                   byte == 'y';
        });
    };
    EXPECT_EXIT(work(), ::testing::ExitedWithCode(kDone), "");
}

TEST(BackendNeeds, FailWithTheHelpersWord) {
    std::vector<std::string> calls;
    const Status status = meetNeeds(
            needing({.systemCalls = {"ioctl"},
                     .startHelper = [] { return unsupported("has no program to start"); }}),
            calls);
    EXPECT_EQ(status.code(), StatusCode::UNSUPPORTED);
    EXPECT_EQ(status.message(), "the helper of Needy: has no program to start");
    EXPECT_TRUE(calls.empty());
}

TEST(SeccompDeathTest, LetsEverythingBeDoneWhereItOnlyTells) {
    const auto log = [] {
        const Status status = restrictSystemCalls(SeccompMode::LOG);
        const int fd = socket(AF_INET, SOCK_DGRAM, 0);
        _exit(status.ok() && fd >= 0 ? kDone : 1);
    };
    EXPECT_EXIT(log(), ::testing::ExitedWithCode(kDone), "");
}

TEST(SeccompDeathTest, LetsTheAllocatorAndThreadsWork) {
    const auto work = [] {
        // As many threads as it takes for stacks and arenas to be reused, and freed.
        for (int round = 0; round < 8; ++round) {
            std::vector<std::thread> threads;
            for (size_t i = 0; i < 16; ++i) {
                threads.emplace_back([i] {
                    for (size_t size = 1; size < (size_t{1} << 26); size *= 3) {
                        void* memory = std::malloc(size + i);
                        memory = std::realloc(memory, 2 * size);
                        std::free(memory);
                    }
                });
            }
            for (std::thread& thread : threads) {
                thread.join();
            }
        }
        std::array<uint8_t, 16> bytes = {};
        return getrandom(bytes.data(), bytes.size(), 0) == 16 && sysconf(_SC_PHYS_PAGES) > 0;
    };
    EXPECT_EXIT(filtered(work), ::testing::ExitedWithCode(kDone), "");
    EXPECT_EXIT(filteredWhileServing(work), ::testing::ExitedWithCode(kDone), "");
    EXPECT_EXIT(filtered([] { return std::thread::hardware_concurrency() > 0; }),
                ::testing::ExitedWithCode(kDone), "");
}

TEST(SeccompDeathTest, LetsThreadsComputeTogether) {
    const auto work = [] {
        ThreadPool pool(2, LateWorkers());
        ThreadLease lease = ThreadLease::take(&pool);
        std::atomic<int> came = 0;
        // Each waits for the other, so that both have started by the second phase.
        const auto meet = [&](int64_t, int64_t, size_t) {
            for (++came; came % 2 != 0;) {
                sched_yield();
            }
        };
        unsigned core = 0;
        return lease.parallelFor(2, 1, meet).ok() && lease.parallelFor(2, 1, meet).ok() &&
               syscall(__NR_getcpu, &core, nullptr, nullptr) == 0;
    };
    EXPECT_EXIT(filtered(work), ::testing::ExitedWithCode(kDone), "");
}

// ---- what the service does ----------------------------------------------------------------------

// The service's objects and a client of them. Nothing is made before the filter but what comes from
// the client in truth: its memory and its descriptors.
class Client {
  public:
    explicit Client(const std::filesystem::path& dumps) : mDumps(dumps) {
        Result<ExportedMemory> memory = createSharedMemory(16);
        mPools.push_back(std::move(*memory));
        const bool made = pipe2(mPipe.data(), O_CLOEXEC) == 0 &&
                          socketpair(AF_UNIX, SOCK_STREAM, 0, mSockets.data()) == 0;
        if (!made) {
            _exit(1);
        }
    }

    // Whether all went well. Dumps where there is a folder for them.
    bool useService() {
        driver::Options options = testing::referenceOptions();
        options.threads = 2;
        options.dumpDirectory = mDumps.string();
        Result<testing::ServedDevice> served = testing::serveDevice(mProcess, options);
        enforceServing(mDumps.empty() ? ServingFiles::NONE : ServingFiles::DUMPS);
        if (!served.ok()) {
            return false;
        }
        const std::shared_ptr<LocalObject> object = served->object;
        bool well = true;
        for (const VersionMethods& methods : testing::allVersions()) {
            HidlClient client(*mProcess, object, methods);
            const auto models = RecordingCallback::forModels();
            const auto executions = RecordingCallback::forExecutions();
            well = well && client.prepare(addModel(), models).ok();
            const ObjectRef model = models->wait().model;
            well = well && client.execute(model, addRequest(), mPools, executions).ok() &&
                   executions->wait().status == driver::ErrorStatus::NONE;
            if (methods.version >= driver::HalVersion::V1_2) {
                const auto executed = client.executeSynchronously(model, addRequest(), mPools);
                well = well && executed.ok() && executed->status == driver::ErrorStatus::NONE;
            }
        }
        // Refused, which is logged.
        HidlClient client(*mProcess, object, testing::allVersions().back());
        well = well && client.prepare(addModel(), nullptr).ok();
        for (const int output : {mPipe[1], mSockets[1]}) {
            std::array<char, 16> text = {};
            static_cast<void>(testing::callDebug(*mProcess, object, output));
            const int input = output == mPipe[1] ? mPipe[0] : mSockets[0];
            well = well && read(input, text.data(), text.size()) > 0;
        }
        mProcess->stop();
        return well;
    }

  private:
    const std::filesystem::path mDumps;
    std::shared_ptr<LoopbackProcess> mProcess = std::make_shared<LoopbackProcess>();
    std::vector<ExportedMemory> mPools;
    std::array<int, 2> mPipe = {-1, -1};
    std::array<int, 2> mSockets = {-1, -1};
};

TEST(SeccompDeathTest, LetsTheServiceServe) {
    const std::filesystem::path dumps =
            std::filesystem::path(::testing::TempDir()) / ("dumps" + std::to_string(getpid()));
    std::filesystem::create_directories(dumps);
    const auto serve = [&](const std::filesystem::path& folder) {
        setLogSink(&logToStderrAndLogd);
        Client client(folder);
        filtered([&] { return client.useService(); });
    };
    EXPECT_EXIT(serve({}), ::testing::ExitedWithCode(kDone), "");
    EXPECT_EXIT(serve(dumps), ::testing::ExitedWithCode(kDone), "");
    EXPECT_FALSE(std::filesystem::is_empty(dumps));
    std::filesystem::remove_all(dumps);
}

TEST(SeccompDeathTest, LetsMemoryThatWasCutShortBeMended) {
    const auto touch = [] {
        constexpr size_t kSize = size_t{1} << 20;
        const int fd = memfd_create("test", MFD_CLOEXEC);
        bool well = guardMappings().ok() && ftruncate(fd, kSize) == 0;
        const GuardedMapping mapping(mmap(nullptr, kSize, PROT_READ, MAP_SHARED, fd, 0), kSize);
        well = well && ftruncate(fd, 0) == 0;
        filtered([&] { return well && mapping.bytes()[kSize / 2] == 0 && !mapping.intact(); });
    };
    EXPECT_EXIT(touch(), ::testing::ExitedWithCode(kDone), "");
}

}  // namespace

}  // namespace halyard::hal
