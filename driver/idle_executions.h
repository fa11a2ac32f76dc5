// SPDX-License-Identifier: Apache-2.0
//
// IdleExecutions: executions between two requests, kept for the memory they hold already. They
// belong to the device rather than to their models, so that they can all make room for others.

#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "engine/plan/program.h"

namespace halyard::driver {

// Thread-safe.
class IdleExecutions {
  public:
    // One of that program, or a new one if none is idle.
    std::unique_ptr<engine::Execution> take(const std::shared_ptr<const engine::Program>& program);
    // Keeps it, unless enough of that program are kept already.
    void giveBack(const engine::Program& program, std::unique_ptr<engine::Execution> execution);
    // Ends those of one program. To be called before it ends; it gets no more.
    void drop(const engine::Program& program);
    void dropAll();

  private:
    using Executions = std::vector<std::unique_ptr<engine::Execution>>;

    std::mutex mMutex;  // not held while an execution ends, which takes its time
    std::unordered_map<const engine::Program*, Executions> mIdle;
};

}  // namespace halyard::driver
