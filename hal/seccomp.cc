// SPDX-License-Identifier: Apache-2.0

#include "hal/seccomp.h"

#include <fcntl.h>
#include <linux/android/binder.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/sync_file.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace halyard::hal {
namespace {

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
constexpr uint32_t kArchitecture = 0;
#endif

// In headers from Linux 5.17 on; the number is the kernel's for good.
constexpr uint32_t kNameMapping = 0x53564d41;  // PR_SET_VMA
// The ashmem driver's question for a region's size.
constexpr uint32_t kAshmemGetSize = _IO(0x77, 4);
constexpr auto kSyncFileInfo = static_cast<uint32_t>(SYNC_IOC_FILE_INFO);

// A condition on one argument. The kernel takes 32 bits of all that are looked at here.
struct Argument {
    enum class Rule : uint8_t { ANY, ONE_OF, ALL_BITS_OF, NO_BITS_OF, NULL_POINTER, OWN_PROCESS };
    Rule rule = Rule::ANY;
    uint8_t index = 0;
    std::array<uint32_t, 6> values = {};
    uint8_t count = 0;
};

constexpr Argument check(Argument::Rule rule, uint8_t index,
                         std::initializer_list<uint32_t> values) {
    Argument argument{.rule = rule, .index = index, .count = static_cast<uint8_t>(values.size())};
    std::copy(values.begin(), values.end(), argument.values.begin());
    return argument;
}

constexpr Argument oneOf(uint8_t index, std::initializer_list<uint32_t> values) {
    return check(Argument::Rule::ONE_OF, index, values);
}

constexpr Argument nullPointer(uint8_t index) {
    return check(Argument::Rule::NULL_POINTER, index, {});
}

constexpr Argument kOwnProcess = check(Argument::Rule::OWN_PROCESS, 0, {0});
constexpr Argument kNoCode = check(Argument::Rule::NO_BITS_OF, 2, {PROT_EXEC});

struct Row {
    int number = 0;
    const char* why = nullptr;
    Argument argument = {};
    uint32_t answer = SECCOMP_RET_ALLOW;
};

// All system calls of the service, in the order in which the kernel looks, the most frequent first.
constexpr Row kAllowed[] = {
        // Binder, a client's region of shared memory, and its fences.
        {__NR_ioctl, "binder; the size of an ashmem region; how a fence ended",
         oneOf(1,
               {static_cast<uint32_t>(BINDER_WRITE_READ), static_cast<uint32_t>(BINDER_THREAD_EXIT),
                static_cast<uint32_t>(BINDER_SET_MAX_THREADS),
                static_cast<uint32_t>(BINDER_VERSION), kAshmemGetSize, kSyncFileInfo})},

        // Threads.
        {__NR_futex, "locks, conditions, joins"},
        {__NR_sched_yield, "threads that wait for one another"},
        // Its flags are in memory, out of a filter's sight; without it, C libraries take clone().
        {__NR_clone3, "starting threads: not this way", {}, SECCOMP_RET_ERRNO | ENOSYS},
        {__NR_clone, "starting threads, and no processes",
         check(Argument::Rule::ALL_BITS_OF, 0, {CLONE_VM | CLONE_THREAD})},
        {__NR_exit, "ending threads"},
        {__NR_exit_group, "ending"},
        {__NR_set_robust_list, "a new thread of glibc's"},
#ifdef __NR_rseq
        {__NR_rseq, "a new thread of glibc's"},
#endif
        {__NR_set_tid_address, "a new thread of bionic's"},
        {__NR_sigaltstack, "a new thread of bionic's"},
        {__NR_prctl, "names of threads, and of bionic's mappings",
         oneOf(0, {PR_SET_NAME, kNameMapping})},
        {__NR_unshare, "a table of descriptors of the thread's that gives back buffers",
         oneOf(0, {CLONE_FILES})},
        {__NR_uname, "which table the kernel closes a buffer's descriptors in"},
        {__NR_sched_getaffinity, "how many threads to compute with"},
        {__NR_sched_setaffinity, "keeping these apart"},
        {__NR_getpriority, "threads that give way", oneOf(0, {PRIO_PROCESS})},
        {__NR_setpriority, "the same, and back", oneOf(0, {PRIO_PROCESS})},
        {__NR_getcpu, "the same, where neither rseq nor the vDSO tells"},
        {__NR_gettid, "the log's lines; bionic's locks"},
        {__NR_getpid, "getDebugInfo; abort()"},
        {__NR_getuid, "the account of this process"},

        // Memory. No page becomes code.
        {__NR_mmap, "clients' pools, stacks, the allocator's", kNoCode},
        {__NR_munmap, "the same"},
        {__NR_mprotect, "stacks' guard pages, the allocator's arenas", kNoCode},
        {__NR_madvise, "the allocator's and ended threads' pages"},
        {__NR_mremap, "realloc()"},
        {__NR_brk, "the allocator's heap"},
        {__NR_sysinfo, "how much memory there is"},

        // Time.
        {__NR_clock_gettime, "where the vDSO does not tell"},
        {__NR_gettimeofday, "the same"},
        {__NR_clock_nanosleep, "pauses"},
        {__NR_nanosleep, "pauses"},
        {__NR_restart_syscall, "pauses that a signal interrupts"},

        // Descriptors: clients' pools, debug()'s output, dumps, /dev/hwbinder.
        {__NR_close, "all"},
        {__NR_fcntl, "keeping a handle's descriptor, waking threads, what a pool is, debug()",
         oneOf(1, {F_DUPFD_CLOEXEC, F_GET_SEALS, F_GETPIPE_SZ, F_GETFL, F_SETFD})},
        {__NR_statx, "what a pool is, and its size"},
        {__NR_pread64, "how far a pool reaches; the mount table; cache files"},
        {__NR_pwrite64, "cache files"},
        {__NR_ftruncate, "the same"},
        {__NR_fstat, "stdio"},
        {__NR_newfstatat, "the same, as C libraries do it",
         check(Argument::Rule::ALL_BITS_OF, 3, {AT_EMPTY_PATH})},
        {__NR_fstatfs, "whether a pool is of huge pages, or a dma-buf"},
        {__NR_openat, "at the start: /dev/hwbinder, /proc and /sys for the C library; dumps"},
        {__NR_read, "the same"},
        {__NR_write, "the log, dumps, debug()"},
        {__NR_writev, "dumps, by bionic"},
        {__NR_lseek, "stdio"},
        {__NR_pipe2, "debug()"},
        {__NR_splice, "debug()"},
        {__NR_ppoll, "debug(); clients' fences"},
#ifdef __NR_poll
        {__NR_poll, "the same"},
#endif
        {__NR_getsockopt, "debug(): whether its output is a socket"},
        {__NR_sendto, "debug() into a socket; logd"},
        {__NR_socket, "logd, at the start", oneOf(0, {AF_UNIX})},
        {__NR_connect, "the same"},

// Clients' deaths.
#ifdef __NR_pidfd_open
        {__NR_pidfd_open, "a client's process"},
#endif
        {__NR_epoll_create1, "waiting for all of them"},
        {__NR_epoll_ctl, "the same"},
        {__NR_epoll_pwait, "the same"},
#ifdef __NR_epoll_wait
        {__NR_epoll_wait, "the same"},
#endif
        {__NR_eventfd2, "waiting no more"},

        // Signals.
        {__NR_rt_sigtimedwait, "SIGTERM and SIGINT; SIGPIPE in debug()"},
        {__NR_rt_sigprocmask, "threads; SIGPIPE in debug(); abort()"},
        {__NR_rt_sigaction, "SIGBUS in clients' pools; SIGPIPE; abort()"},
        {__NR_rt_sigreturn, "SIGBUS in clients' pools"},
        {__NR_tgkill, "abort(); a SIGBUS outside clients' pools", kOwnProcess},

        {__NR_getrandom, "RANDOM_MULTINOMIAL; the allocator's secret"},

        // The second filter. (Another one can't but refuse more.)
        {__NR_seccomp, "restrictServing()", oneOf(0, {SECCOMP_SET_MODE_FILTER})},
};

constexpr uint32_t kRefused = 0;  // by whatever answer the mode has for it

// Calls that the service makes no more once it serves clients: with /proc/self/mem in reach, for
// one, a call to write() makes code of whatever it likes.
constexpr Row kNarrowed[] = {
        {__NR_ioctl, "binder's threads are told, and which version it has",
         oneOf(1, {static_cast<uint32_t>(BINDER_WRITE_READ),
                   static_cast<uint32_t>(BINDER_THREAD_EXIT), kAshmemGetSize, kSyncFileInfo})},
        {__NR_sendto, "sockets go where they are connected", nullPointer(4)},
        {__NR_socket, "logd has one", {}, kRefused},
        {__NR_connect, "it is connected", {}, kRefused},
        {__NR_seccomp, "this is the last filter", {}, kRefused},
};
constexpr Row kNoFiles = {
        __NR_openat, "all that is needed is open", {}, SECCOMP_RET_ERRNO | uint32_t{EACCES}};

// How a filter is told to go on, jumps being counted in instructions to leave out.
constexpr sock_filter statement(uint16_t code, uint32_t value) {
    return {.code = code, .jt = 0, .jf = 0, .k = value};
}

constexpr sock_filter jump(uint16_t kind, uint32_t value, uint8_t ifSo, uint8_t ifNot) {
    return {.code = static_cast<uint16_t>(BPF_JMP | kind | BPF_K),
            .jt = ifSo,
            .jf = ifNot,
            .k = value};
}

constexpr sock_filter load(size_t offset) {
    return statement(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset));
}

