// SPDX-License-Identifier: Apache-2.0

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "hal/hidl/hidl_parcel.h"
#include "hal/memory/shared_memory.h"
#include "tests/device/binder_selftest/claims.h"
#include "tests/device/binder_selftest/client.h"
#include "tests/hal/open_descriptors.h"

namespace halyard::hal::selftest {

void checkDescriptors(Client& client) {
    Result<ExportedMemory> memory = createSharedMemory(10000);
    if (!memory.ok()) {
        claim(false, "shared memory is made");
        return;
    }
    std::memset(memory->memory->map()->data(), 3, 10000);
    ParcelWriter arguments;
    hidl::writeNativeHandle(arguments, &memory->handle);
    arguments.writeInt32(10000);
    Result<int32_t> sum = client.number(SUM_BYTES, arguments);
    claim(sum.ok() && *sum == 30000, "the other side sees what was written to shared memory");
    ParcelWriter tooLong;
    hidl::writeNativeHandle(tooLong, &memory->handle);
    tooLong.writeInt32(10001);
    sum = client.number(SUM_BYTES, tooLong);
    claim(sum.ok() && *sum == -1, "memory shorter than it is said to be is not mapped");

    int received = -1;
    {
        Result<std::unique_ptr<Reply>> reply =
                client.process->transact(client.hub, GET_DESCRIPTOR, ParcelWriter());
        Result<ReceivedHandle> handle =
                reply.ok() ? hidl::readNativeHandle((*reply)->reader()) : reply.status();
        if (claim(handle.ok() && handle->valid && handle->handle.fds.size() == 1 &&
                          handle->handle.ints == std::vector<int32_t>{42},
                  "a handle comes in a reply")) {
            received = handle->handle.fds[0];
            std::array<char, 4> text = {};
            claim(pread(received, text.data(), 3, 0) == 3 && std::strcmp(text.data(), "abc") == 0,
                  "its descriptor is open");
        }
    }
    claim(eventually([&] { return fcntl(received, F_GETFD) < 0; }), "and is closed with the reply");
}

void checkOwnedDescriptors(Client& client) {
    const int file = memfd_create("three bytes", MFD_CLOEXEC);
    if (write(file, "\1\2\3", 3) != 3) {
        claim(false, "a file is made");
        return;
    }
    const size_t ownBefore = testing::openDescriptors();
    const Result<int32_t> before = client.number(OPEN_FILES);
    ParcelWriter one;
    one.writeDescriptor(file);
    const Result<int32_t> sum = client.number(TAKE, one);
    claim(sum.ok() && *sum == 6, "a single descriptor can be taken and outlives its buffer");
    ParcelWriter two;
    two.writeDescriptor(file);
    two.writeDescriptor(file);
    claim(client.number(TAKE, two).status().code() == StatusCode::INVALID_ARGUMENT,
          "what follows the last argument is refused");
    ParcelWriter many;
    for (int i = 0; i < 254; ++i) {
        many.writeDescriptor(file);
    }
    for (int i = 0; i < 5; ++i) {
        static_cast<void>(client.number(999, many));
        static_cast<void>(client.number(INCREMENT, many));
        static_cast<void>(client.process->transactOneway(client.hub, NOTE, many));
    }
    claim(before.ok() && eventually([&] { return client.numberIs(*before, OPEN_FILES); }),
          "the receiver closes the descriptors that were not taken");
    claim(testing::openDescriptors() == ownBefore, "and the sender keeps its own");
    close(file);
}

}  // namespace halyard::hal::selftest
