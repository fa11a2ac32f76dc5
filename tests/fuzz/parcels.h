// SPDX-License-Identifier: Apache-2.0
//
// Calls of HIDL methods as a hostile client sends them: well-formed parcels by the layouts of the
// methods, which are then damaged. What the kernel guarantees of a parcel still holds when it is
// delivered (tests/hal/loopback.h): it has checked and rewritten the objects that are listed, and
// nothing else.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "driver/model/model.h"
#include "driver/model/request.h"
#include "hal/binder/object.h"
#include "hal/hidl/layout.h"
#include "tests/fuzz/choices.h"
#include "tests/hal/loopback.h"

namespace halyard::fuzz {

// Material of arguments besides numbers. Models and requests refer to no pools or to
// anonymousPools(): an argument of theirs is one of these, or made by its layout alone.
struct Material {
    std::vector<hal::ObjectRef> objects;
    std::span<const driver::Model> models;
    std::span<const driver::Request> requests;
};

// A call of `method`, with arguments that its layout allows.
hal::testing::SentParcel makeCall(Choices& choices, const hal::hidl::InterfaceLayout& interface,
                                  const hal::hidl::MethodLayout& method, const Material& material);

// Changes bytes, lengths, objects and which of them are listed. What stays of the sender's
// addresses leads nowhere.
void damage(Choices& choices, hal::testing::SentParcel& parcel);

}  // namespace halyard::fuzz