constexpr sock_filter answer(uint32_t value) {
    return statement(BPF_RET | BPF_K, value);
}

enum class Half : uint8_t { LOWER, UPPER };

// Half an argument; both processors are little-endian.
constexpr sock_filter loadArgument(uint8_t index, Half half = Half::LOWER) {
    return load(offsetof(seccomp_data, args) + index * sizeof(uint64_t) +
                (half == Half::UPPER ? sizeof(uint32_t) : 0));
}

void appendRow(std::vector<sock_filter>& program, const Row& row, uint32_t refusal) {
    std::vector<sock_filter> body;
    const Argument& argument = row.argument;
    switch (argument.rule) {
        case Argument::Rule::ANY:
            break;
        case Argument::Rule::ONE_OF:
            body.push_back(loadArgument(argument.index));
            for (uint8_t i = 0; i < argument.count; ++i) {
                // Past the others and the refusal.
                const auto left = static_cast<uint8_t>(argument.count - i);
                body.push_back(jump(BPF_JEQ, argument.values[i], left, 0));
            }
            body.push_back(answer(refusal));
            break;
        case Argument::Rule::ALL_BITS_OF:
            body.push_back(loadArgument(argument.index));
            body.push_back(statement(BPF_ALU | BPF_AND | BPF_K, argument.values[0]));
            body.push_back(jump(BPF_JEQ, argument.values[0], 1, 0));
            body.push_back(answer(refusal));
            break;
        case Argument::Rule::NO_BITS_OF:
            body.push_back(loadArgument(argument.index));
            body.push_back(jump(BPF_JSET, argument.values[0], 0, 1));
            body.push_back(answer(refusal));
            break;
        case Argument::Rule::NULL_POINTER:
            body.push_back(loadArgument(argument.index));
            body.push_back(jump(BPF_JEQ, 0, 1, 0));
            body.push_back(answer(refusal));
            body.push_back(loadArgument(argument.index, Half::UPPER));
            body.push_back(jump(BPF_JEQ, 0, 1, 0));
            body.push_back(answer(refusal));
            break;
        case Argument::Rule::OWN_PROCESS:
            body.push_back(loadArgument(argument.index));
            body.push_back(jump(BPF_JEQ, static_cast<uint32_t>(getpid()), 1, 0));
            body.push_back(answer(refusal));
            break;
    }
    body.push_back(answer(row.answer == kRefused ? refusal : row.answer));
    program.push_back(
            jump(BPF_JEQ, static_cast<uint32_t>(row.number), 0, static_cast<uint8_t>(body.size())));
    program.insert(program.end(), body.begin(), body.end());
}

