// SPDX-License-Identifier: Apache-2.0
//
// android.os.IServiceManager over a Registry, with the codes of the device's release of Android.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "hal/aidl/aidl_object.h"
#include "hal/aidl/types.h"
#include "hal/binder/process.h"
#include "harness/device/managers/manifest.h"
#include "harness/device/managers/registry.h"

namespace halyard::device {

// Differences from Android's: nothing is started when it is looked up, and clients are not counted,
// so that client callbacks are refused and tryUnregisterService does not ask whether the service is
// in use. In place of SELinux's check of who may register what, instances that the manifest
// declares are for root and system alone, and a name is its owner's while that lives (Registry):
// what an owner registers again replaces what it had.
//
// It calls no client but listeners, and these oneway, so that no client can keep it waiting.
class ServiceManagerObject final : public hal::aidl::AidlObject {
  public:
    ServiceManagerObject(std::weak_ptr<hal::BinderProcess> process, Manifest manifest,
                         const hal::aidl::Release& release, const RegistryLimits& limits = {});

    // As "manager", as Android's does.
    void registerItself();
    // Lets go of all that is registered, itself included.
    void shutDown() { mRegistry->clear(); }

    // As Android's: nothing that it is told needs any.
    hal::ObjectFlags flags() const override {
        return {.takesDescriptors = false, .inheritsRealTime = false, .mostNice = 0};
    }

  protected:
    Status serve(uint32_t code, Call& call) override;
    uint32_t methodOf(uint32_t code) const override;

  private:
    using Interface = hal::aidl::os::IServiceManager;
    using Row = hal::aidl::Handler<ServiceManagerObject>;
    static const Row kHandlers[];

    Status getService(Call& call);
    Status checkService(Call& call);
    Status addService(Call& call);
    Status listServices(Call& call);
    Status registerForNotifications(Call& call);
    Status unregisterForNotifications(Call& call);
    Status isDeclared(Call& call);
    Status getDeclaredInstances(Call& call);
    Status updatableViaApex(Call& call);
    Status getUpdatableNames(Call& call);
    Status getConnectionInfo(Call& call);
    Status registerClientCallback(Call& call);
    Status tryUnregisterService(Call& call);
    Status getServiceDebugInfo(Call& call);

    bool isDeclaredName(const std::string& name) const;
    hal::aidl::MarkedObject found(const std::string& name) const;
    void notify(const std::shared_ptr<hal::RemoteObject>& listener, const Instance& instance) const;

    const std::weak_ptr<hal::BinderProcess> mProcess;
    const Manifest mManifest;
    const std::shared_ptr<Registry> mRegistry;
};

}  // namespace halyard::device
