// SPDX-License-Identifier: Apache-2.0

#include "hal/hidl/prepared_model_object.h"

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "driver/model/error_status.h"
#include "hal/hidl/burst_object.h"
#include "hal/hidl/callbacks.h"
#include "hal/hidl/message_queue.h"
#include "hal/hidl/types.h"
#include "hal/hidl/v1_2.h"
#include "hal/hidl/v1_3.h"
#include "hal/hidl/version_delta.h"
#include "hal/service/fences.h"

namespace halyard::hal::hidl {

using driver::ErrorStatus;
using driver::HalVersion;
using nn::v1_2::MeasureTiming;
using nn::v1_3::IFencedExecutionCallback;
using nn::v1_3::IPreparedModel;
using nn::v1_3::OptionalTimeoutDuration;
using nn::v1_3::OptionalTimePoint;

namespace {

const char kPreparedModel = 0;  // its address tells one

// The descriptors of the fences' handles.
Result<std::vector<int>> descriptorsOf(std::span<const HidlHandle> handles) {
    std::vector<int> descriptors;
    for (size_t i = 0; i < handles.size(); ++i) {
        const ReceivedHandle handle = nativeHandle(handles[i]);
        if (!handle.valid || handle.handle.fds.size() != 1) {
            return invalidArgument("fence " + std::to_string(i) +
                                   " has no handle of one descriptor");
        }
        descriptors.push_back(handle.handle.fds.front());
    }
    return descriptors;
}

Result<driver::Fences> fencesOf(std::span<const HidlHandle> handles, const Caller& caller) {
    HALYARD_ASSIGN_OR_RETURN(const std::vector<int> descriptors, descriptorsOf(handles));
    return duplicateFences(descriptors, caller);
}

template <typename Datum>
Result<MessageQueue> openQueue(const HidlFmq<Datum>& wire, const driver::Account* account) {
    HidlHandle handle;
    handle.address = wire.handleAddress;
    const ReceivedHandle received = nativeHandle(handle);
    return MessageQueue::open({.grantors = wire.grantors.view(),
                               .handle = received.handle,
                               .quantum = wire.quantum,
                               .flags = wire.flags},
                              sizeof(Datum), account);
}

// Bytes that the object of a fenced execution takes, with the kernel's reference to it.
constexpr size_t kFencedOverhead = 1024;

// IFencedExecutionCallback of an execution that is over.
class FencedExecutionObject : public HidlObject {
  public:
    FencedExecutionObject(const driver::ExecutionResult& result, Reservation held)
        : HidlObject(IFencedExecutionCallback::layout()),
          mHeld(std::move(held)),
          mLaunched(result.timing),
          mFenced(result.timingFenced) {}

  protected:
    Status serve(uint32_t /*code*/, Call& call) override {
        HALYARD_ASSIGN_OR_RETURN(auto* reply, call.endArguments());
        writeEnum(*reply, ErrorStatus::NONE);
        writeValue(*reply, nn::v1_2::encode(mLaunched));
        writeValue(*reply, nn::v1_2::encode(mFenced));
        return {};
    }

