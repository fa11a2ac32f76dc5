// SPDX-License-Identifier: Apache-2.0
//
// A mapping of a client's file. Its owner can cut such a file short at any time, and touching a
// page that is gone raises SIGBUS, which would end the service. Here it ends nothing: the missing
// pages are replaced by zeros, and the mapping remembers that they are.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine/base/status.h"

namespace halyard::hal {

enum class GuardTime : uint8_t {
    ALWAYS,
    // As long as there is a mapping of a file that can be cut short: for a library, whose process
    // may want the signal for itself. Where another action was put in the place of this one since,
    // that one stays.
    WHILE_MAPPED,
};

// From here on, SIGBUS in a GuardedMapping is dealt with as above; any other goes where it went
// before. Changes the process's signal action, at once or with mappings that come and go, so it is
// for main() to call, or a library's start; again is no harm, and the last one holds.
Status guardMappings(GuardTime time = GuardTime::ALWAYS);

// Owns the address range, which is unmapped with it. Thread-safe.
class GuardedMapping {
  public:
    // Takes over what mmap gave. Where it is not `writable`, zeros take no memory. `canShrink`:
    // false for a file that is sealed against being cut short.
    GuardedMapping(void* address, size_t length, bool writable = true, bool canShrink = true);
    ~GuardedMapping();
    GuardedMapping(const GuardedMapping&) = delete;
    GuardedMapping& operator=(const GuardedMapping&) = delete;

    uint8_t* bytes() const { return static_cast<uint8_t*>(mAddress); }
    // False once a page was found missing: what was read may be zeros instead, and what was written
    // may have gone nowhere.
    bool intact() const;

  private:
    struct Record;
    friend struct MappingRecords;

    void* const mAddress;
    const size_t mLength;
    Record* const mRecord;
};

}  // namespace halyard::hal
