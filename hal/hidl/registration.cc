// SPDX-License-Identifier: Apache-2.0

#include "hal/hidl/registration.h"

#include <string>
#include <utility>
#include <vector>

#include "hal/hidl/hidl_object.h"
#include "hal/hidl/service_manager.h"
#include "hal/hidl/types.h"

namespace halyard::hal::hidl {
namespace {

// Hears of what is registered under the name. Who it is does not matter: that is looked up.
class Listener final : public HidlObject {
  public:
    explicit Listener(std::function<void()> onRegistration)
        : HidlObject(manager::v1_0::IServiceNotification::layout()),
          mOnRegistration(std::move(onRegistration)) {}
    ObjectFlags flags() const override {
        return {.takesDescriptors = false, .inheritsRealTime = true, .mostNice = 0};
    }

  protected:
    Status serve(uint32_t code, Call& call) override {
        if (code != manager::v1_0::IServiceNotification::onRegistration) {
            return unsupported("no handler");
        }
        HALYARD_RETURN_IF_ERROR(readValue<HidlString>(call.arguments).status());
        HALYARD_RETURN_IF_ERROR(readValue<HidlString>(call.arguments).status());
        HALYARD_RETURN_IF_ERROR(call.arguments.readBool().status());
        mOnRegistration();
        return call.endArguments().status();
    }

  private:
    const std::function<void()> mOnRegistration;
};

class HidlServiceName final : public ServiceName {
  public:
    HidlServiceName(const std::shared_ptr<BinderProcess>& process, std::string_view instance,
                    std::shared_ptr<LocalObject> service, std::span<const std::string_view> chain)
        : mManager(process),
          mInstance(instance),
          mService(std::move(service)),
          mChain(chain.begin(), chain.end()) {}

    std::string manager() const override { return "hwservicemanager"; }
    std::string name() const override { return mChain.front() + "/" + mInstance; }
    Status waitUntilReady(std::chrono::milliseconds timeout) override {
        return mManager.waitUntilReady(timeout);
    }
    Status add() override {
        const std::vector<std::string_view> chain(mChain.begin(), mChain.end());
        return mManager.add(mInstance, mService, chain);
    }
    Result<ObjectRef> known() override { return mManager.get(mChain.front(), mInstance); }
    Status listen(std::function<void()> onRegistration) override {
        mListener = std::make_shared<Listener>(std::move(onRegistration));
        return mManager.listen(mChain.front(), mInstance, mListener);
    }

  private:
    HwServiceManager mManager;
    const std::string mInstance;
    const std::shared_ptr<LocalObject> mService;
    const std::vector<std::string> mChain;
    std::shared_ptr<LocalObject> mListener;
};

}  // namespace

std::unique_ptr<ServiceName> serviceName(const std::shared_ptr<BinderProcess>& process,
                                         std::string_view instance,
                                         std::shared_ptr<LocalObject> service,
                                         std::span<const std::string_view> chain) {
    return std::make_unique<HidlServiceName>(process, instance, std::move(service), chain);
}

}  // namespace halyard::hal::hidl
