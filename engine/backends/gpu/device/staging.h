// SPDX-License-Identifier: Apache-2.0
//
// Memory of the host that the driver has pinned, which devices copy from and to at full speed.

#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/backends/gpu/device/device.h"
#include "engine/base/status.h"

namespace halyard::engine::gpu {

// One block. Movable; its owner gives it back to the pool once no command uses it.
struct Staging {
    static constexpr size_t kBytes = size_t{4} << 20;

    MemoryHandle memory;
    std::byte* mapped = nullptr;  // null: none
};

// Blocks that are not in use just now: as many as were ever used at once. Thread-safe.
class StagingPool {
  public:
    explicit StagingPool(std::shared_ptr<const Device> device) : mDevice(std::move(device)) {}

    // `queue`: where a new one is mapped.
    Result<Staging> take(cl_command_queue queue);
    void giveBack(Staging staging);

  private:
    const std::shared_ptr<const Device> mDevice;
    std::mutex mMutex;
    std::vector<Staging> mIdle;
};

}  // namespace halyard::engine::gpu
