// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace halyard::fuzz {

// A thread that writes to memory which others read meanwhile, as a client may. What it writes are
// small numbers, huge ones and anything else, from the seed on.
class Rewriter {
  public:
    Rewriter() : mThread([this] { run(); }) {}
    ~Rewriter();
    Rewriter(const Rewriter&) = delete;
    Rewriter& operator=(const Rewriter&) = delete;

    void begin(std::vector<std::span<uint8_t>> pools, uint32_t seed);
    // Nothing is written any more when it returns.
    void end();

  private:
    void run();

    std::mutex mMutex;
    std::condition_variable mChanged;
    std::vector<std::span<uint8_t>> mPools;
    uint32_t mSeed = 0;
    bool mWanted = false;
    bool mBusy = false;
    bool mOver = false;
    std::thread mThread;  // last: it uses the others
};

}  // namespace halyard::fuzz