  private:
    const Reservation mHeld;
    const driver::Timing mLaunched;
    const driver::Timing mFenced;
};

}  // namespace

struct PreparedModelObject::Arguments {
    driver::Request request;
    driver::ExecuteOptions options;
};

PreparedModelObject::PreparedModelObject(std::weak_ptr<BinderProcess> process,
                                         std::shared_ptr<const driver::PreparedModel> model)
    : HidlObject(IPreparedModel::layout()),
      mProcess(std::move(process)),
      mModel(std::move(model)) {}

std::shared_ptr<const driver::PreparedModel> PreparedModelObject::modelOf(const ObjectRef& object) {
    const auto* const local = std::get_if<std::shared_ptr<LocalObject>>(&object);
    auto* const model = local == nullptr
                                ? nullptr
                                : static_cast<PreparedModelObject*>((*local)->as(&kPreparedModel));
    return model == nullptr ? nullptr : model->mModel;
}

void* PreparedModelObject::as(const void* kind) {
    return kind == &kPreparedModel ? this : nullptr;
}

Status PreparedModelObject::serve(uint32_t code, Call& call) {
    using Self = PreparedModelObject;
    static constexpr Handler<Self> kHandlers[] = {
            {IPreparedModel::execute, &Self::execute, HalVersion::V1_0},
            {IPreparedModel::execute_1_2, &Self::execute, HalVersion::V1_2},
            {IPreparedModel::execute_1_3, &Self::execute, HalVersion::V1_3},
            {IPreparedModel::executeSynchronously, &Self::executeSynchronously, HalVersion::V1_2},
            {IPreparedModel::executeSynchronously_1_3, &Self::executeSynchronously,
             HalVersion::V1_3},
            {IPreparedModel::configureExecutionBurst, &Self::configureExecutionBurst,
             HalVersion::V1_2},
            {IPreparedModel::executeFenced, &Self::executeFenced, HalVersion::V1_3},
    };
    return dispatch(*this, kHandlers, code, call);
}

std::string PreparedModelObject::debugText(std::span<const std::string> /*options*/) const {
    return mModel->report();
}

Result<std::shared_ptr<driver::Client>> PreparedModelObject::debuggedBy(
        const Caller& /*caller*/) const {
    return mModel->client();
}

// The arguments that say how to execute, as far as the version has them.
Result<driver::ExecuteOptions> PreparedModelObject::readOptions(Call& call) const {
    driver::ExecuteOptions options;
    if (call.version >= HalVersion::V1_2) {
        HALYARD_ASSIGN_OR_RETURN(auto measure, readEnum<MeasureTiming>(call.arguments));
        options.measureTiming = measure == MeasureTiming::YES;
    }
    if (call.version >= HalVersion::V1_3) {
        HALYARD_ASSIGN_OR_RETURN(const auto* deadline,
                                 readValue<OptionalTimePoint>(call.arguments));
        options.deadline = decode(*deadline);
        HALYARD_ASSIGN_OR_RETURN(const auto* loopTimeout,
                                 readValue<OptionalTimeoutDuration>(call.arguments));
        options.loopTimeout = decode(*loopTimeout).value_or(driver::kDefaultLoopTimeout);
    }
    return options;
}

// The arguments that all execute methods but the fenced one begin with.
Result<PreparedModelObject::Arguments> PreparedModelObject::readArguments(Call& call) const {
    Arguments arguments;
    HALYARD_ASSIGN_OR_RETURN(arguments.request,
                             versionDelta(call.version).readRequest(call.arguments));
    HALYARD_ASSIGN_OR_RETURN(arguments.options, readOptions(call));
    return arguments;
}

Status PreparedModelObject::execute(Call& call) {
    HALYARD_ASSIGN_OR_RETURN(Arguments arguments, readArguments(call));
    HALYARD_ASSIGN_OR_RETURN(ObjectRef object, call.arguments.readObject());
    HALYARD_ASSIGN_OR_RETURN(auto* reply, call.endArguments());
    std::shared_ptr<RemoteObject> callback = asCallback(object);
    if (callback == nullptr) {
        writeEnum(*reply,
                  reportStatus(invalidArgument("the callback is null"), call.version, "execute"));
        return {};
    }
    // A failure has been reported by the callback.
    Status launched =
            mModel->executeAsync(std::move(arguments.request), call.version, arguments.options,
                                 executionCallback(mProcess, std::move(callback), call.version));
    writeEnum(*reply, driver::toErrorStatus(launched, call.version));
    return {};
}

Status PreparedModelObject::executeSynchronously(Call& call) {
    HALYARD_ASSIGN_OR_RETURN(Arguments arguments, readArguments(call));
    HALYARD_ASSIGN_OR_RETURN(auto* reply, call.endArguments());
    driver::ExecutionResult result =
            mModel->execute(arguments.request, call.version, arguments.options);
    writeEnum(*reply, reportStatus(result.status, call.version, "executeSynchronously"));
    nn::v1_2::writeShapesAndTiming(*reply, result.outputShapes, result.timing);
    return {};
}

Status PreparedModelObject::configureExecutionBurst(Call& call) {
    HALYARD_ASSIGN_OR_RETURN(const ObjectRef object, call.arguments.readObject());
    HALYARD_ASSIGN_OR_RETURN(const auto* requests,
                             readValue<HidlFmq<nn::v1_2::FmqRequestDatum>>(call.arguments));
    HALYARD_ASSIGN_OR_RETURN(const auto* results,
                             readValue<HidlFmq<nn::v1_2::FmqResultDatum>>(call.arguments));
    const driver::Account* const account = &mModel->client()->account();
    const auto openBoth = [&]() -> Result<std::pair<MessageQueue, MessageQueue>> {
        // They are mapped on the caller's thread.
        HALYARD_ASSIGN_OR_RETURN(const driver::CallGate::Permit permit,
                                 mModel->client()->shares().calls->enter());
        HALYARD_ASSIGN_OR_RETURN(MessageQueue requestQueue, openQueue(*requests, account));
        HALYARD_ASSIGN_OR_RETURN(MessageQueue resultQueue, openQueue(*results, account));
        return std::pair(std::move(requestQueue), std::move(resultQueue));
    };
    Result<std::pair<MessageQueue, MessageQueue>> queues = openBoth();
    HALYARD_ASSIGN_OR_RETURN(auto* reply, call.endArguments());
    const std::shared_ptr<RemoteObject> callback = asCallback(object);
    Status status = callback == nullptr ? invalidArgument("the callback is null") : queues.status();
    std::shared_ptr<BurstObject> context;
    if (status.ok()) {
        auto started = BurstObject::start(mProcess, mModel, callback, std::move(queues->first),
                                          std::move(queues->second));
        status = started.status();
        context = started.ok() ? *started : nullptr;
    }
    writeEnum(*reply, reportStatus(status, call.version, "configureExecutionBurst"));
    reply->writeObject(context == nullptr ? ObjectRef() : ObjectRef(context));
    return {};
}

Status PreparedModelObject::executeFenced(Call& call) {
    HALYARD_ASSIGN_OR_RETURN(const driver::Request request,
                             versionDelta(call.version).readRequest(call.arguments));
    HALYARD_ASSIGN_OR_RETURN(const auto* handles, readValue<HidlVec<HidlHandle>>(call.arguments));
    HALYARD_ASSIGN_OR_RETURN(driver::ExecuteOptions options, readOptions(call));
    HALYARD_ASSIGN_OR_RETURN(const auto* duration,
                             readValue<OptionalTimeoutDuration>(call.arguments));
    options.durationAfterFences = decode(*duration);
    Result<driver::Fences> fences = fencesOf(handles->view(), call.caller);
    HALYARD_ASSIGN_OR_RETURN(auto* reply, call.endArguments());

    driver::ExecutionResult result;
    result.status = mModel->validateFenced(request, call.version);
    if (result.status.ok()) {
        result.status = fences.status();
    }
    // Charged first: a result that can't be answered is not computed.
    Result<Reservation> held = Reservation();
    if (result.status.ok()) {
        held = Reservation::create(mModel->client()->account().memory, kFencedOverhead);
        result.status = held.status();
    }
    if (result.status.ok()) {
        options.waitFor = std::move(*fences);
        result = mModel->executeFenced(request, call.version, options);
    }
    writeEnum(*reply, reportStatus(result.status, call.version, "executeFenced"));
    writeNativeHandle(*reply, nullptr);  // it is over
    reply->writeObject(result.status.ok() ? ObjectRef(std::make_shared<FencedExecutionObject>(
                                                    result, *std::move(held)))
                                          : ObjectRef());
    return {};
}

}  // namespace halyard::hal::hidl
