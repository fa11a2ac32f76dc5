// SPDX-License-Identifier: Apache-2.0
//
// servicemanager under the calls of hostile clients, who register, look up, listen and die.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "hal/aidl/aidl_object.h"
#include "hal/aidl/types.h"
#include "harness/device/servicemanager/service_manager_object.h"
#include "tests/fuzz/choices.h"
#include "tests/fuzz/finding.h"
#include "tests/fuzz/parcels.h"
#include "tests/fuzz/target.h"
#include "tests/hal/loopback.h"

namespace halyard::fuzz {
namespace {

using hal::aidl::AidlObject;
using hal::aidl::AidlReader;
using hal::aidl::AidlWriter;
using hal::aidl::Exception;
using hal::aidl::MarkedObject;
using hal::aidl::Release;
using hal::aidl::os::IServiceCallback;
using hal::aidl::os::IServiceManager;

constexpr size_t kMostCalls = 16;
constexpr size_t kMethods = 14;
constexpr std::string_view kManifest = R"(<manifest version="1.0" type="device">
<hal format="aidl"><name>android.hardware.neuralnetworks</name><version>4</version>
<fqname>IDevice/default</fqname></hal></manifest>)";

constexpr std::array<std::string_view, 8> kTexts = {
        "a",       "b", "android.hardware.neuralnetworks.IDevice",
        "manager", "",  "android.hardware.neuralnetworks.IDevice/default",
        "a b",     "/"};
constexpr std::array<uint32_t, 5> kWords = {63, 12, 3, 0, 0x3f000001};
constexpr std::array<uint32_t, 3> kUsers = {0, 2000, 10001};

// Keeps nothing of what it is told: in one process with the manager, that would keep itself.
class MuteListener final : public AidlObject {
  public:
    MuteListener() : AidlObject(IServiceCallback::info(), Release()) {}

  protected:
    Status serve(uint32_t /*code*/, Call& call) override {
        const auto told = call.read<IServiceCallback::OnRegistration>();
        require(told.ok(), "a listener is told as its interface says", told.status().message());
        return {};
    }
};

using Objects = std::vector<std::shared_ptr<hal::LocalObject>>;

struct Filler {
    Choices& choices;
    const Objects& objects;

    void fill(std::string& value) {
        value = choices.oneIn(16) ? std::string(choices.below(400), 'x')
                                  : std::string(choices.of(kTexts));
    }
    void fill(int32_t& value) { value = choices.oneIn(4) ? choices.number<int32_t>() : 8; }
    void fill(bool& value) { value = choices.oneIn(2); }
    void fill(hal::ObjectRef& value) {
        if (!choices.oneIn(8)) {
            value = choices.of(objects);
        }
    }
    void fill(MarkedObject& value) {
        fill(value.object);
        value.stability = choices.of(kWords);
    }
};

template <typename Method>
void makeCall(Choices& choices, hal::testing::LoopbackProcess& process,
              const std::shared_ptr<hal::LocalObject>& manager, const Objects& objects) {
    typename Method::Arguments arguments;
    Filler filler{.choices = choices, .objects = objects};
    static_cast<void>(Method::Arguments::forEachField(
            arguments, [&filler](std::string_view /*name*/, auto& field) {
                filler.fill(field);
                return Status();
            }));
    hal::ParcelWriter parcel;
    AidlWriter writer(parcel, Release());
    writer.writeRequestHead(IServiceManager::info().descriptor);
    writeFields(writer, arguments);
    hal::testing::SentParcel sent = hal::testing::capture(parcel);
    damage(choices, sent);
    const uint32_t code = choices.oneIn(32) ? choices.number<uint32_t>() : Method::kCode;
    // A failure is the kernel's: the parcel never reaches anyone.
    const auto answer = process.call(manager, code, choices.oneIn(16), sent);
    if (!answer.ok() || answer->reply == nullptr || code != Method::kCode) {
        return;
    }
    const std::string claim = std::string(Method::kName) + " answers as its interface says";
    AidlReader reader(answer->reply->reader());
    const Result<std::optional<Exception>> exception = reader.readReplyHead();
    require(exception.ok(), claim, exception.status().message());
    if (exception->has_value()) {
        return;
    }
    typename Method::Results results;
    const Status read = readFields(reader, results);
    require(read.ok(), claim, read.message());
    require(answer->reply->reader().remaining() == 0, claim, "there is more behind the results");
}

}  // namespace

void run(std::span<const uint8_t> bytes) {
    Choices choices(bytes);
    const auto process = std::make_shared<hal::testing::LoopbackProcess>();
    device::Manifest manifest;
    manifest.addFragment(kManifest);
    const auto manager =
            std::make_shared<device::ServiceManagerObject>(process, manifest, Release());
    manager->registerItself();
    const Objects objects = {std::make_shared<MuteListener>(), std::make_shared<MuteListener>(),
                             std::make_shared<MuteListener>()};
    for (size_t i = 0; i < kMostCalls && !choices.empty(); ++i) {
        if (choices.oneIn(8)) {
            process->kill(choices.of(objects));
            continue;
        }
        process->caller.euid = choices.of(kUsers);
        const size_t chosen = choices.below(kMethods);
        size_t at = 0;
        hal::aidl::forEachMethod([&](auto method) {
            using Method = decltype(method);
            if constexpr (std::is_same_v<typename Method::Interface, IServiceManager>) {
                if (at++ == chosen) {
                    makeCall<Method>(choices, *process, manager, objects);
                }
            }
        });
    }
    manager->shutDown();
    process->stop();
}

}  // namespace halyard::fuzz
