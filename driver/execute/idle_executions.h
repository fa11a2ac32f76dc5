// SPDX-License-Identifier: Apache-2.0
//
// IdleExecutions: executions between two requests, kept for the memory they hold already. They
// belong to the device rather than to their models, so that all of them, or those of one client or
// one user, can make room for others.

#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "driver/clients/idle_memory.h"
#include "driver/execute/request_binding.h"
#include "driver/model/validate_request.h"
#include "engine/plan/program.h"

namespace halyard::driver {

// Whatever serving a request needs, so that a request like the last one allocates nothing. One
// request at a time.
struct ReusedExecution {
    RequestShapes shapes;
    RequestPools pools;
    RequestBinding binding;
    // Made for the first request that runs; one that has to wait holds nothing of it.
    std::optional<engine::Execution> execution;
    engine::ExecutionReport report;
};

// Thread-safe.
class IdleExecutions final : public IdleMemory {
  public:
    // The account that a program's executions are charged to.
    struct Owner {
        AccountNumber account = 0;
        uint32_t uid = 0;
    };

    // One of that program, or an empty one if none is idle.
    std::unique_ptr<ReusedExecution> take(const engine::Program& program);
    // Keeps it, unless enough of that program are kept already.
    void giveBack(const engine::Program& program, const Owner& owner,
                  std::unique_ptr<ReusedExecution> execution);
    // Ends those of one program. To be called before it ends; it gets no more.
    void drop(const engine::Program& program);
    void dropAllOf(AccountNumber account) override;
    void dropAllOfUser(uint32_t uid) override;
    void dropAll();

  private:
    struct Executions {
        Owner owner;
        std::vector<std::unique_ptr<ReusedExecution>> idle;
    };

    template <typename Predicate>
    void dropWhere(Predicate isOwner);

    std::mutex mMutex;  // not held while an execution ends, which takes its time
    std::unordered_map<const engine::Program*, Executions> mByProgram;
};

}  // namespace halyard::driver
