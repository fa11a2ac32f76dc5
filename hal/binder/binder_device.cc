// SPDX-License-Identifier: Apache-2.0
//
// BinderKernel and BinderProcess over a binder device of this machine.

#include <fcntl.h>
#include <linux/android/binder.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "engine/base/checked_math.h"
#include "engine/base/log.h"
#include "hal/binder/buffer_freer.h"
#include "hal/binder/connection.h"
#include "hal/binder/kernel.h"
#include "hal/binder/process.h"

namespace halyard::hal {
namespace {

Status systemError(const std::string& what, StatusCode code = StatusCode::INTERNAL) {
    return {code, what + ": " + std::strerror(errno)};
}

class BinderDevice final : public BinderKernel {
  public:
    explicit BinderDevice(int fd) : mFd(fd) {}
    ~BinderDevice() override {
        mFreer = nullptr;
        if (mMapping != MAP_FAILED) {
            munmap(mMapping, mMappingSize);
        }
        close(mFd);
    }
    BinderDevice(const BinderDevice&) = delete;
    BinderDevice& operator=(const BinderDevice&) = delete;

    Status prepare() {
        binder_version version = {};
        if (ioctl(mFd, BINDER_VERSION, &version) < 0) {
            return systemError("BINDER_VERSION");
        }
        if (version.protocol_version != BINDER_CURRENT_PROTOCOL_VERSION) {
            return unsupported("binder protocol " + std::to_string(version.protocol_version) +
                               ", expected " + std::to_string(BINDER_CURRENT_PROTOCOL_VERSION));
        }
        // Two guard pages' worth less than a round size, so that the kernel's own mapping of it,
        // which needs them, stays within that size.
        mMappingSize = size_t{1024} * 1024 - 2 * static_cast<size_t>(sysconf(_SC_PAGE_SIZE));
        mMapping = mmap(nullptr, mMappingSize, PROT_READ, MAP_PRIVATE | MAP_NORESERVE, mFd, 0);
        return mMapping == MAP_FAILED ? systemError("mapping the receive buffer") : Status();
    }

    Exchange writeRead(std::span<const uint8_t> commands, std::span<uint8_t> returns) override {
        binder_write_read exchange = {};
        exchange.write_buffer = reinterpret_cast<uintptr_t>(commands.data());
        exchange.write_size = commands.size();
        exchange.read_buffer = reinterpret_cast<uintptr_t>(returns.data());
        exchange.read_size = returns.size();
        // The kernel counts what it has taken in write_consumed, and goes on from there.
        while (ioctl(mFd, BINDER_WRITE_READ, &exchange) < 0) {
            if (errno != EINTR) {
                return {.status = systemError("BINDER_WRITE_READ", StatusCode::UNAVAILABLE),
                        .taken = static_cast<size_t>(exchange.write_consumed)};
            }
        }
        return {.status = {},
                .taken = static_cast<size_t>(exchange.write_consumed),
                .received = static_cast<size_t>(exchange.read_consumed)};
    }

    Status freeBufferOnly(uint64_t address) override {
        return mFreer == nullptr ? unsupported("no thread has a table of descriptors of its own")
                                 : mFreer->free(address);
    }

    Status setMaxThreads(uint32_t threads) override {
        // Before there are any of a client's, which it would keep open.
        if (mFreer == nullptr) {
            mFreer = BufferFreer::start(*this);
        }
        return ioctl(mFd, BINDER_SET_MAX_THREADS, &threads) < 0
                       ? systemError("BINDER_SET_MAX_THREADS")
                       : Status();
    }

    Status becomeContextManager(uint64_t pointer, const ObjectFlags& flags) override {
        flat_binder_object object = {};
        object.hdr.type = BINDER_TYPE_BINDER;
        object.flags = flags.onTheWire();
        object.binder = pointer;
        object.cookie = pointer;
        if (ioctl(mFd, BINDER_SET_CONTEXT_MGR_EXT, &object) == 0) {
            return {};
        }
        // Kernels before 5.1 know only this form, whose object is 0 on the wire, and takes none.
        int32_t unused = 0;
        if (errno == EINVAL && ioctl(mFd, BINDER_SET_CONTEXT_MGR, &unused) == 0) {
            return {};
        }
        return systemError("becoming the context manager",
                           errno == EBUSY ? StatusCode::UNAVAILABLE : StatusCode::INTERNAL);
    }

    void wakeThreads() override {
        // Closing any descriptor of the open file flushes it, and binder's flush makes every
        // thread return to its caller. The mark it sets stays until a thread's next return, so a
        // thread on its way into the kernel doesn't miss it.
        int duplicate = fcntl(mFd, F_DUPFD_CLOEXEC, 0);
        if (duplicate < 0) {
            log(LogLevel::ERROR, systemError("waking the binder threads").toString());
            return;
        }
        close(duplicate);
    }

    void exitThread() override {
        int32_t unused = 0;
        ioctl(mFd, BINDER_THREAD_EXIT, &unused);
    }

    bool inReceiveBuffer(uint64_t address, uint64_t size) const override {
        const uint64_t start = reinterpret_cast<uintptr_t>(mMapping);
        return address >= start && rangeFits<uint64_t>(address - start, size, mMappingSize);
    }

  private:
    const int mFd;
    std::unique_ptr<BufferFreer> mFreer;
    void* mMapping = MAP_FAILED;
    size_t mMappingSize = 0;
};

}  // namespace

Result<std::shared_ptr<BinderKernel>> BinderKernel::open(const std::string& path) {
    int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        return systemError(path, StatusCode::UNAVAILABLE);
    }
    auto device = std::make_shared<BinderDevice>(fd);
    if (Status prepared = device->prepare(); !prepared.ok()) {
        return prepared.withContext(path);
    }
    return std::shared_ptr<BinderKernel>(std::move(device));
}

Result<std::shared_ptr<BinderProcess>> BinderProcess::open(const std::string& path,
                                                           ReplyDescriptors descriptors) {
    HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<BinderKernel> kernel, BinderKernel::open(path));
    return std::shared_ptr<BinderProcess>(
            std::make_shared<BinderConnection>(std::move(kernel), descriptors));
}

}  // namespace halyard::hal
