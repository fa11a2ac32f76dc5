// SPDX-License-Identifier: Apache-2.0

#include "tests/device/attacker/link.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <string>
#include <utility>

namespace halyard::attacker {

namespace {

struct Return {
    uint32_t command = 0;
    std::array<uint8_t, sizeof(binder_transaction_data_secctx)> payload = {};
};

// The calling thread's commands to the kernel, and its returns from it. A process that forks does
// so before it has a link.
thread_local std::vector<uint8_t> tCommands;
thread_local std::deque<Return> tReturns;
thread_local bool tLooper = false;

// The form of a transaction or a reply; it points into the parcel.
binder_transaction_data_sg carrying(const RawParcel& parcel) {
    binder_transaction_data_sg out = {};
    out.transaction_data.data_size = parcel.data().size();
    out.transaction_data.data.ptr.buffer = reinterpret_cast<uintptr_t>(parcel.data().data());
    out.transaction_data.offsets_size = parcel.offsets().size_bytes();
    out.transaction_data.data.ptr.offsets = reinterpret_cast<uintptr_t>(parcel.offsets().data());
    out.buffers_size = parcel.buffersSize();
    return out;
}

Status systemError(const std::string& what) {
    return internalError(what + ": " + strerror(errno));
}

}  // namespace

Received::~Received() {
    if (mLink != nullptr) {
        const binder_uintptr_t address = mData.data.ptr.buffer;
        mLink->put(BC_FREE_BUFFER, &address, sizeof(address));
        static_cast<void>(mLink->flush());
    }
}

std::span<const uint8_t> Received::bytes() const {
    return {reinterpret_cast<const uint8_t*>(static_cast<uintptr_t>(mData.data.ptr.buffer)),
            static_cast<size_t>(mData.data_size)};
}

int32_t Received::int32At(size_t offset) const {
    int32_t value = 0;
    if (offset + sizeof(value) <= mData.data_size) {
        std::memcpy(&value, bytes().data() + offset, sizeof(value));
    }
    return value;
}

std::vector<uint32_t> Received::handles() const {
    const auto* offsets =
            reinterpret_cast<const uint64_t*>(static_cast<uintptr_t>(mData.data.ptr.offsets));
    std::vector<uint32_t> found;
    for (size_t i = 0; i < mData.offsets_size / sizeof(uint64_t); ++i) {
        flat_binder_object object = {};
        if (offsets[i] + sizeof(object) > mData.data_size) {
            continue;
        }
        std::memcpy(&object, bytes().data() + offsets[i], sizeof(object));
        if (object.hdr.type == BINDER_TYPE_HANDLE) {
            found.push_back(object.handle);
        }
    }
    return found;
}

Result<std::unique_ptr<Link>> Link::open(const char* device) {
    // Not blocking: another thread may take what poll() saw.
    const int fd = ::open(device, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return systemError(device);
    }
    const size_t size = size_t{1024} * 1024 - 2 * static_cast<size_t>(sysconf(_SC_PAGE_SIZE));
    void* mapping = mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_NORESERVE, fd, 0);
    if (mapping == MAP_FAILED) {
        close(fd);
        return systemError("mmap");
    }
    return std::unique_ptr<Link>(new Link(fd, mapping, size));
}

Link::~Link() {
    munmap(mMapping, mSize);
    close(mFd);
}

uint64_t Link::addObject(Handler handler) {
    const std::lock_guard lock(mMutex);
    // Any number that is not 0 will do for the kernel.
    const uint64_t id = 16 * mNextObject++;
    mObjects[id] = std::make_shared<Handler>(std::move(handler));
    return id;
}

void Link::put(uint32_t command, const void* payload, size_t size) {
    const auto* code = reinterpret_cast<const uint8_t*>(&command);
    const auto* bytes = static_cast<const uint8_t*>(payload);
    tCommands.insert(tCommands.end(), code, code + sizeof(command));
    tCommands.insert(tCommands.end(), bytes, bytes + size);
}

