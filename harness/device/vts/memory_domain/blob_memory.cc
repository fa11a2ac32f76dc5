// SPDX-License-Identifier: Apache-2.0

#include "harness/device/vts/memory_domain/blob_memory.h"

#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "hal/memory/shared_memory.h"

namespace halyard::vts {
namespace {

class BlobMemory final : public driver::Memory {
  public:
    explicit BlobMemory(hal::ExportedMemory memory)
        : mMemory(std::move(memory)),
          mHandle{.descriptors = mMemory.handle.fds, .numbers = mMemory.handle.ints} {}

    std::string_view name() const override { return "hardware_buffer_blob"; }
    size_t size() const override { return mMemory.memory->size(); }
    bool valid() const override { return true; }
    Result<driver::MemoryUse> use(const driver::ByteRange& range,
                                  const driver::Account* account) const override {
        return mMemory.memory->use(range, account);
    }
    Result<std::span<uint8_t>> map() const override { return mMemory.memory->map(); }
    const driver::MemoryHandle* handle() const override { return &mHandle; }

  private:
    const hal::ExportedMemory mMemory;
    const driver::MemoryHandle mHandle;
};

}  // namespace

Result<driver::SharedMemory> createBlobMemory(size_t size) {
    HALYARD_ASSIGN_OR_RETURN(hal::ExportedMemory memory, hal::createSharedMemory(size));
    return driver::SharedMemory(std::make_shared<const BlobMemory>(std::move(memory)));
}

}  // namespace halyard::vts
