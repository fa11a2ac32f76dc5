// SPDX-License-Identifier: Apache-2.0

#include "hal/hidl/hidl_endpoint.h"

#include <string_view>
#include <utility>

#include "engine/base/log.h"
#include "hal/binder/process.h"
#include "hal/hidl/registration.h"
#include "hal/hidl/service_manager.h"
#include "hal/hidl/service_objects.h"

namespace halyard::hal::hidl {
namespace {

class HidlEndpoint final : public Endpoint {
  public:
    HidlEndpoint(std::string path, std::string instance)
        : mPath(std::move(path)), mInstance(std::move(instance)) {}
    ~HidlEndpoint() override {
        mRegistration = nullptr;
        if (mProcess != nullptr) {
            mProcess->stop();
        }
    }
    HidlEndpoint(const HidlEndpoint&) = delete;
    HidlEndpoint& operator=(const HidlEndpoint&) = delete;

    std::string name() const override {
        return std::string(deviceInterfaceChain().front()) + "/" + mInstance + " on " + mPath;
    }

    Status open(const Served& served, const EndpointThreads& threads) override {
        // It calls hwservicemanager and callbacks, of which a burst's gives descriptors: the burst
        // waits for those alone.
        HALYARD_ASSIGN_OR_RETURN(mProcess, BinderProcess::open(mPath));
        HALYARD_ASSIGN_OR_RETURN(mObject,
                                 makeDeviceObject(mProcess, served.device, served.processes));
        return mProcess->startThreads(threads.first, threads.spawned);
    }

    Result<bool> isDeclared(std::chrono::milliseconds patience) override {
        HwServiceManager manager(mProcess);
        HALYARD_RETURN_IF_ERROR(manager.waitUntilReady(patience));
        return manager.isDeclared(deviceInterfaceChain().front(), mInstance);
    }

    Status announce(std::chrono::milliseconds patience) override {
        HALYARD_RETURN_IF_ERROR(HwServiceManager(mProcess).waitUntilReady(patience));
        Result<std::unique_ptr<Registration>> registration = Registration::start(
                mProcess, serviceName(mProcess, mInstance, mObject, deviceInterfaceChain()),
                mObject);
        if (!registration.ok()) {
            // A manager that goes while it is told is no different from one that never came.
            return registration.status();
        }
        mRegistration = std::move(*registration);
        for (const std::string_view interface : deviceInterfaceChain()) {
            log(LogLevel::INFO, "registered " + std::string(interface) + "/" + mInstance);
        }
        return {};
    }

  private:
    const std::string mPath;
    const std::string mInstance;
    std::shared_ptr<BinderProcess> mProcess;
    std::shared_ptr<LocalObject> mObject;
    std::unique_ptr<Registration> mRegistration;
};

}  // namespace

std::unique_ptr<Endpoint> makeEndpoint(std::string path, std::string instance) {
    return std::make_unique<HidlEndpoint>(std::move(path), std::move(instance));
}

}  // namespace halyard::hal::hidl
