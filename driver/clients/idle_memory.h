// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

namespace halyard::driver {

// Of an account, for the life of the device; never used again, unlike the number of a process.
using AccountNumber = uint64_t;

// Memory that is charged to accounts and kept between requests, and that an account gives back
// where it runs short or closes. Thread-safe.
class IdleMemory {
  public:
    IdleMemory() = default;
    virtual ~IdleMemory() = default;
    IdleMemory(const IdleMemory&) = delete;
    IdleMemory& operator=(const IdleMemory&) = delete;

    virtual void dropAllOf(AccountNumber account) = 0;
    virtual void dropAllOfUser(uint32_t uid) = 0;
};

}  // namespace halyard::driver
