// SPDX-License-Identifier: Apache-2.0
//
// Loops on threads that belong to the program around the engine.

#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/base/status.h"

namespace halyard {

// Thread-safe.
class LoopExecutor {
  public:
    using Task = void (*)(void* data, size_t index, size_t worker);

    virtual ~LoopExecutor() = default;
    // How many tasks it may run at once, at most WorkerSet::kMost.
    virtual size_t threads() const = 0;
    // Calls task(data, i, worker) once for each i in [0, tasks), on any threads, and returns when
    // all calls have. `worker` is below threads(), and no two calls at once have the same. What was
    // written before execute() is seen by the tasks, and what they write by who called it.
    virtual void execute(Task task, void* data, size_t tasks) = 0;
};

// A loop's body: ranges of [0, tiles).
struct LoopBody {
    Status (*call)(const void* body, int64_t begin, int64_t end, size_t worker);
    const void* body;
};

// Runs the loop in ranges whose length is a multiple of `unit`, and gives the first failure. The
// executor is not trusted: INTERNAL says what it did wrong where it calls a task twice, not at all,
// or with a worker that it may not name.
Status runOnExecutor(LoopExecutor& executor, LoopBody loop, int64_t tiles, int64_t unit);

}  // namespace halyard
