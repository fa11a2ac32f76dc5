// SPDX-License-Identifier: Apache-2.0
//
// AidlObject: a LocalObject that serves a stable AIDL interface. What every binder object answers,
// and the version and hash of the interface, is done here; derived classes serve the methods.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "driver/clients/client.h"
#include "engine/base/status.h"
#include "hal/aidl/interface.h"
#include "hal/aidl/parcel.h"
#include "hal/aidl/release.h"
#include "hal/binder/incoming_call.h"
#include "hal/binder/object.h"

namespace halyard::hal::aidl {

class AidlObject : public LocalObject {
  public:
    // `interface` is one of the generated ones and lives for ever. `version`: the one of it that is
    // served, without the methods that came later; 0 where it has no versions.
    AidlObject(const InterfaceInfo& interface, const Release& release, int32_t version = 0)
        : mInterface(interface), mRelease(release), mVersion(version) {}

    const InterfaceInfo& interface() const { return mInterface; }
    const Release& release() const { return mRelease; }
    int32_t version() const { return mVersion; }

    // One call while it is served. The code is that of the interface's table.
    class Call {
      public:
        Call(IncomingCall& incoming, const Release& release)
            : caller(incoming.caller()), mIncoming(incoming), mRelease(release) {}

        const Caller& caller;

        // All of a method's arguments. What they borrow is gone once they are ended.
        // INVALID_ARGUMENT if they can't be read, for which the call must be refused.
        template <typename Method>
        Result<typename Method::Arguments> read() {
            typename Method::Arguments arguments;
            AidlReader reader(mIncoming.arguments());
            HALYARD_RETURN_IF_ERROR(readFields(reader, arguments));
            return arguments;
        }
        // To be called when what is kept of the arguments has been copied, before the work.
        // INVALID_ARGUMENT if something was left to read.
        Status end() { return mIncoming.endArguments().status(); }

        // The answer: a method's results, or an exception. Ends the arguments. A method without
        // results need not answer.
        template <typename Results>
        Status answer(const Results& results) {
            HALYARD_ASSIGN_OR_RETURN(ParcelWriter * reply, beginAnswer());
            AidlWriter writer(*reply, mRelease);
            writer.writeReplyHead();
            writeFields(writer, results);
            return {};
        }
        Status answer();  // without results
        Status raise(const Exception& exception);
        bool answered() const { return mAnswered; }

      private:
        Result<ParcelWriter*> beginAnswer();

        IncomingCall& mIncoming;
        const Release mRelease;
        bool mAnswered = false;
    };

    ObjectFlags flags() const override {
        return {.takesDescriptors = true, .inheritsRealTime = false, .mostNice = 19};
    }

    // Before a method is served, the head of the request is checked.
    WireStatus onTransact(IncomingCall& call) final;

  protected:
    // Serves a method of the interface. A failure is for calls that can't be answered as the
    // interface says, and is logged: INVALID_ARGUMENT for arguments that can't be read,
    // UNSUPPORTED for a code not served.
    virtual Status serve(uint32_t code, Call& call) = 0;

    // The method that a code means; codes of the service manager's differ by release.
    virtual uint32_t methodOf(uint32_t code) const { return code; }

    // The text that a dump with these arguments writes. Called for callers that are no apps.
    virtual std::string debugText(std::span<const std::string> options) const;
    // The client whose calls a dump is counted among, as it may hold its thread for as long as its
    // caller is slow to read. Null, as here: it is not counted. A failure: it gets no text.
    virtual Result<std::shared_ptr<driver::Client>> debuggedBy(const Caller& caller) const;

  private:
    // Without a head. UNSUPPORTED for what is no such code.
    Status serveMeta(IncomingCall& incoming);
    Status dump(IncomingCall& incoming);
    // UNSUPPORTED: the interface, or the version that is served, has no such method.
    Result<const MethodInfo*> methodFor(uint32_t code) const;

    const InterfaceInfo& mInterface;
    const Release mRelease;
    const int32_t mVersion;
};

// A row of a table of methods.
template <typename Object>
struct Handler {
    uint32_t code = 0;
    Status (Object::*serve)(AidlObject::Call& call) = nullptr;
};

template <typename Object, size_t count>
Status dispatch(Object& object, const Handler<Object> (&handlers)[count], uint32_t code,
                AidlObject::Call& call) {
    for (const Handler<Object>& handler : handlers) {
        if (handler.code == code) {
            return (object.*handler.serve)(call);
        }
    }
    return unsupported("no handler");
}

}  // namespace halyard::hal::aidl
