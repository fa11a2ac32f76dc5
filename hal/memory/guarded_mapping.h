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

// From here on, SIGBUS in a GuardedMapping is dealt with as above; any other goes where it went
// before. Changes the process's signal action, so it is for main() to call; again is no harm.
Status guardMappings();

// Owns the address range, which is unmapped with it. Thread-safe.
class GuardedMapping {
  public:
    // Takes over what mmap gave. Where it is not `writable`, zeros take no memory.
    GuardedMapping(void* address, size_t length, bool writable = true);
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