Status Link::flush() {
    binder_write_read exchange = {};
    exchange.write_buffer = reinterpret_cast<uintptr_t>(tCommands.data());
    exchange.write_size = tCommands.size();
    while (exchange.write_consumed < exchange.write_size &&
           ioctl(mFd, BINDER_WRITE_READ, &exchange) < 0) {
        if (errno != EINTR) {
            tCommands.clear();
            return systemError("BINDER_WRITE_READ");
        }
    }
    tCommands.clear();
    return {};
}

Status Link::send(uint32_t handle, uint32_t code, uint32_t flags, const RawParcel& arguments) {
    binder_transaction_data_sg out = carrying(arguments);
    out.transaction_data.target.handle = handle;
    out.transaction_data.code = code;
    out.transaction_data.flags = flags | TF_ACCEPT_FDS;
    put(BC_TRANSACTION_SG, &out, sizeof(out));
    return flush();
}

Result<std::optional<Link::Answer>> Link::next(Clock::time_point deadline) {
    for (;;) {
        while (!tReturns.empty()) {
            const Return item = tReturns.front();
            tReturns.pop_front();
            binder_ptr_cookie pair = {};
            binder_transaction_data data = {};
            switch (item.command) {
                case BR_INCREFS:
                case BR_ACQUIRE:
                    std::memcpy(&pair, item.payload.data(), sizeof(pair));
                    put(item.command == BR_INCREFS ? BC_INCREFS_DONE : BC_ACQUIRE_DONE, &pair,
                        sizeof(pair));
                    break;
                case BR_TRANSACTION:
                    std::memcpy(&data, item.payload.data(), sizeof(data));
                    serve(data);
                    return std::optional(Answer{.command = item.command, .received = {}});
                case BR_REPLY: {
                    std::memcpy(&data, item.payload.data(), sizeof(data));
                    Answer answer{.command = item.command, .received = Received(*this, data)};
                    if ((data.flags & TF_STATUS_CODE) != 0) {
                        const int32_t status = answer.received->int32At(0);
                        return status == -32 ? Status(StatusCode::UNAVAILABLE, "dead object")
                                             : invalidArgument("status " + std::to_string(status));
                    }
                    return std::optional(std::move(answer));
                }
                case BR_DEAD_BINDER: {
                    binder_uintptr_t cookie = 0;
                    std::memcpy(&cookie, item.payload.data(), sizeof(cookie));
                    put(BC_DEAD_BINDER_DONE, &cookie, sizeof(cookie));
                    break;
                }
                case BR_DEAD_REPLY:
                    return Status(StatusCode::UNAVAILABLE, "dead reply");
                case BR_FAILED_REPLY:
                    return internalError(std::string(kRefusedByKernel));
                case BR_FROZEN_REPLY:
                    return Status(StatusCode::RESOURCE_EXHAUSTED, "frozen reply");
                case BR_TRANSACTION_COMPLETE:
                case BR_ONEWAY_SPAM_SUSPECT:
                case kPendingFrozen:
                    return std::optional(Answer{.command = item.command, .received = {}});
                default:
                    break;
            }
        }
        HALYARD_RETURN_IF_ERROR(flush());
        const auto left =
                std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
        pollfd ready = {.fd = mFd, .events = POLLIN, .revents = 0};
        const int found = poll(&ready, 1, static_cast<int>(std::max<int64_t>(left.count(), 0)));
        if (found == 0) {
            return std::optional<Answer>();
        }
        std::array<uint8_t, 4096> stream;
        binder_write_read exchange = {};
        exchange.read_buffer = reinterpret_cast<uintptr_t>(stream.data());
        exchange.read_size = stream.size();
        if (found < 0 || ioctl(mFd, BINDER_WRITE_READ, &exchange) < 0) {
            if (errno == EINTR || errno == EAGAIN) {
                continue;
            }
            return systemError("BINDER_WRITE_READ");
        }
        for (size_t at = 0; at + sizeof(uint32_t) <= exchange.read_consumed;) {
            Return item;
            std::memcpy(&item.command, stream.data() + at, sizeof(item.command));
            at += sizeof(item.command);
            const size_t size = std::min<size_t>(_IOC_SIZE(item.command), item.payload.size());
            std::memcpy(item.payload.data(), stream.data() + at, size);
            at += _IOC_SIZE(item.command);
            tReturns.push_back(item);
        }
    }
}

