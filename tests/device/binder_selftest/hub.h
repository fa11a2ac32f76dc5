// SPDX-License-Identifier: Apache-2.0
//
// The serving process, and how its object is called.

#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "engine/base/status.h"
#include "hal/binder/object.h"
#include "hal/binder/parcel.h"
#include "hal/binder/process.h"

namespace halyard::hal::selftest {

// How long a process of this program may take.
constexpr unsigned kTimeLimitSeconds = 120;
// Beyond the one that it starts with.
constexpr size_t kSpawnedThreads = 4;
// Two of them leave no room for a third in the receive buffer.
constexpr size_t kLargeArgument = size_t{450} * 1024;

// Calls that the serving process understands; arguments and results are bare int32 unless said.
enum Code : uint32_t {
    INCREMENT = 1,   // number -> number + 1
    CALL_BACK,       // object, number -> what its INCREMENT gives
    RECURSE,         // object: calls its RECURSE with an object of ours, which does the same, ...
    SUM_BYTES,       // handle of a descriptor, size -> sum of its bytes
    GET_DESCRIPTOR,  // -> handle of a descriptor with 3 bytes in it
    MAKE_OBJECT,     // -> object
    COUNT_RELEASED,  // -> how many such objects are gone
    COUNT_UNUSED,    // -> how many of them lost their last user
    MEET,            // number -> returns when so many calls are inside at once
    IS_OWN,          // object -> whether it is one of the server's
    BAD_REPLY,       // -> a reply that the kernel refuses
    NOTE,            // oneway, number: adds it to a sum
    NOTED,           // -> the sum
    BIG,             // size -> a buffer of so many bytes
    HOLD,            // buffer of kLargeArgument bytes: lets go of it, then returns after a while
    TAKE,            // descriptor -> sum of its first 3 bytes, read once the arguments are ended
    OPEN_FILES,      // -> how many descriptors the server has open
    DIE,             // oneway: ends the process at once
    QUIT,            // oneway: stops serving, then ends the process
};

// A process that becomes the context manager of that device and serves until it is told to end.
pid_t startServer(const std::string& device);

// Null if it is none of another process.
std::shared_ptr<RemoteObject> asRemote(const Result<ObjectRef>& object);

Result<int32_t> callForNumber(BinderProcess& process, const std::shared_ptr<RemoteObject>& target,
                              uint32_t code, const ParcelWriter& arguments);

}  // namespace halyard::hal::selftest
