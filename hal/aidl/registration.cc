// SPDX-License-Identifier: Apache-2.0

#include "hal/aidl/registration.h"

#include <utility>

#include "hal/aidl/aidl_object.h"
#include "hal/aidl/service_manager.h"
#include "hal/aidl/types.h"

namespace halyard::hal::aidl {
namespace {

// Hears of what is registered under the name. Who it is does not matter: that is looked up.
class Listener final : public AidlObject {
  public:
    Listener(const Release& release, std::function<void()> onRegistration)
        : AidlObject(os::IServiceCallback::info(), release),
          mOnRegistration(std::move(onRegistration)) {}
    ObjectFlags flags() const override {
        return {.takesDescriptors = false, .inheritsRealTime = false, .mostNice = 19};
    }

  protected:
    Status serve(uint32_t /*code*/, Call& call) override {
        HALYARD_RETURN_IF_ERROR(call.read<os::IServiceCallback::OnRegistration>().status());
        mOnRegistration();
        return {};
    }

  private:
    const std::function<void()> mOnRegistration;
};

class AidlServiceName final : public ServiceName {
  public:
    AidlServiceName(const std::shared_ptr<BinderProcess>& process, std::string name,
                    std::shared_ptr<LocalObject> service, const Release& release)
        : mManager(process, release),
          mName(std::move(name)),
          mService(std::move(service)),
          mRelease(release) {}

    std::string manager() const override { return "servicemanager"; }
    std::string name() const override { return mName; }
    Status waitUntilReady(std::chrono::milliseconds timeout) override {
        return mManager.waitUntilReady(timeout);
    }
    Status add() override { return mManager.add(mName, mService); }
    Result<ObjectRef> known() override { return mManager.get(mName); }
    Status listen(std::function<void()> onRegistration) override {
        mListener = std::make_shared<Listener>(mRelease, std::move(onRegistration));
        return mManager.listen(mName, mListener);
    }

  private:
    ServiceManager mManager;
    const std::string mName;
    const std::shared_ptr<LocalObject> mService;
    const Release mRelease;
    std::shared_ptr<LocalObject> mListener;
};

}  // namespace

std::unique_ptr<ServiceName> serviceName(const std::shared_ptr<BinderProcess>& process,
                                         std::string name, std::shared_ptr<LocalObject> service,
                                         const Release& release) {
    return std::make_unique<AidlServiceName>(process, std::move(name), std::move(service), release);
}

}  // namespace halyard::hal::aidl
