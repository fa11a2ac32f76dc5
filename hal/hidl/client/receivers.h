// SPDX-License-Identifier: Apache-2.0
//
// The callbacks that a client hands to a service. They are served on a binder thread.

#pragma once

#include <atomic>
#include <memory>

#include "driver/execute/prepared_model.h"
#include "driver/model/codes.h"
#include "hal/binder/object.h"
#include "hal/client/pending.h"
#include "hal/hidl/hidl_object.h"

namespace halyard::hal::hidl {

struct PreparedReply {
    driver::ErrorStatus status = driver::ErrorStatus::NONE;
    ObjectRef model;
};

struct ExecutedReply {
    driver::ErrorStatus status = driver::ErrorStatus::NONE;
    std::vector<driver::OutputShape> outputShapes;  // empty before HAL 1.2
    driver::Timing timing;
};

// IPreparedModelCallback of any version: `interface` says which. The first notification counts;
// a further one is logged, for there must be none.
class PreparedModelReceiver : public HidlObject {
  public:
    PreparedModelReceiver(const InterfaceLayout& interface,
                          std::shared_ptr<Pending<PreparedReply>> pending)
        : HidlObject(interface), mPending(std::move(pending)) {}

  protected:
    Status serve(uint32_t code, Call& call) override;

  private:
    const std::shared_ptr<Pending<PreparedReply>> mPending;
    std::atomic<bool> mNotified = false;
};

// IExecutionCallback, likewise.
class ExecutionReceiver : public HidlObject {
  public:
    ExecutionReceiver(const InterfaceLayout& interface,
                      std::shared_ptr<Pending<ExecutedReply>> pending)
        : HidlObject(interface), mPending(std::move(pending)) {}

  protected:
    Status serve(uint32_t code, Call& call) override;

  private:
    const std::shared_ptr<Pending<ExecutedReply>> mPending;
    std::atomic<bool> mNotified = false;
};

}  // namespace halyard::hal::hidl
