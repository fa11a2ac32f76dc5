// SPDX-License-Identifier: Apache-2.0
//
// A persistent pool that splits a loop over threads.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace halyard {

class ThreadPool {
  public:
    // `threads` counts the calling thread: 1 runs everything inline. 0 means one per online core.
    explicit ThreadPool(size_t threads);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    size_t threadCount() const;
    // Calls body(begin, end) over disjoint ranges that cover [0, count), each at least `grain`
    // long but for the last, and returns when all are done. Callers on several threads take turns.
    // body must not call parallelFor on the same pool.
    void parallelFor(int64_t count, int64_t grain,
                     const std::function<void(int64_t begin, int64_t end)>& body);

  private:
    struct State;
    std::unique_ptr<State> mState;
};

}  // namespace halyard
