// SPDX-License-Identifier: Apache-2.0
//
// ReusedBuffer: memory that only grows, so that runs of the same shapes allocate once.

#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

#include "engine/base/aligned_buffer.h"
#include "engine/base/budget.h"
#include "engine/base/status.h"

namespace halyard {

// Movable. One thread at a time.
class ReusedBuffer {
  public:
    // At least `bytes` bytes at that alignment, which stay until more are asked for. The content is
    // undefined. `role` is for the message: RESOURCE_EXHAUSTED.
    Result<std::byte*> get(size_t bytes, size_t alignment, const std::shared_ptr<Budget>& memory,
                           std::string_view role) {
        if (bytes > mBuffer.size()) {
            mBuffer = AlignedBuffer();  // the old bytes go before the new ones come
            Result<AlignedBuffer> buffer = AlignedBuffer::allocate(bytes, alignment, memory);
            if (!buffer.ok()) {
                return buffer.status().withContext(role);
            }
            mBuffer = std::move(buffer).value();
        }
        return mBuffer.data();
    }

  private:
    AlignedBuffer mBuffer;
};

}  // namespace halyard
