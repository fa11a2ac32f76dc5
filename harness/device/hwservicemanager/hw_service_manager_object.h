// SPDX-License-Identifier: Apache-2.0
//
// android.hidl.manager@1.2::IServiceManager over a Registry.

#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hal/binder/process.h"
#include "hal/hidl/hidl_object.h"
#include "harness/device/hwservicemanager/question_places.h"
#include "harness/device/managers/manifest.h"
#include "harness/device/managers/registry.h"

namespace halyard::device {

// Differences from Android's: clients are not counted, so that client callbacks are refused and
// tryUnregister does not ask whether the service is in use. In place of SELinux's check of who may
// register what, instances that the manifest declares are for root and system alone, and a name is
// its owner's while that lives (Registry).
//
// add() without a chain has to ask the service, which may never answer: at most `questions` such
// calls wait at a time, one for each calling process and half of them for each user, and more are
// refused at once. With more threads than that to serve it, everything else is answered.
class HwServiceManagerObject final : public hal::hidl::HidlObject {
  public:
    HwServiceManagerObject(std::weak_ptr<hal::BinderProcess> process, Manifest manifest,
                           size_t questions, const RegistryLimits& limits = {});

    // Registers the manager itself, as Android's does, so that it can be looked up by name.
    void registerItself();
    // Lets go of all that is registered, itself included.
    void shutDown() { mRegistry->clear(); }

    // As Android's: nothing that it is told needs any, IBase::debug least of all.
    hal::ObjectFlags flags() const override {
        return {.takesDescriptors = false, .inheritsRealTime = true, .mostNice = 0};
    }

  protected:
    Status serve(uint32_t code, Call& call) override;

  private:
    using Row = hal::hidl::Handler<HwServiceManagerObject>;
    static const Row kHandlers[];

    Status get(Call& call);
    Status add(Call& call);
    Status addWithChain(Call& call);
    Status getTransport(Call& call);
    Status list(Call& call);
    Status listByInterface(Call& call);
    Status listManifestByInterface(Call& call);
    Status registerForNotifications(Call& call);
    Status unregisterForNotifications(Call& call);
    Status debugDump(Call& call);
    Status registerPassthroughClient(Call& call);
    Status registerClientCallback(Call& call);
    Status unregisterClientCallback(Call& call);
    Status tryUnregister(Call& call);

    Status registerService(const std::string& name, const hal::ObjectRef& service,
                           std::span<const std::string> chain, const Owner& owner);
    // Asks a service for its chain, leaf first.
    Result<std::vector<std::string>> interfaceChain(const hal::ObjectRef& service,
                                                    const Owner& caller);
    static void notify(hal::BinderProcess& process,
                       const std::shared_ptr<hal::RemoteObject>& listener, const Instance& instance,
                       bool preexisting);

    const std::weak_ptr<hal::BinderProcess> mProcess;
    const Manifest mManifest;
    const std::shared_ptr<Registry> mRegistry;
    QuestionPlaces mQuestions;
};

}  // namespace halyard::device
