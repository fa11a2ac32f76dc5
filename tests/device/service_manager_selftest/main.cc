// SPDX-License-Identifier: Apache-2.0
//
// servicemanager as a service and its clients find it, over a real binder driver.
//
// Usage: service_manager_selftest DECLARED-INSTANCE. Prints "ok <claim>" or "FAILED <claim>" per
// claim; exit 0 if all hold. Of IDevice's instances that one must be declared, and free.

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "hal/aidl/aidl_object.h"
#include "hal/aidl/service_manager.h"
#include "hal/aidl/types.h"
#include "hal/binder/process.h"
#include "tests/device/binder_selftest/claims.h"

namespace halyard::hal::selftest {

namespace {

using aidl::AidlObject;
using aidl::Release;
using aidl::ServiceManager;
using aidl::nn::IDevice;
using aidl::os::IServiceCallback;

constexpr const char* kDevice = "/dev/binder";
constexpr unsigned kTimeLimitSeconds = 120;
constexpr int32_t kVersion = 4;

class SomeDevice final : public AidlObject {
  public:
    explicit SomeDevice(const Release& release) : AidlObject(IDevice::info(), release, kVersion) {}

  protected:
    Status serve(uint32_t /*code*/, Call& /*call*/) override { return unsupported("nothing"); }
};

class Listener final : public AidlObject {
  public:
    explicit Listener(const Release& release) : AidlObject(IServiceCallback::info(), release) {}
    std::atomic<int> told = 0;

  protected:
    Status serve(uint32_t /*code*/, Call& call) override {
        HALYARD_RETURN_IF_ERROR(call.read<IServiceCallback::OnRegistration>().status());
        ++told;
        return {};
    }
};

// A process that registers a device under the name and serves until it is killed.
pid_t startService(const std::string& name) {
    const pid_t child = fork();
    if (child != 0) {
        return child;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const Release release = Release::ofThisDevice();
    const Result<std::shared_ptr<BinderProcess>> process = BinderProcess::open(kDevice);
    const auto device = std::make_shared<SomeDevice>(release);
    if (!process.ok() || !(*process)->startThreads(1, 0).ok() ||
        !ServiceManager(*process, release).add(name, device).ok()) {
        _exit(1);
    }
    for (;;) {
        pause();
    }
}

void end(pid_t process) {
    kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
}

int run(const std::string& instance) {
    alarm(kTimeLimitSeconds);
    const std::string interface(IDevice::info().descriptor);
    const std::string name = interface + "/" + instance;
    // Before this process has threads.
    const pid_t first = startService(name);
    const pid_t later = fork();
    if (later == 0) {
        // Takes the place of the first one, once that is dead.
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (kill(first, 0) == 0) {
            usleep(10'000);
        }
        waitpid(startService(name), nullptr, 0);
        _exit(0);
    }

    const Release release = Release::ofThisDevice();
    const Result<std::shared_ptr<BinderProcess>> process = BinderProcess::open(kDevice);
    if (!claim(process.ok() && (*process)->startThreads(1, 0).ok(), "the device opens")) {
        return 1;
    }
    ServiceManager manager(*process, release);
    claim(manager.waitUntilReady(kPatience).ok(), "servicemanager answers");
    const auto isThere = [&] {
        const Result<ObjectRef> found = manager.get(name);
        return found.ok() && !isNull(*found);
    };
    claim(eventually(isThere), "a service is found by its name");
    const Result<ObjectRef> found = manager.get(name);
    claim(found.ok() &&
                  aidl::RemoteInterface::cast(*process, *found, IDevice::info(), release).ok(),
          "it is the service that answers there");
    const Result<std::vector<std::string>> names = manager.list();
    claim(names.ok() && std::ranges::count(*names, name) == 1, "it is listed once");
    claim(names.ok() && std::ranges::count(*names, "manager") == 1,
          "and so is servicemanager itself");

    const auto isDeclared = [&](const std::string& asked) {
        const Result<bool> declared = manager.isDeclared(asked);
        return declared.ok() && *declared;
    };
    claim(isDeclared(name), "what the manifest declares is declared");
    claim(!isDeclared(interface + "/nobody") && !isDeclared("manager"), "and nothing else");
    const Result<std::vector<std::string>> instances = manager.declaredInstances(interface);
    claim(instances.ok() && std::ranges::count(*instances, instance) == 1,
          "the declared instances are told");
    const auto own = std::make_shared<SomeDevice>(release);
    const Status undeclared = manager.add(interface + "/nobody", own);
    claim(!undeclared.ok() &&
                  undeclared.message().find("VINTF declaration error.") != std::string_view::npos,
          "a name that is not declared is refused");
    claim(!manager.add(name, own).ok() && isThere(), "a name stays with who has it");

    const auto listener = std::make_shared<Listener>(release);
    claim(manager.listen(name, listener).ok() && eventually([&] { return listener->told == 1; }),
          "a listener hears of what is there");
    std::atomic<bool> died = false;
    if (const auto* remote = std::get_if<std::shared_ptr<RemoteObject>>(&*found)) {
        claim((*remote)->linkToDeath([&died] { died = true; }).ok(), "its death can be linked to");
    }
    end(first);
    claim(eventually([&] { return died.load(); }), "its death is heard of");
    claim(eventually([&] { return listener->told == 2; }),
          "a listener hears of the one that comes after it");
    claim(isThere(), "which has the name then");
    // The child of it dies with it, and none takes its place.
    end(later);
    claim(eventually([&] { return !isThere(); }), "a name goes with the last who has it");
    (*process)->stop();
    return allHold() ? 0 : 1;
}

}  // namespace

}  // namespace halyard::hal::selftest

int main(int argc, char** argv) {
    return argc == 2 ? halyard::hal::selftest::run(argv[1]) : 2;
}
