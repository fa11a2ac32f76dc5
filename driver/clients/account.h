// SPDX-License-Identifier: Apache-2.0
//
// Account: budgets of the resources that can run short, and how they are divided: each user may
// take a part of the device's, and each process of a user a part of that. On Android every app is a
// user of its own.

#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "driver/options/options.h"
#include "engine/base/budget.h"

namespace halyard::driver {

// The budgets of a device, of a user's part of it, or of a process's. Thread-safe.
struct Account {
    // Bytes of constants that are copied, of graphs, of arenas, of requests that wait.
    std::shared_ptr<Budget> memory;
    // Bytes on the devices of backends whose tensors live there: constants, arenas, what their
    // executions keep. None where there is no such backend.
    std::shared_ptr<Budget> deviceMemory;
    // Mapped pools: bytes of address space, and how many mappings.
    std::shared_ptr<Budget> addressSpace;
    std::shared_ptr<Budget> mappings;
    // Bytes of mapped memory, of no disk, that the device may touch. A missing page is
    // made when the device or the client first touches it, and stays for as long as it is mapped.
    std::shared_ptr<Budget> sharedMemory;
    // Open descriptors that outlive the call they came with.
    std::shared_ptr<Budget> descriptors;
    // Prepared models, those that are being prepared among them.
    std::shared_ptr<Budget> models;
    // Tasks that wait for a slot or run, on threads of the device.
    std::shared_ptr<Budget> tasks;
    // Bursts, each of which has a thread of its own.
    std::shared_ptr<Budget> bursts;
    // Processes with an account; of a process, one.
    std::shared_ptr<Budget> processes;
};

// So many users have their minimum of each resource, however much the others take.
inline constexpr size_t kUsersWithMinimum = 16;

// How a device's number of something is divided. The minimums of kUsersWithMinimum users are its
// reserve.
struct Division {
    size_t device = 0;
    size_t user = 0;     // at most
    size_t process = 0;  // at most, of its user's
    size_t minimum = 0;  // of a user
};

struct AccountLimits {
    Division memory;
    Division deviceMemory;
    Division addressSpace;
    Division mappings;
    Division sharedMemory;
    Division descriptors;
    Division models;
    Division tasks;
    Division bursts;
    Division processes;
};

// `deviceMemory`: what the backends' devices have, in bytes; no more is given away than that.
AccountLimits accountLimits(const Options& options, size_t deviceMemory);

// `reclaim` makes room in memory, and in that of devices.
Account accountOfDevice(const AccountLimits& limits, std::function<void()> reclaim);
Account accountOfUser(const Account& device, const AccountLimits& limits,
                      std::function<void()> reclaim);
Account accountOfProcess(const Account& user, const AccountLimits& limits,
                         std::function<void()> reclaim);

}  // namespace halyard::driver
