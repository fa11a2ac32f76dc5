// SPDX-License-Identifier: Apache-2.0

#include "tests/device/fence_selftest/graphics_buffer.h"

#include <fcntl.h>
#include <linux/dma-buf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "hal/memory/shared_memory.h"

namespace halyard::selftest {
namespace {

struct CreateDumb {
    uint32_t height;
    uint32_t width;
    uint32_t bitsPerPixel;
    uint32_t flags;
    uint32_t handle;
    uint32_t pitch;
    uint64_t size;
};
struct PrimeHandle {
    uint32_t handle;
    uint32_t flags;
    int32_t fd;
};
struct VgemFenceAttach {
    uint32_t handle;
    uint32_t flags;
    uint32_t fence;
    uint32_t padding;
};
struct VgemFenceSignal {
    uint32_t fence;
    uint32_t flags;
};

constexpr unsigned long kCreateDumb = _IOWR('d', 0xB2, CreateDumb);
constexpr unsigned long kPrimeHandleToFd = _IOWR('d', 0x2D, PrimeHandle);
constexpr unsigned long kVgemFenceAttach = _IOWR('d', 0x41, VgemFenceAttach);
constexpr unsigned long kVgemFenceSignal = _IOW('d', 0x42, VgemFenceSignal);
constexpr uint32_t kVgemFenceWrite = 1;

Status lastError(std::string_view what) {
    return Status(StatusCode::UNAVAILABLE, std::string(what) + ": " + std::strerror(errno));
}

class DmaBufMemory final : public driver::Memory {
  public:
    DmaBufMemory(FileDescriptor file, size_t size, uint8_t* bytes)
        : mFile(std::move(file)), mSize(size), mBytes(bytes) {
        mHandle.descriptors = {mFile.get()};
    }
    ~DmaBufMemory() override { munmap(mBytes, mSize); }

    std::string_view name() const override { return "hardware_buffer_blob"; }
    size_t size() const override { return mSize; }
    bool valid() const override { return true; }
    Result<driver::MemoryUse> use(const driver::ByteRange& /*range*/,
                                  const driver::Account* /*account*/) const override {
        return unsupported("it is for services in other processes");
    }
    Result<std::span<uint8_t>> map() const override { return std::span(mBytes, mSize); }
    const driver::MemoryHandle* handle() const override { return &mHandle; }

  private:
    const FileDescriptor mFile;
    const size_t mSize;
    uint8_t* const mBytes;
    driver::MemoryHandle mHandle;
};

}  // namespace

Result<GraphicsBuffer> GraphicsBuffer::make(size_t size) {
    FileDescriptor device(open("/dev/dri/card0", O_RDWR | O_CLOEXEC));
    if (!device.valid()) {
        return lastError("/dev/dri/card0");
    }
    CreateDumb buffer = {.height = 1,
                         .width = static_cast<uint32_t>(size),
                         .bitsPerPixel = 8,
                         .flags = 0,
                         .handle = 0,
                         .pitch = 0,
                         .size = 0};
    if (ioctl(device.get(), kCreateDumb, &buffer) != 0) {
        return lastError("a buffer");
    }
    PrimeHandle prime = {.handle = buffer.handle, .flags = O_RDWR | O_CLOEXEC, .fd = -1};
    if (ioctl(device.get(), kPrimeHandleToFd, &prime) != 0) {
        return lastError("its descriptor");
    }
    return GraphicsBuffer(std::move(device), buffer.handle, FileDescriptor(prime.fd), buffer.size);
}

Result<driver::SharedMemory> GraphicsBuffer::memory() const {
    FileDescriptor file(fcntl(mDmaBuf.get(), F_DUPFD_CLOEXEC, 0));
    void* const bytes = mmap(nullptr, mSize, PROT_READ | PROT_WRITE, MAP_SHARED, mDmaBuf.get(), 0);
    if (!file.valid() || bytes == MAP_FAILED) {
        return lastError("its memory");
    }
    return driver::SharedMemory(std::make_shared<const DmaBufMemory>(std::move(file), mSize,
                                                                     static_cast<uint8_t*>(bytes)));
}

Result<GraphicsBuffer::Fence> GraphicsBuffer::attachFence() const {
    VgemFenceAttach attached = {
            .handle = mHandle, .flags = kVgemFenceWrite, .fence = 0, .padding = 0};
    if (ioctl(mDevice.get(), kVgemFenceAttach, &attached) != 0) {
        return lastError("a fence");
    }
    dma_buf_export_sync_file exported = {.flags = DMA_BUF_SYNC_RW, .fd = -1};
    if (ioctl(mDmaBuf.get(), DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &exported) != 0) {
        return lastError("its sync_file");
    }
    return Fence{.file = std::make_shared<const FileDescriptor>(exported.fd),
                 .number = attached.fence};
}

Status GraphicsBuffer::signal(const Fence& fence) const {
    VgemFenceSignal signalled = {.fence = fence.number, .flags = 0};
    return ioctl(mDevice.get(), kVgemFenceSignal, &signalled) == 0 ? Status()
                                                                   : lastError("signalling");
}

}  // namespace halyard::selftest
