// SPDX-License-Identifier: Apache-2.0
//
// Trace points of a run: each partition, node and copy with its beginning, its time and the track
// that it ran on. A profile, a file of traces and a system's own tracing are sinks of the same
// points.

#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string_view>

#include "engine/graph/graph.h"

namespace halyard::engine {

// One stretch of work. What it points to lives as long as the program.
struct Trace {
    // A partition has its nodes inside; copies and partitions follow one another.
    enum class Kind : uint8_t { PARTITION, NODE, COPY };
    Kind kind = Kind::NODE;
    std::string_view name = {};   // the kernel; of a partition its backend; of a copy where it goes
    std::string_view track = {};  // what it runs on: a backend, or a queue of it
    const Node* node = nullptr;   // of a NODE
    // Others that the kernel computed together with it; their share of the time is not known.
    std::span<const Node* const> fused = {};
    std::chrono::steady_clock::time_point begin = {};
    std::chrono::nanoseconds time{0};        // on the thread that runs
    std::chrono::nanoseconds deviceTime{0};  // as a device tells it; 0 where none does
    uint64_t bytes = 0;  // of its inputs, constants included, and outputs; that a copy copied
};

// Receives traces from the thread that runs; costs nothing where there is none.
class TraceSink {
  public:
    virtual ~TraceSink() = default;
    // The work begins: its kind, name, track and nodes are known. Followed by its record(), or by
    // the run's end where it fails. For sinks that mark time as it passes.
    virtual void begin(const Trace& /*work*/) {}
    // The work has ended.
    virtual void record(const Trace& work) = 0;
};

// Work from its construction on; tells a sink, if there is one.
class TracedWork {
  public:
    TracedWork(TraceSink* sink, const Trace& work) : mSink(sink), mWork(work) {
        if (mSink != nullptr) {
            mSink->begin(mWork);
            mWork.begin = std::chrono::steady_clock::now();
        }
    }
    TracedWork(const TracedWork&) = delete;
    TracedWork& operator=(const TracedWork&) = delete;

    // It has gone well. A function, so that nothing is counted without a sink.
    template <typename CountBytes>
    void end(CountBytes countBytes, std::chrono::nanoseconds deviceTime = {}) {
        if (mSink != nullptr) {
            mWork.time = std::chrono::steady_clock::now() - mWork.begin;
            mWork.deviceTime = deviceTime;
            mWork.bytes = countBytes();
            mSink->record(mWork);
        }
    }

  private:
    TraceSink* const mSink;
    Trace mWork;
};

}  // namespace halyard::engine
