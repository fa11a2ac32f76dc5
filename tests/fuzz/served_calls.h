// SPDX-License-Identifier: Apache-2.0
//
// An object that serves a HIDL interface, under the calls of a hostile client.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "hal/binder/object.h"
#include "hal/hidl/hidl_object.h"
#include "hal/hidl/layout.h"
#include "tests/fuzz/choices.h"
#include "tests/fuzz/parcels.h"
#include "tests/hal/loopback.h"

namespace halyard::fuzz {

// One of the client's own, which serves IBase alone and keeps nothing of what it is told: in one
// process with the service, that would keep itself.
class MuteObject final : public hal::hidl::HidlObject {
  public:
    using HidlObject::HidlObject;

  protected:
    Status serve(uint32_t /*code*/, Call& /*call*/) override { return {}; }
};

// Makes up to `most` calls, until the choices are used up. What they answer is read as a client
// would: a reply that breaks the interface is a finding.
void makeCalls(Choices& choices, size_t most, hal::testing::LoopbackProcess& process,
               const std::shared_ptr<hal::LocalObject>& object,
               const hal::hidl::InterfaceLayout& interface, const Material& material);

}  // namespace halyard::fuzz
