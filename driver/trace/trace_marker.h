// SPDX-License-Identifier: Apache-2.0
//
// --atrace: marks in the kernel's trace, as atrace and Perfetto read them on Android: "B|pid|name"
// where something begins on a thread, "E|pid" where it ends, "C|pid|name|value" for a number.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "engine/base/file_descriptor.h"
#include "engine/base/status.h"

namespace halyard::driver {

// Thread-safe. What can't be written is left out: a trace never blocks, nor fails what it
// tells of.
class TraceMarker {
  public:
    // The most that an ordinary file gets; the kernel's trace is a ring.
    static constexpr size_t kMostFileBytes = size_t{16} << 20;

    // Null for no path. The file has to be there, be it tracefs's trace_marker or an ordinary one,
    // which marks are added to. It stays open: nothing opens files once a service serves.
    static Result<std::unique_ptr<TraceMarker>> open(const std::string& path);

    void begin(std::string_view name) const;
    void end() const;
    void count(std::string_view name, int64_t value) const;

    // Requests that run, as a counter.
    void runs(int more) const;

  private:
    TraceMarker(FileDescriptor file, bool isRing);

    void write(std::string_view text) const;

    const FileDescriptor mFile;
    const bool mIsRing;
    const std::string mProcess;
    mutable std::atomic<size_t> mWritten = 0;
    mutable std::atomic<int> mRunning = 0;
};

// A slice of the thread that makes it, for as long as it lives. Null: no mark.
class MarkedSlice {
  public:
    MarkedSlice(const TraceMarker* marker, std::string_view name) : mMarker(marker) {
        if (mMarker != nullptr) {
            mMarker->begin(name);
        }
    }
    MarkedSlice(const MarkedSlice&) = delete;
    MarkedSlice& operator=(const MarkedSlice&) = delete;
    ~MarkedSlice() {
        if (mMarker != nullptr) {
            mMarker->end();
        }
    }

  private:
    const TraceMarker* const mMarker;
};

}  // namespace halyard::driver