// System calls in no row get the answer `otherwise`.
std::vector<sock_filter> makeFilter(std::span<const Row> rows, uint32_t refusal,
                                    uint32_t otherwise) {
    std::vector<sock_filter> program;
    // Another processor's numbers mean other calls.
    program.push_back(load(offsetof(seccomp_data, arch)));
    program.push_back(jump(BPF_JEQ, kArchitecture, 1, 0));
    program.push_back(answer(refusal));
    // x32's calls have numbers of their own, which no row has.
    program.push_back(load(offsetof(seccomp_data, nr)));
    for (const Row& row : rows) {
        appendRow(program, row, refusal);
    }
    program.push_back(answer(otherwise));
    return program;
}

struct Name {
    int64_t number;
    const char* name;
};

constexpr Name kNames[] = {
#define HALYARD_CALL(name) {__NR_##name, #name},
#include "hal/system_call_names.inc"
#undef HALYARD_CALL
};

const char* findName(int64_t number) {
    for (const Name& name : kNames) {
        if (name.number == number) {
            return name.name;
        }
    }
    return nullptr;
}

// The calls of these names, with any arguments.
Result<std::vector<Row>> rowsFor(std::span<const std::string> names) {
    std::vector<Row> rows;
    for (const std::string& name : names) {
        const auto* const found =
                std::ranges::find_if(kNames, [&](const Name& known) { return name == known.name; });
        if (found == std::end(kNames)) {
            return invalidArgument("there is no system call \"" + name + "\"");
        }
        rows.push_back({static_cast<int>(found->number), "a backend's"});
    }
    return rows;
}

