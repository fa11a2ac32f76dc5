// SPDX-License-Identifier: Apache-2.0
//
// Client of servicemanager (android.os.IServiceManager at handle 0 of /dev/binder). Services have
// names: those that the VINTF manifest declares are called "package.IInterface/instance".

#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "hal/aidl/remote_interface.h"
#include "hal/binder/process.h"

namespace halyard::hal::aidl {

class ServiceManager {
  public:
    ServiceManager(std::shared_ptr<BinderProcess> process, const Release& release);

    // Pings handle 0 until it answers, which is when Android sets the property
    // servicemanager.ready; UNAVAILABLE after `timeout`.
    Status waitUntilReady(std::chrono::milliseconds timeout);
    // In place of whatever had the name. Fails where it is not declared.
    Status add(std::string_view name, const std::shared_ptr<LocalObject>& service);
    // Null if there is none.
    Result<ObjectRef> get(std::string_view name);
    // Whether the VINTF manifest has it.
    Result<bool> isDeclared(std::string_view name);
    // The instances of an interface that the manifest has. UNSUPPORTED before Android 12.
    Result<std::vector<std::string>> declaredInstances(std::string_view interface);
    // Has `listener`, an IServiceCallback, told of whatever is registered under the name, what is
    // there already included.
    Status listen(std::string_view name, const std::shared_ptr<LocalObject>& listener);
    // The names of everything registered.
    Result<std::vector<std::string>> list();

  private:
    template <typename Method>
    Result<typename Method::Results> call(const typename Method::Arguments& arguments);

    const std::shared_ptr<BinderProcess> mProcess;
    const Release mRelease;
};

}  // namespace halyard::hal::aidl
