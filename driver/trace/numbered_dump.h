// SPDX-License-Identifier: Apache-2.0
//
// NumberedDump: files for people whose names begin with a number, as many as a folder may get,
// whichever processes write them, so that no client fills it: a number whose first file is there is
// taken. What can't be written is logged as a warning; it never fails what it tells of.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace halyard::driver {

class NumberedDump {
  public:
    static constexpr uint32_t kMost = 100;
    static constexpr size_t kMostFileBytes = size_t{16} << 20;

    // Takes the next number of "<folder>/<name>-NNN", by making the file that has `firstFile`
    // behind that. `taken`: the numbers that this process has tried. Nothing where there is no
    // folder ("") or no number.
    static std::optional<NumberedDump> begin(const std::string& folder, std::string_view name,
                                             std::string_view firstFile,
                                             std::atomic<uint32_t>& taken);

    // A file that is written again loses what it had; each is cut off after kMostFileBytes.
    void write(std::string_view file, std::string_view text) const;

  private:
    explicit NumberedDump(std::string prefix) : mPrefix(std::move(prefix)) {}

    std::string mPrefix;  // "<folder>/model-007"
};

}  // namespace halyard::driver
