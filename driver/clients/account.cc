// SPDX-License-Identifier: Apache-2.0

#include "driver/clients/account.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

namespace halyard::driver {
namespace {

// One for each thing that can run short.
struct Row {
    std::shared_ptr<Budget> Account::*budget;
    Division AccountLimits::*division;
    std::string_view unit;
    bool hasIdle = false;  // idle executions hold some of it
};

constexpr Row kRows[] = {
        {&Account::memory, &AccountLimits::memory, "bytes", true},
        {&Account::deviceMemory, &AccountLimits::deviceMemory, "bytes on devices", true},
        {&Account::addressSpace, &AccountLimits::addressSpace, "bytes mapped"},
        {&Account::mappings, &AccountLimits::mappings, "mappings"},
        {&Account::sharedMemory, &AccountLimits::sharedMemory, "bytes of shared memory"},
        {&Account::descriptors, &AccountLimits::descriptors, "descriptors"},
        {&Account::models, &AccountLimits::models, "models"},
        {&Account::tasks, &AccountLimits::tasks, "tasks"},
        {&Account::bursts, &AccountLimits::bursts, "bursts"},
        {&Account::processes, &AccountLimits::processes, "processes"},
};

// A quarter is the reserve. What one user may have leaves some of the rest to others, and is more
// than one process may, so that a process leaves something to those of the same user.
Division divide(size_t device, size_t process) {
    return {.device = device,
            .user = std::max(device / 8 * 5, process),
            .process = process,
            .minimum = device / 4 / kUsersWithMinimum};
}

// Generous, beside the memory: each is there so that none of it runs out.
#if SIZE_MAX > 0xffffffff
constexpr size_t kAddressSpace = size_t{1} << 44;  // of 2^47 that a process has
#else
constexpr size_t kAddressSpace = size_t{1} << 30;
#endif
constexpr size_t kMappings = 32768;    // of 65,530 that a process may have unless told otherwise
constexpr size_t kDescriptors = 8192;  // of 32,768 that a service lets itself have
constexpr size_t kModels = 16384;
constexpr size_t kTasks = 8192;
constexpr size_t kBursts = 256;
constexpr size_t kProcesses = 512;
constexpr size_t kUserProcesses = 64;

// So many eighths of the machine's memory, in bytes.
size_t eighthsOfMachine(uint64_t eighths) {
    constexpr uint64_t kWhereNotTold = uint64_t{1} << 31;
    const int64_t pages = sysconf(_SC_PHYS_PAGES);
    const int64_t pageSize = sysconf(_SC_PAGESIZE);
    const uint64_t machine = pages > 0 && pageSize > 0 ? static_cast<uint64_t>(pages) *
                                                                 static_cast<uint64_t>(pageSize)
                                                       : kWhereNotTold;
    return static_cast<size_t>(
            std::min<uint64_t>(machine / 8 * eighths, std::numeric_limits<size_t>::max() / 2));
}

// In bytes. Half of the machine's memory leaves the other half to the clients, whose models and
// requests lie in memory of their own, and to all else.
size_t memoryLimit(const Options& options) {
    return options.maxMemoryMib > 0 ? options.maxMemoryMib << 20 : eighthsOfMachine(4);
}

// Of the clients' own memory, what the device can make there be by looking at it. With the limit
// above, an eighth of the machine is left.
size_t sharedMemoryLimit() {
    return eighthsOfMachine(3);
}

}  // namespace

AccountLimits accountLimits(const Options& options, size_t deviceMemory) {
    if (options.maxDeviceMemoryMib > 0) {
        deviceMemory = std::min(deviceMemory, options.maxDeviceMemoryMib << 20);
    }
    const size_t memory = memoryLimit(options);
    const size_t ofProcess =
            options.maxClientMemoryMib > 0 ? options.maxClientMemoryMib << 20 : memory / 2;
    const size_t sharedMemory = sharedMemoryLimit();
    AccountLimits limits = {.memory = divide(memory, std::min(ofProcess, memory)),
                            .deviceMemory = divide(deviceMemory, deviceMemory / 2),
                            .addressSpace = divide(kAddressSpace, kAddressSpace / 8),
                            .mappings = divide(kMappings, kMappings / 4),
                            .sharedMemory = divide(sharedMemory, sharedMemory / 2),
                            .descriptors = divide(kDescriptors, kDescriptors / 8),
                            .models = divide(kModels, kModels / 16),
                            .tasks = divide(kTasks, kTasks / 16),
                            .bursts = divide(kBursts, kBursts / 16),
                            .processes = divide(kProcesses, 1)};
    limits.processes.user = kUserProcesses;
    return limits;
}

Account accountOfDevice(const AccountLimits& limits, std::function<void()> reclaim) {
    Account account;
    for (const Row& row : kRows) {
        const Division& division = limits.*row.division;
        account.*row.budget =
                std::make_shared<Budget>(division.device, row.hasIdle ? reclaim : nullptr, row.unit,
                                         division.minimum * kUsersWithMinimum);
    }
    return account;
}

Account accountOfUser(const Account& device, const AccountLimits& limits,
                      std::function<void()> reclaim) {
    Account account;
    for (const Row& row : kRows) {
        const Division& division = limits.*row.division;
        account.*row.budget =
                std::make_shared<Budget>(division.user, device.*row.budget,
                                         row.hasIdle ? reclaim : nullptr, division.minimum);
    }
    return account;
}

Account accountOfProcess(const Account& user, const AccountLimits& limits,
                         std::function<void()> reclaim) {
    Account account;
    for (const Row& row : kRows) {
        account.*row.budget = std::make_shared<Budget>(
                (limits.*row.division).process, user.*row.budget, row.hasIdle ? reclaim : nullptr);
    }
    return account;
}

}  // namespace halyard::driver
