// SPDX-License-Identifier: Apache-2.0

#include "hal/aidl/aidl_endpoint.h"

#include <utility>

#include "engine/base/log.h"
#include "hal/aidl/device_object.h"
#include "hal/aidl/registration.h"
#include "hal/aidl/service_manager.h"
#include "hal/aidl/types.h"
#include "hal/binder/process.h"

namespace halyard::hal::aidl {
namespace {

class AidlEndpoint final : public Endpoint {
  public:
    AidlEndpoint(std::string path, std::string instance)
        : mPath(std::move(path)),
          mName(std::string(nn::IDevice::info().descriptor) + "/" + std::move(instance)) {}
    ~AidlEndpoint() override {
        mRegistration = nullptr;
        if (mProcess != nullptr) {
            mProcess->stop();
        }
    }
    AidlEndpoint(const AidlEndpoint&) = delete;
    AidlEndpoint& operator=(const AidlEndpoint&) = delete;

    std::string name() const override { return mName + " on " + mPath; }

    Status open(const Served& served, const EndpointThreads& threads) override {
        mRelease = Release::ofThisDevice();
        // It calls servicemanager and callbacks, which have no descriptors to give.
        HALYARD_ASSIGN_OR_RETURN(mProcess, BinderProcess::open(mPath, ReplyDescriptors::REFUSED));
        mObject = std::make_shared<DeviceObject>(
                mProcess, served.device, served.processes,
                Dialect{.release = mRelease, .version = driver::kNewestVersion});
        return mProcess->startThreads(threads.first, threads.spawned);
    }

    Result<bool> isDeclared(std::chrono::milliseconds patience) override {
        ServiceManager manager(mProcess, mRelease);
        HALYARD_RETURN_IF_ERROR(manager.waitUntilReady(patience));
        return manager.isDeclared(mName);
    }

    Status announce(std::chrono::milliseconds patience) override {
        HALYARD_RETURN_IF_ERROR(ServiceManager(mProcess, mRelease).waitUntilReady(patience));
        HALYARD_ASSIGN_OR_RETURN(
                mRegistration,
                Registration::start(mProcess, serviceName(mProcess, mName, mObject, mRelease),
                                    mObject));
        log(LogLevel::INFO, "registered " + mName);
        return {};
    }

  private:
    const std::string mPath;
    const std::string mName;
    Release mRelease;
    std::shared_ptr<BinderProcess> mProcess;
    std::shared_ptr<LocalObject> mObject;
    std::unique_ptr<Registration> mRegistration;
};

}  // namespace

std::unique_ptr<Endpoint> makeEndpoint(std::string path, std::string instance) {
    return std::make_unique<AidlEndpoint>(std::move(path), std::move(instance));
}

}  // namespace halyard::hal::aidl
