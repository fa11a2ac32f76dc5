// SPDX-License-Identifier: Apache-2.0
//
// The callbacks that the runner hands to a service. They are served on a binder thread.

#pragma once

#include <memory>

#include "driver/model/codes.h"
#include "hal/binder/object.h"
#include "hal/hidl/hidl_object.h"
#include "harness/device/runner/awaited.h"
#include "harness/device/runner/target.h"

namespace halyard::runner {

struct PreparedReply {
    driver::ErrorStatus status = driver::ErrorStatus::NONE;
    hal::ObjectRef model;
};

struct ExecutedReply {
    driver::ErrorStatus status = driver::ErrorStatus::NONE;
    Execution execution;
};

// IPreparedModelCallback of any version: `interface` says which. The first notification counts;
// a further one is logged, for there must be none.
class PreparedModelReceiver : public hal::hidl::HidlObject {
  public:
    PreparedModelReceiver(const hal::hidl::InterfaceLayout& interface,
                          std::shared_ptr<DeathWatch> service)
        : HidlObject(interface), mReply(std::move(service)) {}

    Awaited<PreparedReply>& reply() { return mReply; }

  protected:
    Status serve(uint32_t code, Call& call) override;

  private:
    Awaited<PreparedReply> mReply;
};

// IExecutionCallback, likewise.
class ExecutionReceiver : public hal::hidl::HidlObject {
  public:
    ExecutionReceiver(const hal::hidl::InterfaceLayout& interface,
                      std::shared_ptr<DeathWatch> service)
        : HidlObject(interface), mReply(std::move(service)) {}

    Awaited<ExecutedReply>& reply() { return mReply; }

  protected:
    Status serve(uint32_t code, Call& call) override;

  private:
    Awaited<ExecutedReply> mReply;
};

}  // namespace halyard::runner
