// SPDX-License-Identifier: Apache-2.0
//
// IBuffer over a driver::ManagedBuffer, which goes with the last remote user.

#pragma once

#include <memory>

#include "driver/execute/managed_buffer.h"
#include "hal/aidl/answers.h"

namespace halyard::hal::aidl {

class BufferObject : public AidlObject {
  public:
    BufferObject(std::shared_ptr<driver::ManagedBuffer> buffer, const Dialect& dialect);

  protected:
    Status serve(uint32_t code, Call& call) override;

  private:
    Status copyFrom(Call& call);
    Status copyTo(Call& call);

    const std::shared_ptr<driver::ManagedBuffer> mBuffer;
    const Dialect mDialect;
};

}  // namespace halyard::hal::aidl
