// SPDX-License-Identifier: Apache-2.0

#include "driver/execute/idle_executions.h"

#include <cstddef>
#include <utility>

namespace halyard::driver {
namespace {

// As many requests for one model as commonly run at the same time.
constexpr size_t kMaxPerProgram = 4;

}  // namespace

std::unique_ptr<ReusedExecution> IdleExecutions::take(const engine::Program& program) {
    {
        const std::lock_guard lock(mMutex);
        if (const auto found = mByProgram.find(&program);
            found != mByProgram.end() && !found->second.idle.empty()) {
            auto& idle = found->second.idle;
            std::unique_ptr<ReusedExecution> execution = std::move(idle.back());
            idle.pop_back();
            return execution;
        }
    }
    return std::make_unique<ReusedExecution>();
}

void IdleExecutions::giveBack(const engine::Program& program, const Owner& owner,
                              std::unique_ptr<ReusedExecution> execution) {
    const std::lock_guard lock(mMutex);
    Executions& executions = mByProgram[&program];
    executions.owner = owner;
    if (executions.idle.size() < kMaxPerProgram) {
        // Executions that hold memory already are taken first.
        const bool isEmpty = !execution->execution.has_value();
        executions.idle.insert(isEmpty ? executions.idle.begin() : executions.idle.end(),
                               std::move(execution));
    }
}

void IdleExecutions::drop(const engine::Program& program) {
    Executions dropped;
    const std::lock_guard lock(mMutex);
    if (const auto found = mByProgram.find(&program); found != mByProgram.end()) {
        dropped = std::move(found->second);
        mByProgram.erase(found);
    }
}

template <typename Predicate>
void IdleExecutions::dropWhere(Predicate isOwner) {
    std::vector<Executions> dropped;
    const std::lock_guard lock(mMutex);
    for (auto it = mByProgram.begin(); it != mByProgram.end();) {
        if (isOwner(it->second.owner)) {
            dropped.push_back(std::move(it->second));
            it = mByProgram.erase(it);
        } else {
            ++it;
        }
    }
}

void IdleExecutions::dropAllOf(AccountNumber account) {
    dropWhere([account](const Owner& owner) { return owner.account == account; });
}

void IdleExecutions::dropAllOfUser(uint32_t uid) {
    dropWhere([uid](const Owner& owner) { return owner.uid == uid; });
}

void IdleExecutions::dropAll() {
    std::unordered_map<const engine::Program*, Executions> dropped;
    const std::lock_guard lock(mMutex);
    dropped.swap(mByProgram);
}

}  // namespace halyard::driver