void Link::serve(const binder_transaction_data& data) {
    std::shared_ptr<Handler> handler;
    {
        const std::lock_guard lock(mMutex);
        const auto found = mObjects.find(data.cookie);
        handler = found == mObjects.end() ? nullptr : found->second;
    }
    const Received call(*this, data);
    RawParcel reply;
    const bool answers = handler != nullptr && (*handler)(call, reply);
    if (call.isOneway() || !answers) {
        return;
    }
    const binder_transaction_data_sg out = carrying(reply);
    put(BC_REPLY_SG, &out, sizeof(out));
    static_cast<void>(flush());
}

Result<Received> Link::call(uint32_t handle, uint32_t code, const RawParcel& arguments,
                            std::chrono::milliseconds patience) {
    const Clock::time_point deadline = Clock::now() + patience;
    HALYARD_RETURN_IF_ERROR(send(handle, code, 0, arguments));
    for (;;) {
        HALYARD_ASSIGN_OR_RETURN(std::optional<Answer> answer, next(deadline));
        if (!answer.has_value()) {
            return Status(StatusCode::DEADLINE_EXCEEDED,
                          "no reply within " + std::to_string(patience.count()) + " ms");
        }
        if (answer->received.has_value()) {
            return *std::move(answer->received);
        }
    }
}

Result<uint32_t> Link::callOneway(uint32_t handle, uint32_t code, const RawParcel& arguments) {
    const Clock::time_point deadline = Clock::now() + std::chrono::seconds(30);
    HALYARD_RETURN_IF_ERROR(send(handle, code, TF_ONE_WAY, arguments));
    for (;;) {
        HALYARD_ASSIGN_OR_RETURN(std::optional<Answer> answer, next(deadline));
        if (!answer.has_value()) {
            return Status(StatusCode::DEADLINE_EXCEEDED, "the kernel does not answer");
        }
        if (answer->command != BR_TRANSACTION) {
            return answer->command;
        }
    }
}

Status Link::callAndLeave(uint32_t handle, uint32_t code, const RawParcel& arguments) {
    return send(handle, code, 0, arguments);
}

bool Link::serveUntil(const std::function<bool()>& done, std::chrono::milliseconds patience) {
    if (!tLooper) {
        put(BC_ENTER_LOOPER, nullptr, 0);
        tLooper = true;
    }
    const Clock::time_point deadline = Clock::now() + patience;
    while (!done()) {
        const Result<std::optional<Answer>> answer = next(deadline);
        if (answer.ok() && !answer->has_value()) {
            return done();
        }
    }
    return true;
}

void Link::acquire(uint32_t handle) {
    put(BC_INCREFS, &handle, sizeof(handle));
    put(BC_ACQUIRE, &handle, sizeof(handle));
    static_cast<void>(flush());
}

void Link::release(uint32_t handle) {
    put(BC_RELEASE, &handle, sizeof(handle));
    put(BC_DECREFS, &handle, sizeof(handle));
    static_cast<void>(flush());
}

void Link::watchDeath(uint32_t handle) {
    binder_handle_cookie watch = {};
    watch.handle = handle;
    watch.cookie = handle + 1;
    put(BC_REQUEST_DEATH_NOTIFICATION, &watch, sizeof(watch));
    static_cast<void>(flush());
}

}  // namespace halyard::attacker
