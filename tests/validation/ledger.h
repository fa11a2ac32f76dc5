// SPDX-License-Identifier: Apache-2.0
//
// Ledger: what several processes found, in memory that they share, so that the crash of one loses
// nothing. A row per check, with how often it was tried and how that ended.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"

namespace halyard::validation {

enum class Verdict : uint8_t {
    HELD,
    EXEMPT,  // the check does not apply to this one
    BROKEN,
};

// Made before the processes fork.
class Ledger {
  public:
    // One row per name; the names outlive the ledger.
    static Result<std::unique_ptr<Ledger>> create(std::span<const std::string_view> rows,
                                                  size_t workers);
    ~Ledger();
    Ledger(const Ledger&) = delete;
    Ledger& operator=(const Ledger&) = delete;

    // The work that worker `worker` is at, in case it dies of it. Cut to a line's length.
    void note(size_t worker, std::string_view what);
    void count(size_t row, Verdict verdict);
    // One that is BROKEN: the first few are kept.
    void report(size_t row, std::string_view what);
    // Of a process that died while it was at what it had noted last.
    void reportCrash(size_t worker, std::string_view how);
    // The next piece of work, in order; every number goes to one worker.
    size_t takeNext();
    size_t crashes() const;

    // {"checks": {NAME: {"tried": n, "held": n, "exempt": n, "broken": n}}, "broken": [...],
    // "crashes": [...]}
    std::string toJson() const;

  private:
    struct Shared;
    Ledger(Shared* shared, std::span<const std::string_view> rows)
        : mShared(shared), mRows(rows.begin(), rows.end()) {}
    Shared* const mShared;  // mapped
    const std::vector<std::string_view> mRows;
};

}  // namespace halyard::validation
