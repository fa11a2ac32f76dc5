// SPDX-License-Identifier: Apache-2.0
//
// Another process's object, seen through an AIDL interface.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "engine/base/status.h"
#include "hal/aidl/interface.h"
#include "hal/aidl/parcel.h"
#include "hal/aidl/release.h"
#include "hal/binder/process.h"

namespace halyard::hal::aidl {

// The answer to a call, as a status: of a service of NNAPI's the ErrorStatus that it
// says; everything else is INTERNAL.
Status statusOf(const Exception& exception);

// Thread-safe. UNAVAILABLE from any call: the service is gone. UNSUPPORTED: it does not know the
// method. INTERNAL: it answers what no contract knows.
class RemoteInterface {
  public:
    // A method's results, and the reply, to which what they borrow belongs.
    template <typename Method>
    struct Answer {
        std::unique_ptr<Reply> reply;
        typename Method::Results results;
    };
    using WriteArguments = std::function<void(AidlWriter& arguments)>;

    // An object that is what `interface` says already.
    RemoteInterface(std::shared_ptr<BinderProcess> process, std::shared_ptr<RemoteObject> object,
                    const InterfaceInfo& interface, const Release& release)
        : mProcess(std::move(process)),
          mObject(std::move(object)),
          mInterface(&interface),
          mRelease(release) {}
    // Fails if `object` is not remote, or says that its interface is another one.
    static Result<RemoteInterface> cast(std::shared_ptr<BinderProcess> process,
                                        const ObjectRef& object, const InterfaceInfo& interface,
                                        const Release& release);

    template <typename Method>
    Result<Answer<Method>> call(const typename Method::Arguments& arguments) const {
        return call<Method>(Method::kCode, arguments);
    }
    // By the code that it has there.
    template <typename Method>
    Result<Answer<Method>> call(uint32_t code, const typename Method::Arguments& arguments) const {
        Answer<Method> answer;
        HALYARD_ASSIGN_OR_RETURN(answer.reply, transact(code, [&arguments](AidlWriter& writer) {
                                     writeFields(writer, arguments);
                                 }));
        AidlReader reader(answer.reply->reader());
        const Status read = readFields(reader, answer.results);
        return read.ok() ? Result<Answer<Method>>(std::move(answer))
                         : internalError("the answer: " + read.toString());
    }
    // The same without waiting for it to be served: the answer is lost.
    template <typename Method>
    Status callOneway(const typename Method::Arguments& arguments) const {
        return transactOneway(Method::kCode,
                              [&arguments](AidlWriter& writer) { writeFields(writer, arguments); });
    }

    Status ping() const;
    // Of the process that serves the object.
    Result<int32_t> servicePid() const;
    // The object's debug text.
    Result<std::string> dump() const;

    const std::shared_ptr<BinderProcess>& process() const { return mProcess; }
    const std::shared_ptr<RemoteObject>& object() const { return mObject; }
    const Release& release() const { return mRelease; }

  private:
    // The reply stands behind its head.
    Result<std::unique_ptr<Reply>> transact(uint32_t code, const WriteArguments& write) const;
    Status transactOneway(uint32_t code, const WriteArguments& write) const;

    std::shared_ptr<BinderProcess> mProcess;
    std::shared_ptr<RemoteObject> mObject;
    const InterfaceInfo* mInterface;
    Release mRelease;
};

}  // namespace halyard::hal::aidl
