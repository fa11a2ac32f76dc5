// SPDX-License-Identifier: Apache-2.0

#include "nnapi/descriptor_memory.h"

#include <fcntl.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "engine/base/file_descriptor.h"
#include "hal/descriptors/descriptor_kind.h"
#include "hal/memory/shared_memory.h"

namespace halyard::nnapi {
namespace {

// Of the program, which may have closed its own descriptor when this one is sent.
class SendableMemory final : public driver::Memory {
  public:
    SendableMemory(driver::SharedMemory memory, FileDescriptor descriptor, int protection,
                   uint64_t offset)
        : mMemory(std::move(memory)),
          mDescriptor(std::move(descriptor)),
          mHandle{.descriptors = {mDescriptor.get()},
                  .numbers = {protection, static_cast<int32_t>(offset),
                              static_cast<int32_t>(offset >> 32U)}} {}

    std::string_view name() const override { return mMemory->name(); }
    size_t size() const override { return mMemory->size(); }
    bool valid() const override { return mMemory->valid(); }
    Result<driver::MemoryUse> use(const driver::ByteRange& range,
                                  const driver::Account* account) const override {
        return mMemory->use(range, account);
    }
    Result<std::span<uint8_t>> map() const override { return mMemory->map(); }
    const driver::MemoryHandle* handle() const override { return &mHandle; }

  private:
    const driver::SharedMemory mMemory;
    const FileDescriptor mDescriptor;
    const driver::MemoryHandle mHandle;
};

bool isSendable(hal::DescriptorKind kind) {
    switch (kind) {
        case hal::DescriptorKind::SHARED_MEMORY:
        case hal::DescriptorKind::ASHMEM:
        case hal::DescriptorKind::DMA_BUF:
        case hal::DescriptorKind::FILE:
            return true;
        case hal::DescriptorKind::HUGE_PAGES:
        case hal::DescriptorKind::FENCE:
        case hal::DescriptorKind::OTHER:
            return false;
    }
    return false;
}

}  // namespace

driver::SharedMemory descriptorMemory(int fd, size_t size, int protection, size_t offset) {
    driver::SharedMemory memory =
            hal::importMappedFile(fd, size, protection, offset, {.uses = hal::Uses::MANY});
    if (!isSendable(hal::kindOf(fd))) {
        return memory;
    }
    FileDescriptor duplicate(fcntl(fd, F_DUPFD_CLOEXEC, 0));
    return duplicate.valid() ? std::make_shared<const SendableMemory>(
                                       std::move(memory), std::move(duplicate), protection, offset)
                             : memory;
}

}  // namespace halyard::nnapi
