// SPDX-License-Identifier: Apache-2.0
//
// IBuffer 1.3 over a driver::ManagedBuffer, which goes with the last remote user.

#pragma once

#include <memory>

#include "driver/execute/managed_buffer.h"
#include "hal/hidl/hidl_object.h"

namespace halyard::hal::hidl {

class BufferObject : public HidlObject {
  public:
    explicit BufferObject(std::shared_ptr<driver::ManagedBuffer> buffer);

  protected:
    Status serve(uint32_t code, Call& call) override;

  private:
    Status copyTo(Call& call);
    Status copyFrom(Call& call);

    const std::shared_ptr<driver::ManagedBuffer> mBuffer;
};

}  // namespace halyard::hal::hidl
