// SPDX-License-Identifier: Apache-2.0
//
// Tuning: which of several ways to compute a step a device is fastest with, by the step's key, as
// it was measured: by this process, or by an earlier one that has written a file of it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "engine/backends/gpu/tuning/tuning_file.h"
#include "engine/base/checkpoint.h"
#include "engine/base/status.h"

namespace halyard::engine::gpu {

enum class TuningMode : uint8_t {
    USE,     // what the file says
    UPDATE,  // and measure what it does not say, and write that into it
};

// How many variants are measured, of those that the cost model thinks best.
enum class TuningLevel : uint8_t { RAPID, NORMAL, EXHAUSTIVE };

struct TuningSettings {
    std::string file = {};  // empty: none
    TuningMode mode = TuningMode::USE;
    TuningLevel level = TuningLevel::RAPID;
    // Of all variants the one with this number, or the last: for tests.
    std::optional<size_t> always = std::nullopt;
};

// Of one device. Thread-safe.
class Tuning {
  public:
    // Reads the file. One that can't be used is said in the log and is as none; where it is not
    // even meant as one, it is not written to either. `device`: what it is known by.
    Tuning(TuningSettings settings, std::string_view device);

    // Whether there is nothing to ask here: the cost model alone decides.
    bool isOff() const;
    const std::optional<size_t>& always() const { return mSettings.always; }
    // Of so many variants, how many are to be measured. 0: none.
    size_t measuredOf(size_t variants) const;

    // The text of a key as a file can have it: on one line, and not too long.
    static std::string keyOf(std::string_view text);
    std::optional<std::string> find(std::string_view key) const;
    void record(const std::string& key, const std::string& name);
    // Writes what was recorded since the last time into the file, if there is one. Failing is said
    // in the log.
    void save();

    // Measurements come one at a time, as others would count in their times. Waits for it, and
    // fails as the checkpoint says.
    Result<std::unique_lock<std::timed_mutex>> startMeasuring(const Checkpoint& checkpoint);
    // Says it in the log, once for each `subject`.
    void warnOnce(const std::string& subject, const std::string& line);

    // The measurements that the choice of variants depends on, as known at the start. Empty: it
    // depends on the cost model alone.
    std::string identity() const;

  private:
    void read();

    const TuningSettings mSettings;
    const std::string mDevice;
    std::string mContent;  // of the file at the start, as a number; empty: no file
    bool mCanWrite = false;
    std::timed_mutex mMeasuring;

    mutable std::mutex mMutex;  // of what follows
    TunedChoices mChoices;
    bool mIsChanged = false;
    std::set<std::string> mWarned;  // subjects
    std::mutex mSaving;
};

}  // namespace halyard::engine::gpu
