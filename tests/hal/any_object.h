// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>

#include "hal/binder/object.h"
#include "hal/binder/parcel.h"

namespace halyard::hal::testing {

// Stands for any object; it is never called.
class NamedObject : public LocalObject {
  public:
    explicit NamedObject(ObjectFlags flags) : mFlags(flags) {}

    ObjectFlags flags() const override { return mFlags; }
    WireStatus onTransact(IncomingCall& /*call*/) override {
        return WireStatus::UNKNOWN_TRANSACTION;
    }

  private:
    const ObjectFlags mFlags;
};

// Whatever object a parcel names, it is this one.
class AnyObject : public ObjectResolver {
  public:
    explicit AnyObject(ObjectFlags flags) : mObject(std::make_shared<NamedObject>(flags)) {}

    Result<ObjectRef> resolve(uint32_t /*type*/, uint64_t /*binderOrHandle*/,
                              uint64_t /*cookie*/) override {
        return ObjectRef(mObject);
    }

  private:
    const std::shared_ptr<LocalObject> mObject;
};

}  // namespace halyard::hal::testing
