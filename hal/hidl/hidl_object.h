// SPDX-License-Identifier: Apache-2.0
//
// HidlObject: a LocalObject that serves a HIDL interface. What every HIDL object answers (IBase) is
// done here, from the interface's layout; derived classes serve the methods of their own.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "driver/clients/client.h"
#include "driver/model/versions.h"
#include "engine/base/status.h"
#include "hal/binder/incoming_call.h"
#include "hal/binder/object.h"
#include "hal/hidl/codec.h"

namespace halyard::hal::hidl {

class HidlObject : public LocalObject {
  public:
    // `interface` is one of the generated ones and lives for ever.
    explicit HidlObject(const InterfaceLayout& interface) : mInterface(interface) {}

    const InterfaceLayout& interface() const { return mInterface; }

    // One call while it is served.
    class Call {
      public:
        explicit Call(IncomingCall& incoming)
            : caller(incoming.caller()), arguments(incoming.arguments()), mIncoming(incoming) {}

        const Caller& caller;
        ParcelReader& arguments;  // after the interface token
        // The one that brought the method, as the table of methods says.
        driver::HalVersion version = driver::HalVersion::V1_0;

        // To be called when all arguments have been read and what is kept of them copied, before
        // the work: what they point to, and their descriptors, are gone afterwards. Where to write
        // the results; of no use in a oneway call. INVALID_ARGUMENT if something was left to read,
        // for which the call must be refused.
        Result<ParcelWriter*> endArguments();

      private:
        IncomingCall& mIncoming;
    };

    ObjectFlags flags() const override {
        return {.takesDescriptors = true, .inheritsRealTime = true, .mostNice = 0};
    }

    // Before a method is served, its interface token and whether it is oneway are checked.
    WireStatus onTransact(IncomingCall& call) final;

  protected:
    // Serves a method of the interface that is not IBase's: reads the arguments, ends them, writes
    // the results. A failure is for calls that can't be answered as the interface says, and is
    // logged: INVALID_ARGUMENT for arguments that can't be read, UNSUPPORTED for a code not served.
    virtual Status serve(uint32_t code, Call& call) = 0;

    // The text that IBase::debug writes for these options. Called for callers that are no apps.
    virtual std::string debugText(std::span<const std::string> options) const;

    // The client whose calls a call of IBase::debug is counted among, as it may hold its thread for
    // as long as its caller is slow to read. Null, as here: it is not counted. A failure: it gets
    // no text.
    virtual Result<std::shared_ptr<driver::Client>> debuggedBy(const Caller& caller) const;

  private:
    Status serveBase(uint32_t code, Call& call);
    Status debug(Call& call);

    const InterfaceLayout& mInterface;
};

// A row of a table of methods.
template <typename Object>
struct Handler {  // NOLINT(clang-analyzer-optin.performance.Padding): tables read best this way
    uint32_t code = 0;
    Status (Object::*serve)(HidlObject::Call& call) = nullptr;
    driver::HalVersion version = driver::HalVersion::V1_0;
};

template <typename Object, size_t count>
Status dispatch(Object& object, const Handler<Object> (&handlers)[count], uint32_t code,
                HidlObject::Call& call) {
    for (const Handler<Object>& handler : handlers) {
        if (handler.code == code) {
            call.version = handler.version;
            return (object.*handler.serve)(call);
        }
    }
    return unsupported("no handler");
}

}  // namespace halyard::hal::hidl
