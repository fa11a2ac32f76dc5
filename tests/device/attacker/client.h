// SPDX-License-Identifier: Apache-2.0
//
// Client: the calls of the NN HAL 1.3 on top of a Link, each to its end or one part at a time.

#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/status.h"
#include "tests/device/attacker/link.h"
#include "tests/device/attacker/model.h"

namespace halyard::attacker {

using driver::ErrorStatus;
using std::chrono::milliseconds;

inline constexpr milliseconds kPatience{30000};

// hwservicemanager's handle, and the interfaces of it that declare what is called here.
inline constexpr uint32_t kManager = 0;
inline constexpr std::string_view kManager10 = "android.hidl.manager@1.0::IServiceManager";
inline constexpr std::string_view kManager12 = "android.hidl.manager@1.2::IServiceManager";

// A callback's notification.
struct Notified {
    bool called = false;
    ErrorStatus status = {};
    uint32_t handle = 0;  // of the prepared model, acquired; 0: none
};

enum class Priority : int32_t { LOW, MEDIUM, HIGH };

struct Times {
    std::optional<uint64_t> deadline;     // nanoseconds of the steady clock
    std::optional<uint64_t> loopTimeout;  // nanoseconds
};

// One thread at a time, except where the Link's own rules say more.
class Client {
  public:
    // Looks the service up at hwservicemanager.
    static Result<std::unique_ptr<Client>> connect(const std::string& instance,
                                                   milliseconds patience = kPatience);

    Link& link() { return *mLink; }
    uint32_t device() const { return mDevice; }

    Status getStatus(milliseconds patience = kPatience);
    // To the device, with this descriptor to write to.
    Status debug(int descriptor, milliseconds patience = kPatience);
    Result<ErrorStatus> supportedOperations(const wire::Model& model,
                                            milliseconds patience = kPatience);

    // The call without its callback: the service's answer. `told` hears the callback when this
    // process serves.
    Result<ErrorStatus> launchPrepare(const wire::Model& model, std::shared_ptr<Notified> told,
                                      milliseconds patience = kPatience,
                                      Priority priority = Priority::MEDIUM);
    // With the callback: the prepared model's handle.
    Result<uint32_t> prepare(const wire::Model& model, milliseconds patience = kPatience,
                             Priority priority = Priority::MEDIUM);

    Result<ErrorStatus> launch(uint32_t model, const wire::Request& request,
                               std::shared_ptr<Notified> told, const Times& times = {},
                               milliseconds patience = kPatience);
    Result<ErrorStatus> execute(uint32_t model, const wire::Request& request,
                                const Times& times = {}, milliseconds patience = kPatience);
    Result<ErrorStatus> executeSynchronously(uint32_t model, const wire::Request& request,
                                             const Times& times = {},
                                             milliseconds patience = kPatience);
    // Sends the call and leaves its reply unread: this thread can call no more.
    Status leaveSynchronousExecution(uint32_t model, const wire::Request& request,
                                     const Times& times);

    // The object that hears of a prepared model or an execution.
    uint64_t callback(std::shared_ptr<Notified> told);

  private:
    Client(std::unique_ptr<Link> link, uint32_t device) : mLink(std::move(link)), mDevice(device) {}

    std::unique_ptr<Link> mLink;
    uint32_t mDevice;
};

// The head of a call of IDevice or IPreparedModel: the token of the interface that declares it.
void deviceToken(RawParcel& parcel, uint32_t method);
void modelToken(RawParcel& parcel, uint32_t method);
// The arguments of executeSynchronously_1_3, and of execute_1_3 without its callback.
void executeArguments(RawParcel& parcel, uint32_t method, const wire::Request& request,
                      const Times& times);
// Those of prepareModel_1_3 behind the model and without the callback. `cacheFile`: to keep the
// model in, as both of the files that the service wants; -1: none.
void prepareArguments(RawParcel& parcel, Priority priority = Priority::MEDIUM, int cacheFile = -1);

}  // namespace halyard::attacker
