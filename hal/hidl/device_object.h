// SPDX-License-Identifier: Apache-2.0
//
// IDevice 1.0–1.3 over a driver::Device. Memory domains are answered as the contract prescribes for
// drivers without them.

#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "driver/device/device.h"
#include "hal/binder/process.h"
#include "hal/hidl/hidl_object.h"
#include "hal/service/process_watch.h"

namespace halyard::hal::hidl {

class DeviceObject : public HidlObject {
  public:
    // `processes`: what tells of clients' deaths; null where nothing but their callbacks does.
    DeviceObject(std::weak_ptr<BinderProcess> process, std::shared_ptr<const driver::Device> device,
                 std::shared_ptr<ProcessWatch> processes);

  protected:
    Status serve(uint32_t code, Call& call) override;
    // The device's report: version, options, backends, live models, as text.
    std::string debugText(std::span<const std::string> options) const override;
    Result<std::shared_ptr<driver::Client>> debuggedBy(const Caller& caller) const override;

  private:
    // One function per method and, where the versions differ in arguments only, per family.
    Status getCapabilities(Call& call);
    Status getSupportedOperations(Call& call);
    Status prepareModel(Call& call);
    Status prepareModelFromCache(Call& call);
    Status getStatus(Call& call);
    Status getVersionString(Call& call);
    Status getType(Call& call);
    Status getSupportedExtensions(Call& call);
    Status getNumberOfCacheFilesNeeded(Call& call);
    Status allocate(Call& call);

    // A call that prepares a model, as the driver is asked for it; returns the call's status.
    using Preparation =
            std::function<Status(std::shared_ptr<driver::Client>, driver::PrepareCallback)>;
    // Reads the callback, prepares for the caller's client, and replies.
    Status prepareFor(Call& call, std::string_view method, const Preparation& prepare);
    Result<std::vector<bool>> supportedBy(const driver::Model& model, const Call& call) const;

    std::weak_ptr<BinderProcess> mProcess;
    std::shared_ptr<const driver::Device> mDevice;
    const std::shared_ptr<ProcessWatch> mProcesses;
};

}  // namespace halyard::hal::hidl
