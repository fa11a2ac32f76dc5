// SPDX-License-Identifier: Apache-2.0
//
// Client of hwservicemanager (android.hidl.manager@1.0–1.2 at handle 0).

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hal/binder/process.h"

namespace halyard::hal::hidl {

class HwServiceManager {
  public:
    explicit HwServiceManager(std::shared_ptr<BinderProcess> process);

    // Pings handle 0 until it answers; UNAVAILABLE after `timeout`.
    Status waitUntilReady(std::chrono::milliseconds timeout);
    // Registers `service` under `name` for every interface of `chain` (leaf first). Uses
    // addWithChain, and add where the manager is too old to know that.
    Status add(std::string_view name, const std::shared_ptr<LocalObject>& service,
               std::span<const std::string_view> chain);
    // Whether the VINTF manifest has interface/name as one that is reached over hwbinder, or it is
    // registered.
    Result<bool> isDeclared(std::string_view interface, std::string_view name);
    // The object registered as interface/name; null if there is none.
    Result<ObjectRef> get(std::string_view interface, std::string_view name);
    // Has `listener`, an IServiceNotification, told of whatever is registered as interface/name,
    // what is there already included.
    Status listen(std::string_view interface, std::string_view name,
                  const std::shared_ptr<LocalObject>& listener);
    // "interface/name" of everything registered.
    Result<std::vector<std::string>> list();

  private:
    // A reply whose head has been read.
    Result<std::unique_ptr<Reply>> call(uint32_t code,
                                        const std::function<void(ParcelWriter&)>& writeArguments);

    std::shared_ptr<BinderProcess> mProcess;
};

}  // namespace halyard::hal::hidl
