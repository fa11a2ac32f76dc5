// SPDX-License-Identifier: Apache-2.0

#include "tests/device/attacker/client.h"

#include <algorithm>
#include <array>
#include <utility>

namespace halyard::attacker {

namespace {

using hal::hidl::HidlHandle;
using hal::hidl::HidlString;
using hal::hidl::HidlVec;
using hal::hidl::InterfaceLayout;
using hal::hidl::base::v1_0::IBase;
using wire::IDevice;
using wire::IPreparedModel;
using Manager = hal::hidl::manager::v1_2::IServiceManager;

// The interface that declares a method stands in the head of its calls.
void tokenOf(const InterfaceLayout& interface, RawParcel& parcel, uint32_t code) {
    const auto method = std::ranges::find(interface.methods, code, &hal::hidl::MethodLayout::code);
    parcel.token(method != interface.methods.end() ? method->token : interface.descriptor);
}

// The status that a reply begins with, behind the exception.
Result<ErrorStatus> statusOf(const Result<Received>& reply) {
    if (!reply.ok()) {
        return reply.status();
    }
    return static_cast<ErrorStatus>(reply->int32At(4));
}

wire::OptionalTimePoint timePoint(const Times& times) {
    wire::OptionalTimePoint point;
    if (times.deadline.has_value()) {
        point.member = wire::OptionalTimePoint::Member::nanosecondsSinceEpoch;
        point.nanosecondsSinceEpoch = *times.deadline;
    }
    return point;
}

wire::OptionalTimeoutDuration loopTimeout(const Times& times) {
    wire::OptionalTimeoutDuration duration;
    if (times.loopTimeout.has_value()) {
        duration.member = wire::OptionalTimeoutDuration::Member::nanoseconds;
        duration.nanoseconds = *times.loopTimeout;
    }
    return duration;
}

}  // namespace

void deviceToken(RawParcel& parcel, uint32_t method) {
    tokenOf(IDevice::layout(), parcel, method);
}

void modelToken(RawParcel& parcel, uint32_t method) {
    tokenOf(IPreparedModel::layout(), parcel, method);
}

void executeArguments(RawParcel& parcel, uint32_t method, const wire::Request& request,
                      const Times& times) {
    modelToken(parcel, method);
    parcel.value(request);
    parcel.int32(0);  // no timing
    parcel.value(timePoint(times));
    parcel.value(loopTimeout(times));
}

void prepareArguments(RawParcel& parcel, Priority priority, int cacheFile) {
    parcel.int32(1);  // FAST_SINGLE_ANSWER
    parcel.int32(static_cast<int32_t>(priority));
    parcel.value(wire::OptionalTimePoint());
    // version, descriptors, numbers
    const std::array<int32_t, 4> body = {12, 1, 0, cacheFile};
    const std::span<uint8_t> kept = parcel.keep(body.data(), sizeof body);
    HidlHandle handle;
    handle.address = reinterpret_cast<uintptr_t>(kept.data());
    const std::span<uint8_t> keptHandle = parcel.keep(&handle, sizeof handle);
    HidlVec<HidlHandle> files;
    if (cacheFile >= 0) {
        files.address = reinterpret_cast<uintptr_t>(keptHandle.data());
        files.count = 1;
    }
    parcel.value(files);
    parcel.value(files);
    parcel.value(std::array<uint8_t, 32>());
}

Result<std::unique_ptr<Client>> Client::connect(const std::string& instance,
                                                milliseconds patience) {
    HALYARD_ASSIGN_OR_RETURN(std::unique_ptr<Link> link, Link::open());
    RawParcel parcel;
    tokenOf(Manager::layout(), parcel, Manager::get);
    parcel.string(IDevice::layout().descriptor);
    parcel.string(instance);
    uint32_t device = 0;
    {
        HALYARD_ASSIGN_OR_RETURN(const Received reply,
                                 link->call(kManager, Manager::get, parcel, patience));
        const std::vector<uint32_t> handles = reply.handles();
        if (handles.empty()) {
            return Status(StatusCode::UNAVAILABLE, "no service " + instance);
        }
        device = handles[0];
        link->acquire(device);
    }
    return std::unique_ptr<Client>(new Client(std::move(link), device));
}

Status Client::getStatus(milliseconds patience) {
    RawParcel parcel;
    deviceToken(parcel, IDevice::getStatus);
    return mLink->call(mDevice, IDevice::getStatus, parcel, patience).status();
}

Status Client::debug(int descriptor, milliseconds patience) {
    RawParcel parcel;
    deviceToken(parcel, IBase::debug);
    parcel.handle({&descriptor, 1});
    parcel.value(HidlVec<HidlString>());
    return mLink->call(mDevice, IBase::debug, parcel, patience).status();
}

Result<ErrorStatus> Client::supportedOperations(const wire::Model& model, milliseconds patience) {
    RawParcel parcel;
    deviceToken(parcel, IDevice::getSupportedOperations_1_3);
    parcel.value(model);
    return statusOf(mLink->call(mDevice, IDevice::getSupportedOperations_1_3, parcel, patience));
}

uint64_t Client::callback(std::shared_ptr<Notified> told) {
    return mLink->addObject(
            [this, told = std::move(told)](const Received& call, RawParcel& /*reply*/) {
                // The token, and the status behind it.
                size_t status = 0;
                while (status < call.bytes().size() && call.bytes()[status] != 0) {
                    ++status;
                }
                told->status = static_cast<ErrorStatus>(call.int32At((status / 4 + 1) * 4));
                const std::vector<uint32_t> handles = call.handles();
                if (!handles.empty()) {
                    told->handle = handles[0];
                    mLink->acquire(told->handle);
                }
                told->called = true;
                return false;
            });
}

Result<ErrorStatus> Client::launchPrepare(const wire::Model& model, std::shared_ptr<Notified> told,
                                          milliseconds patience, Priority priority) {
    RawParcel parcel;
    deviceToken(parcel, IDevice::prepareModel_1_3);
    parcel.value(model);
    prepareArguments(parcel, priority);
    parcel.ownObject(callback(std::move(told)));
    return statusOf(mLink->call(mDevice, IDevice::prepareModel_1_3, parcel, patience));
}

Result<uint32_t> Client::prepare(const wire::Model& model, milliseconds patience,
                                 Priority priority) {
    const auto told = std::make_shared<Notified>();
    const Clock::time_point start = Clock::now();
    HALYARD_ASSIGN_OR_RETURN(const ErrorStatus launched,
                             launchPrepare(model, told, patience, priority));
    const auto left = patience - std::chrono::duration_cast<milliseconds>(Clock::now() - start);
    if (!mLink->serveUntil([&] { return told->called; }, left)) {
        return Status(StatusCode::DEADLINE_EXCEEDED,
                      "the callback is not called; the answer was " +
                              std::to_string(static_cast<int32_t>(launched)));
    }
    if (told->status != ErrorStatus::NONE || told->handle == 0) {
        return invalidArgument("prepareModel: status " +
                               std::to_string(static_cast<int32_t>(told->status)));
    }
    return told->handle;
}

Result<ErrorStatus> Client::launch(uint32_t model, const wire::Request& request,
                                   std::shared_ptr<Notified> told, const Times& times,
                                   milliseconds patience) {
    RawParcel parcel;
    executeArguments(parcel, IPreparedModel::execute_1_3, request, times);
    parcel.ownObject(callback(std::move(told)));
    return statusOf(mLink->call(model, IPreparedModel::execute_1_3, parcel, patience));
}

Result<ErrorStatus> Client::execute(uint32_t model, const wire::Request& request,
                                    const Times& times, milliseconds patience) {
    const auto told = std::make_shared<Notified>();
    const Clock::time_point start = Clock::now();
    HALYARD_ASSIGN_OR_RETURN(const ErrorStatus launched,
                             launch(model, request, told, times, patience));
    const auto left = patience - std::chrono::duration_cast<milliseconds>(Clock::now() - start);
    if (!mLink->serveUntil([&] { return told->called; }, left)) {
        return Status(StatusCode::DEADLINE_EXCEEDED,
                      "the callback is not called; the answer was " +
                              std::to_string(static_cast<int32_t>(launched)));
    }
    return told->status;
}

Result<ErrorStatus> Client::executeSynchronously(uint32_t model, const wire::Request& request,
                                                 const Times& times, milliseconds patience) {
    RawParcel parcel;
    executeArguments(parcel, IPreparedModel::executeSynchronously_1_3, request, times);
    return statusOf(mLink->call(model, IPreparedModel::executeSynchronously_1_3, parcel, patience));
}

Status Client::leaveSynchronousExecution(uint32_t model, const wire::Request& request,
                                         const Times& times) {
    RawParcel parcel;
    executeArguments(parcel, IPreparedModel::executeSynchronously_1_3, request, times);
    return mLink->callAndLeave(model, IPreparedModel::executeSynchronously_1_3, parcel);
}

}  // namespace halyard::attacker
