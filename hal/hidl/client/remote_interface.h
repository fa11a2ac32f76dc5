// SPDX-License-Identifier: Apache-2.0
//
// A service's object, seen through one of its interfaces.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "hal/binder/process.h"
#include "hal/hidl/codec.h"

namespace halyard::hal::hidl {

// Thread-safe. UNAVAILABLE from any call: the service is gone.
class RemoteInterface {
  public:
    // Fails if `object` is not remote, or if its own interfaceChain lacks `interface`.
    static Result<RemoteInterface> cast(std::shared_ptr<BinderProcess> process,
                                        const ObjectRef& object, const InterfaceLayout& interface);

    // `write` adds the arguments. The reply stands behind its head.
    using WriteArguments = std::function<void(ParcelWriter& arguments)>;
    Result<std::unique_ptr<Reply>> call(uint32_t method, const WriteArguments& write) const;
    Result<std::unique_ptr<Reply>> call(uint32_t method) const {
        return call(method, [](ParcelWriter&) {});
    }

    // IBase's, of every object.
    Result<std::vector<std::string>> interfaceChain() const;
    Status ping() const;
    // Of the process that serves the object.
    Result<int32_t> servicePid() const;
    // The object's debug text.
    Result<std::string> debug() const;

    const std::shared_ptr<BinderProcess>& process() const { return mProcess; }
    const std::shared_ptr<RemoteObject>& object() const { return mObject; }

  private:
    RemoteInterface(std::shared_ptr<BinderProcess> process, std::shared_ptr<RemoteObject> object,
                    const InterfaceLayout& interface)
        : mProcess(std::move(process)), mObject(std::move(object)), mInterface(&interface) {}

    std::shared_ptr<BinderProcess> mProcess;
    std::shared_ptr<RemoteObject> mObject;
    const InterfaceLayout* mInterface;
};

}  // namespace halyard::hal::hidl
