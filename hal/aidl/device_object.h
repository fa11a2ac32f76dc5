// SPDX-License-Identifier: Apache-2.0
//
// IDevice over a driver::Device.

#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "driver/device/device.h"
#include "hal/aidl/answers.h"
#include "hal/aidl/types.h"
#include "hal/binder/process.h"
#include "hal/service/process_watch.h"

namespace halyard::hal::aidl {

class DeviceObject : public AidlObject {
  public:
    // It does not keep `process`, by which it calls clients' callbacks, alive. `processes`: what
    // tells of clients' deaths; null where nothing but their callbacks does.
    DeviceObject(std::weak_ptr<BinderProcess> process, std::shared_ptr<const driver::Device> device,
                 std::shared_ptr<ProcessWatch> processes, const Dialect& dialect = {});

  protected:
    Status serve(uint32_t code, Call& call) override;
    // The device's report: version, options, backends, live models, as text.
    std::string debugText(std::span<const std::string> options) const override;
    Result<std::shared_ptr<driver::Client>> debuggedBy(const Caller& caller) const override;

  private:
    Status allocate(Call& call);
    Status getCapabilities(Call& call);
    Status getNumberOfCacheFilesNeeded(Call& call);
    Status getSupportedExtensions(Call& call);
    Status getSupportedOperations(Call& call);
    Status getType(Call& call);
    Status getVersionString(Call& call);
    Status prepareModel(Call& call);
    Status prepareModelFromCache(Call& call);
    Status prepareModelWithConfig(Call& call);

    // Takes what is kept of a call's arguments, and begins.
    Status prepare(Call& call, std::string_view what, const nn::Model& model,
                   const nn::PrepareModelConfig& config, bool tokenIsWhole,
                   const ObjectRef& callback);
    // All but the cache and the client.
    Result<driver::PrepareOptions> optionsOf(const nn::PrepareModelConfig& config) const;
    Result<std::vector<bool>> supportedBy(const driver::Model& model, const Call& call) const;

    const std::weak_ptr<BinderProcess> mProcess;
    const std::shared_ptr<const driver::Device> mDevice;
    const std::shared_ptr<ProcessWatch> mProcesses;
    const Dialect mDialect;
};

}  // namespace halyard::hal::aidl
