// SPDX-License-Identifier: Apache-2.0
//
// ClientWorkers: a worker per client, for work that may block on the client, maybe for good:
// closing a descriptor of a file system of its own, or writing into a pipe that it holds. Such a
// wait can't be ended from outside, not even by a signal; it ends with the client. So a client
// blocks only its own worker.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "engine/base/file_descriptor.h"

namespace halyard::hal {

// Thread-safe. Does not wait for its threads at its end: they may never come back.
class ClientWorkers {
  public:
    struct Limits {
        size_t perUser = 4;  // threads that wait for clients of one uid
        size_t all = 16;
        // Work that takes longer is stuck.
        std::chrono::milliseconds patience{500};
    };
    // The client that work is done for.
    struct Owner {
        int32_t pid = 0;
        uint32_t uid = 0;

        auto operator<=>(const Owner&) const = default;
    };

    explicit ClientWorkers(const Limits& limits);
    ~ClientWorkers();
    ClientWorkers(const ClientWorkers&) = delete;
    ClientWorkers& operator=(const ClientWorkers&) = delete;

    // The workers of this process, which never end.
    static ClientWorkers& here();

    // Does `work` on another thread, after what was given for the same owner before. Where no
    // thread is left, it waits until one is.
    void run(Owner owner, std::function<void()> work);
    // The same, and waits for its end, but no longer than `patience`: false then.
    bool runAndWait(Owner owner, std::function<void()> work, std::chrono::milliseconds patience);
    // Closes each, one after the other.
    void close(Owner owner, std::vector<FileDescriptor> descriptors);

    // Whether something of the owner's is stuck. More of its kind would only wait behind it.
    bool isStuck(Owner owner) const;
    // How many things wait or are being done.
    size_t pending() const;

  private:
    struct State;
    const std::shared_ptr<State> mState;
};

}  // namespace halyard::hal
