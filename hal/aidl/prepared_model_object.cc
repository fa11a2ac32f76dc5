// SPDX-License-Identifier: Apache-2.0

#include "hal/aidl/prepared_model_object.h"

#include <utility>

#include "hal/aidl/burst_object.h"
#include "hal/aidl/conversion.h"
#include "hal/aidl/execution_answer.h"
#include "hal/aidl/execution_object.h"
#include "hal/aidl/fenced.h"

namespace halyard::hal::aidl {

using nn::IPreparedModel;

namespace {

const char kPreparedModel = 0;  // its address tells one

}  // namespace

PreparedModelObject::PreparedModelObject(std::shared_ptr<const driver::PreparedModel> model,
                                         const Dialect& dialect)
    : AidlObject(IPreparedModel::info(), dialect.release, dialect.number()),
      mModel(std::move(model)),
      mDialect(dialect) {}

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
            {IPreparedModel::ExecuteSynchronously::kCode, &Self::executeSynchronously},
            {IPreparedModel::ExecuteFenced::kCode, &Self::executeFenced},
            {IPreparedModel::ConfigureExecutionBurst::kCode, &Self::configureExecutionBurst},
            {IPreparedModel::CreateReusableExecution::kCode, &Self::createReusableExecution},
            {IPreparedModel::ExecuteSynchronouslyWithConfig::kCode,
             &Self::executeSynchronouslyWithConfig},
            {IPreparedModel::ExecuteFencedWithConfig::kCode, &Self::executeFencedWithConfig},
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

Status PreparedModelObject::execute(Call& call, std::string_view what, const nn::Request& wire,
                                    const Result<driver::ExecuteOptions>& options) {
    const Result<driver::Request> request = decode(wire);
    HALYARD_RETURN_IF_ERROR(call.end());
    for (const Status& status : {request.status(), options.status()}) {
        if (!status.ok()) {
            return refuse(call, status, what);
        }
    }
    return answerExecution<IPreparedModel::ExecuteSynchronously>(
            call, mModel->execute(*request, mDialect.version, *options), what);
}

Status PreparedModelObject::executeSynchronously(Call& call) {
    using Method = IPreparedModel::ExecuteSynchronously;
    HALYARD_ASSIGN_OR_RETURN(const auto arguments, call.read<Method>());
    return execute(call, Method::kName, arguments.request,
                   decodeOptions(arguments.measureTiming, arguments.deadlineNs,
                                 arguments.loopTimeoutDurationNs));
}

Status PreparedModelObject::executeSynchronouslyWithConfig(Call& call) {
    using Method = IPreparedModel::ExecuteSynchronouslyWithConfig;
    HALYARD_ASSIGN_OR_RETURN(const auto arguments, call.read<Method>());
    return execute(call, Method::kName, arguments.request,
                   decodeOptions(arguments.config, arguments.deadlineNs));
}

Status PreparedModelObject::executeFenced(Call& call) {
    using Method = IPreparedModel::ExecuteFenced;
    HALYARD_ASSIGN_OR_RETURN(const auto arguments, call.read<Method>());
    const Result<driver::Request> request = decode(arguments.request);
    const Result<driver::ExecuteOptions> options =
            fencedOptions(decodeOptions(arguments.measureTiming, arguments.deadlineNs,
                                        arguments.loopTimeoutDurationNs),
                          arguments.waitFor, arguments.durationNs, call.caller);
    HALYARD_RETURN_IF_ERROR(call.end());
    return request.ok() ? answerFenced<Method>(
                                  call, aidl::executeFenced(*mModel, *request, options, mDialect))
                        : refuse(call, request.status(), Method::kName);
}

Status PreparedModelObject::executeFencedWithConfig(Call& call) {
    using Method = IPreparedModel::ExecuteFencedWithConfig;
    HALYARD_ASSIGN_OR_RETURN(const auto arguments, call.read<Method>());
    const Result<driver::Request> request = decode(arguments.request);
    const Result<driver::ExecuteOptions> options =
            fencedOptions(decodeOptions(arguments.config, arguments.deadlineNs), arguments.waitFor,
                          arguments.durationNs, call.caller);
    HALYARD_RETURN_IF_ERROR(call.end());
    return request.ok() ? answerFenced<Method>(
                                  call, aidl::executeFenced(*mModel, *request, options, mDialect))
                        : refuse(call, request.status(), Method::kName);
}

Status PreparedModelObject::configureExecutionBurst(Call& call) {
    using Method = IPreparedModel::ConfigureExecutionBurst;
    Result<std::shared_ptr<BurstObject>> burst = BurstObject::create(mModel, mDialect);
    return burst.ok() ? call.answer(Method::Results{.result = *std::move(burst)})
                      : refuse(call, burst.status(), Method::kName);
}

Status PreparedModelObject::createReusableExecution(Call& call) {
    using Method = IPreparedModel::CreateReusableExecution;
    HALYARD_ASSIGN_OR_RETURN(const auto arguments, call.read<Method>());
    const Result<driver::ExecuteOptions> options = decodeOptions(arguments.config, -1);
    if (!options.ok()) {
        return refuse(call, options.status(), Method::kName);
    }
    Result<std::shared_ptr<ExecutionObject>> execution =
            ExecutionObject::create(mModel, arguments.request, *options, mDialect);
    HALYARD_RETURN_IF_ERROR(call.end());
    if (!execution.ok()) {
        return refuse(call, execution.status(), Method::kName);
    }
    return call.answer(Method::Results{.result = *std::move(execution)});
}

}  // namespace halyard::hal::aidl
