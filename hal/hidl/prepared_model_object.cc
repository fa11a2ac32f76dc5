// SPDX-License-Identifier: Apache-2.0

#include "hal/hidl/prepared_model_object.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "driver/error_status.h"
#include "hal/hidl/callbacks.h"
#include "hal/hidl/types.h"
#include "hal/hidl/v1_2.h"
#include "hal/hidl/v1_3.h"
#include "hal/hidl/version_delta.h"

namespace halyard::hal::hidl {

using driver::ErrorStatus;
using driver::HalVersion;
using nn::v1_2::MeasureTiming;
using nn::v1_3::IPreparedModel;
using nn::v1_3::OptionalTimeoutDuration;
using nn::v1_3::OptionalTimePoint;

namespace {

const char kPreparedModel = 0;  // its address tells one

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
    HALYARD_ASSIGN_OR_RETURN(ObjectRef callback, call.arguments.readObject());
    HALYARD_RETURN_IF_ERROR(readValue<HidlFmq<nn::v1_2::FmqRequestDatum>>(call.arguments).status());
    HALYARD_RETURN_IF_ERROR(readValue<HidlFmq<nn::v1_2::FmqResultDatum>>(call.arguments).status());
    HALYARD_ASSIGN_OR_RETURN(auto* reply, call.endArguments());
    writeEnum(*reply,
              isNull(callback) ? ErrorStatus::INVALID_ARGUMENT : ErrorStatus::GENERAL_FAILURE);
    reply->writeObject({});  // no IBurstContext
    return {};
}

Status PreparedModelObject::executeFenced(Call& call) {
    HALYARD_ASSIGN_OR_RETURN(const driver::Request request,
                             versionDelta(call.version).readRequest(call.arguments));
    HALYARD_ASSIGN_OR_RETURN(const auto* fences, readValue<HidlVec<HidlHandle>>(call.arguments));
    HALYARD_ASSIGN_OR_RETURN(const driver::ExecuteOptions options, readOptions(call));
    // How long it may take once the fences are signalled.
    HALYARD_RETURN_IF_ERROR(readValue<OptionalTimeoutDuration>(call.arguments).status());

    const bool nullFence = std::ranges::any_of(
            fences->view(), [](const HidlHandle& fence) { return fence.address == 0; });
    HALYARD_ASSIGN_OR_RETURN(auto* reply, call.endArguments());
    Status status = mModel->validateFenced(request, call.version);
    if (status.ok() && nullFence) {
        status = invalidArgument("a fence has no handle");
    }
    if (status.ok() && driver::hasPassed(options.deadline)) {
        status = Status(StatusCode::DEADLINE_EXCEEDED, "the deadline had passed before the start");
    }
    if (status.ok()) {
        status = unsupported("there are no fenced executions");
    }
    writeEnum(*reply, reportStatus(status, call.version, "executeFenced"));
    writeNativeHandle(*reply, nullptr);  // no fence
    reply->writeObject({});              // no IFencedExecutionCallback
    return {};
}

}  // namespace halyard::hal::hidl
