// SPDX-License-Identifier: Apache-2.0

#include "driver/execute/idle_executions.h"

#include <cstddef>
#include <utility>

namespace halyard::driver {
namespace {

// As many requests for one model as commonly run at the same time.
constexpr size_t kMaxPerProgram = 4;

}  // namespace

std::unique_ptr<ReusedExecution> IdleExecutions::take(
        const std::shared_ptr<const engine::Program>& program) {
    {
        const std::lock_guard lock(mMutex);
        if (Executions& idle = mIdle[program.get()]; !idle.empty()) {
            std::unique_ptr<ReusedExecution> execution = std::move(idle.back());
            idle.pop_back();
            return execution;
        }
    }
    return std::make_unique<ReusedExecution>(program);
}

void IdleExecutions::giveBack(const engine::Program& program,
                              std::unique_ptr<ReusedExecution> execution) {
    const std::lock_guard lock(mMutex);
    if (Executions& idle = mIdle[&program]; idle.size() < kMaxPerProgram) {
        idle.push_back(std::move(execution));
    }
}

void IdleExecutions::drop(const engine::Program& program) {
    Executions dropped;
    const std::lock_guard lock(mMutex);
    if (const auto found = mIdle.find(&program); found != mIdle.end()) {
        dropped = std::move(found->second);
        mIdle.erase(found);
    }
}

void IdleExecutions::dropAll() {
    std::unordered_map<const engine::Program*, Executions> dropped;
    const std::lock_guard lock(mMutex);
    dropped.swap(mIdle);
}

}  // namespace halyard::driver