// A line that is put together without allocating, for a signal handler.
class Line {
  public:
    Line& operator<<(std::string_view text) {
        const size_t taken = std::min(text.size(), mText.size() - mSize);
        std::memcpy(mText.data() + mSize, text.data(), taken);
        mSize += taken;
        return *this;
    }
    Line& operator<<(int64_t number) {
        std::array<char, 20> digits = {};
        size_t first = digits.size();
        auto rest = static_cast<uint64_t>(number);
        do {
            digits[--first] = static_cast<char>('0' + rest % 10);
            rest /= 10;
        } while (rest > 0 && first > 0);
        return *this << std::string_view(digits.data() + first, digits.size() - first);
    }
    void print() const {
        [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, mText.data(), mSize);
    }

  private:
    std::array<char, 256> mText = {};
    size_t mSize = 0;
};

void onRefusedCall(int /*signal*/, siginfo_t* info, void* /*context*/) {
    const auto number = static_cast<uint32_t>(info->si_syscall);
    const char* name = findName(number);
    Line line;
    line << "E/halyard: system call " << int64_t{number} << " (" << (name == nullptr ? "?" : name)
         << ") is not on the list of hal/seccomp.cc, or not with such arguments, or not any more\n";
    line.print();
    abort();
}

Status systemError(const std::string& what) {
    const StatusCode code =
            errno == ENOSYS || errno == EINVAL ? StatusCode::UNSUPPORTED : StatusCode::INTERNAL;
    return {code, what + ": " + std::strerror(errno)};
}

uint32_t refusalOf(SeccompMode mode) {
    return mode == SeccompMode::ENFORCE ? SECCOMP_RET_TRAP : SECCOMP_RET_LOG;
}

// For all threads, those to come among them.
Status install(std::span<sock_filter> filter) {
    const sock_fprog program = {.len = static_cast<unsigned short>(filter.size()),
                                .filter = filter.data()};
    const long stopped =
            syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
    if (stopped < 0) {
        return systemError("SECCOMP_SET_MODE_FILTER");
    }
    return stopped == 0 ? Status()
                        : internalError("thread " + std::to_string(stopped) +
                                        " has a filter of its own");
}

}  // namespace

Status restrictSystemCalls(SeccompMode mode, std::span<const std::string> also) {
    HALYARD_ASSIGN_OR_RETURN(std::vector<Row> rows, rowsFor(also));
    if (mode == SeccompMode::OFF) {
        return {};
    }
    // The first row of a number counts.
    rows.insert(rows.end(), std::begin(kAllowed), std::end(kAllowed));
    if (kArchitecture == 0) {
        return unsupported("there is no list of system calls for this processor");
    }
    const bool enforce = mode == SeccompMode::ENFORCE;
    const uint32_t refusal = refusalOf(mode);
    struct sigaction action = {};
    struct sigaction previous = {};
    action.sa_sigaction = onRefusedCall;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    if (enforce && sigaction(SIGSYS, &action, &previous) < 0) {
        return systemError("sigaction");
    }
    Status status;
    // Without it, only root may have a filter.
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) {
        status = systemError("PR_SET_NO_NEW_PRIVS");
    } else {
        std::vector<sock_filter> filter = makeFilter(rows, refusal, refusal);
        status = install(filter);
    }
    if (enforce && !status.ok()) {
        sigaction(SIGSYS, &previous, nullptr);
    }
    return status;
}

Status restrictServing(SeccompMode mode, ServingFiles files, std::span<const std::string> also) {
    HALYARD_ASSIGN_OR_RETURN(const std::vector<Row> kept, rowsFor(also));
    if (mode == SeccompMode::OFF) {
        return {};
    }
    std::vector<Row> rows(std::begin(kNarrowed), std::end(kNarrowed));
    if (files == ServingFiles::NONE) {
        rows.push_back(kNoFiles);
        if (mode == SeccompMode::LOG) {
            rows.back().answer = kRefused;
        }
    }
    std::erase_if(rows, [&](const Row& row) {
        return std::ranges::find(kept, row.number, &Row::number) != kept.end();
    });
    std::vector<sock_filter> filter = makeFilter(rows, refusalOf(mode), SECCOMP_RET_ALLOW);
    return install(filter);
}

}  // namespace halyard::hal
