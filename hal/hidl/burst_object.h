// SPDX-License-Identifier: Apache-2.0
//
// IBurstContext 1.2: executions of one prepared model whose requests come through one queue and
// whose results go through another, on a thread of their own.

#pragma once

#include <memory>

#include "driver/execute/prepared_model.h"
#include "hal/binder/process.h"
#include "hal/hidl/hidl_object.h"
#include "hal/hidl/message_queue.h"

namespace halyard::hal::hidl {

class BurstObject : public HidlObject {
  public:
    // Starts the thread, which is charged to the model's client, as is the memory that requests and
    // results of the queues' sizes take, and ends soon after the last remote
    // user has let go, or when the client dies. `callback`: IBurstCallback, of which memory is
    // asked for by slots. RESOURCE_EXHAUSTED where the client has too many.
    static Result<std::shared_ptr<BurstObject>> start(
            std::weak_ptr<BinderProcess> process,
            std::shared_ptr<const driver::PreparedModel> model,
            std::shared_ptr<RemoteObject> callback, MessageQueue requests, MessageQueue results);
    ~BurstObject() override;

    void onLastRelease() override;

  protected:
    Status serve(uint32_t code, Call& call) override;

  private:
    class Burst;
    explicit BurstObject(std::shared_ptr<Burst> burst);

    const std::shared_ptr<Burst> mBurst;
};

}  // namespace halyard::hal::hidl
