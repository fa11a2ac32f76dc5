// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>

#include "engine/base/status.h"
#include "hal/binder/kernel.h"
#include "hal/binder/local_objects.h"
#include "hal/binder/parcel.h"
#include "hal/binder/remote_objects.h"

namespace halyard::hal {

// The objects on both sides of a connection; replies that are still being read share it.
class ObjectTables final : public ObjectResolver {
  public:
    explicit ObjectTables(const std::shared_ptr<BinderKernel>& kernel)
        : remote(std::make_shared<RemoteObjects>(kernel)) {}

    // Takes a reference of its own to what belongs to another process.
    Result<ObjectRef> resolve(uint32_t type, uint64_t binderOrHandle, uint64_t cookie) override;

    LocalObjects local;
    const std::shared_ptr<RemoteObjects> remote;
};

}  // namespace halyard::hal
