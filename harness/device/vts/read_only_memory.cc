// SPDX-License-Identifier: Apache-2.0

#include "harness/device/vts/read_only_memory.h"

#include <sys/mman.h>

#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "hal/memory/shared_memory.h"

namespace halyard::vts {
namespace {

class ReadOnlyMemory final : public driver::Memory {
  public:
    explicit ReadOnlyMemory(hal::ExportedMemory memory)
        : mMemory(std::move(memory)),
          mFile(hal::importMappedFile(mMemory.handle.fds.front(), mMemory.memory->size(), PROT_READ,
                                      0, {.uses = hal::Uses::MANY})),
          // Of "mmap_fd": the protection, and both halves of the offset.
          mHandle{.descriptors = mMemory.handle.fds, .numbers = {PROT_READ, 0, 0}} {}

    std::string_view name() const override { return mFile->name(); }
    size_t size() const override { return mFile->size(); }
    bool valid() const override { return true; }
    Result<driver::MemoryUse> use(const driver::ByteRange& range,
                                  const driver::Account* account) const override {
        return mFile->use(range, account);
    }
    Result<std::span<uint8_t>> map() const override { return mMemory.memory->map(); }
    const driver::MemoryHandle* handle() const override { return &mHandle; }

  private:
    const hal::ExportedMemory mMemory;
    const driver::SharedMemory mFile;
    const driver::MemoryHandle mHandle;
};

}  // namespace

Result<driver::SharedMemory> createReadOnlyMemory(size_t size) {
    HALYARD_ASSIGN_OR_RETURN(hal::ExportedMemory memory, hal::createSharedMemory(size));
    return driver::SharedMemory(std::make_shared<const ReadOnlyMemory>(std::move(memory)));
}

}  // namespace halyard::vts
