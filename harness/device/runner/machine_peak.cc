// SPDX-License-Identifier: Apache-2.0

#include "harness/device/runner/machine_peak.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

#include "harness/device/runner/peak_loops.h"

namespace halyard::runner {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kTries = 5;
// Of one try: long enough that starting threads does not count, short enough that one of the tries
// is not disturbed.
constexpr double kTryNs = 30e6;
constexpr size_t kLeastBlock = size_t{64} << 20;
constexpr size_t kLargestBlock = size_t{512} << 20;

double nanosecondsSince(Clock::time_point start) {
    return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

// Nanoseconds until `work(number)` is done on all threads, from when all of them are there.
double timeOnThreads(size_t threads, const std::function<void(size_t)>& work) {
    std::latch ready(static_cast<std::ptrdiff_t>(threads));
    std::vector<std::thread> others;
    for (size_t number = 1; number < threads; ++number) {
        others.emplace_back([&, number] {
            ready.arrive_and_wait();
            work(number);
        });
    }
    ready.arrive_and_wait();
    const Clock::time_point start = Clock::now();
    work(0);
    for (std::thread& other : others) {
        other.join();
    }
    return nanosecondsSince(start);
}

// The rate per nanosecond, if one call of `work` on each thread does `amount` altogether.
double bestRate(size_t threads, double amount, const std::function<void(size_t)>& work) {
    double best = 0;
    for (int i = 0; i < kTries; ++i) {
        best = std::max(best, amount / timeOnThreads(threads, work));
    }
    return best;
}

double operationRate(size_t threads, const PeakLoop* loop) {
    if (loop == nullptr) {
        return 0;
    }
    uint64_t rounds = 1024;
    for (;; rounds *= 2) {
        const Clock::time_point start = Clock::now();
        loop->run(rounds);
        if (nanosecondsSince(start) > kTryNs) {
            break;
        }
    }
    const double amount =
            loop->operationsPerRound * static_cast<double>(rounds) * static_cast<double>(threads);
    return bestRate(threads, amount, [&](size_t /*number*/) { loop->run(rounds); });
}

// Twice the last cache, where the system tells its size.
size_t blockSize() {
    size_t cache = 0;
#ifdef _SC_LEVEL3_CACHE_SIZE
    cache = static_cast<size_t>(std::max(sysconf(_SC_LEVEL3_CACHE_SIZE), 0L));
#endif
    return std::clamp(2 * cache, kLeastBlock, kLargestBlock);
}

// Sums of every eighth word read the whole block, a word per cache line.
uint64_t readBlock(const uint64_t* words, size_t count) {
    std::array<uint64_t, 4> sums = {};
    for (size_t i = 0; i + 32 <= count; i += 32) {
        for (size_t j = 0; j < sums.size(); ++j) {
            sums[j] += words[i + 8 * j];
        }
    }
    return sums[0] + sums[1] + sums[2] + sums[3];
}

void measureMemory(MachinePeak& peak) {
    const size_t share = blockSize() / sizeof(uint64_t) / peak.threads / 64 * 64;
    const size_t count = share * peak.threads;
    // Its pages are there before the time runs.
    const std::unique_ptr<uint64_t[]> block(new uint64_t[count]);
    std::fill_n(block.get(), count, uint64_t{1});
    const double bytes = static_cast<double>(count) * sizeof(uint64_t);
    peak.readBytesPerNs = bestRate(peak.threads, bytes, [&](size_t number) {
        volatile uint64_t sum = readBlock(block.get() + number * share, share);
        static_cast<void>(sum);
    });
    peak.copyBytesPerNs = bestRate(peak.threads, bytes, [&](size_t number) {
        uint64_t* begin = block.get() + number * share;
        memcpy(begin, begin + share / 2, share / 2 * sizeof(uint64_t));
    });
}

}  // namespace

MachinePeak measurePeak(size_t threads) {
    MachinePeak peak;
    peak.threads = threads != 0 ? threads : std::max(std::thread::hardware_concurrency(), 1U);
    const PeakLoop* floats = findFloat32Loop();
    const PeakLoop* bytes = findInt8Loop();
    peak.floatKernel = floats != nullptr ? floats->name : "";
    peak.int8Kernel = bytes != nullptr ? bytes->name : "";
    peak.float32OperationsPerNs = operationRate(peak.threads, floats);
    peak.int8OperationsPerNs = operationRate(peak.threads, bytes);
    measureMemory(peak);
    return peak;
}

std::string describe(const MachinePeak& peak) {
    std::array<char, 512> text;
    snprintf(text.data(), text.size(),
             "{\"threads\": %zu, \"float32_kernel\": \"%s\", \"float32_gflops\": %.1f, "
             "\"int8_kernel\": \"%s\", \"int8_gops\": %.1f, \"read_gb_per_s\": %.2f, "
             "\"copy_gb_per_s\": %.2f}\n",
             peak.threads, peak.floatKernel, peak.float32OperationsPerNs, peak.int8Kernel,
             peak.int8OperationsPerNs, peak.readBytesPerNs, peak.copyBytesPerNs);
    return text.data();
}

}  // namespace halyard::runner
