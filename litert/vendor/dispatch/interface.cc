// SPDX-License-Identifier: Apache-2.0
//
// The functions of the two tables that LiteRT is given.

#include <algorithm>
#include <string>
#include <utility>

#include "engine/base/build_identity.h"
#include "engine/base/log.h"
#include "engine/base/version.h"
#include "importers/tflite/model.h"
#include "litert/vendor/dispatch/library.h"
#include "litert/vendor/options.h"
#include "litert/vendor/tables.h"

namespace halyard::vendor {
namespace {

// What the host is asked to align addresses to is told by no slot: LiteRT's own are at multiples of
// 64, and others are copied.
constexpr int32_t kBufferTypes[] = {static_cast<int32_t>(abi::BufferType::HOST_MEMORY)};

Status checkRuntime(const abi::RuntimeTable* table) {
    return checkTable(table, "table for dispatch", abi::kRuntimeTableMajor, abi::runtimeTableSlots);
}

Status missing() {
    return invalidArgument("an argument is null");
}

// Bytecode that is not of this build, or of this processor, is told apart from other failures.
abi::Status answerBytecode(const Status& status) {
    const abi::Status answered = answer(status, "bytecode");
    const bool isOther = status.code() == StatusCode::UNSUPPORTED ||
                         status.code() == StatusCode::INVALID_ARGUMENT;
    return isOther ? code(abi::StatusCode::INCOMPATIBLE_BYTECODE) : answered;
}

// With the invocation of a handle; its failure is logged behind `what`.
template <typename Body>
abi::Status withInvocation(abi::InvocationContext context, const char* what, const Body& body) {
    const Result<std::shared_ptr<Invocation>> found = Library::instance().invocations.find(context);
    return answer(found.ok() ? body(**found) : found.status(), what);
}

abi::Status initialize(const abi::RuntimeTable* table, abi::Environment /*environment*/,
                       abi::Options /*options*/) {
    return answer(checkRuntime(table), "Halyard's dispatch library");
}

abi::Status getVendorId(const char** id) {
    if (id == nullptr) {
        return answer(missing(), "vendor id");
    }
    *id = "Halyard";
    return code(abi::StatusCode::OK);
}

abi::Status getBuildId(const char** id) {
    if (id == nullptr) {
        return answer(missing(), "build id");
    }
    static const std::string kText = HALYARD_VERSION " " + buildIdentityText();
    *id = kText.c_str();
    return code(abi::StatusCode::OK);
}

abi::Status getCapabilities(int32_t* capabilities) {
    if (capabilities == nullptr) {
        return answer(missing(), "capabilities");
    }
    *capabilities = static_cast<int32_t>(abi::Capability::BASIC) |
                    static_cast<int32_t>(abi::Capability::ASYNC);
    return code(abi::StatusCode::OK);
}

abi::Status createDeviceContext(const abi::RuntimeTable* table, abi::Options options,
                                abi::DeviceContext* context) {
    const auto create = [&]() -> Status {
        if (context == nullptr) {
            return missing();
        }
        *context = nullptr;
        HALYARD_RETURN_IF_ERROR(checkRuntime(table));
        HALYARD_ASSIGN_OR_RETURN(Options read, readOptions(opaqueText(*table, options)));
        setLogThreshold(read.log);
        *context = reinterpret_cast<abi::DeviceContext>(
                Library::instance().devices.add(std::make_shared<Device>(*table, std::move(read))));
        return {};
    };
    return answer(create(), "device context");
}

abi::Status destroyDeviceContext(abi::DeviceContext context) {
    return answer(Library::instance().devices.take(context).status(), "device context");
}

abi::Status requirements(Invocation::Side side, abi::InvocationContext context, int32_t index,
                         const abi::RankedTensorType* type, abi::TensorBufferRequirements* made,
                         const char* what) {
    return withInvocation(context, what, [&](const Invocation& invocation) -> Status {
        if (type == nullptr || made == nullptr) {
            return missing();
        }
        HALYARD_ASSIGN_OR_RETURN(const size_t size,
                                 invocation.requiredBytes(side, static_cast<size_t>(index), *type));
        return calledStatus(invocation.litert().createTensorBufferRequirements(
                                    std::size(kBufferTypes), kBufferTypes, size, 0, nullptr, made),
                            "CreateTensorBufferRequirements");
    });
}

abi::Status getInputRequirements(abi::InvocationContext context, int32_t index,
                                 const abi::RankedTensorType* type,
                                 abi::TensorBufferRequirements* made) {
    return requirements(Invocation::Side::INPUT, context, index, type, made,
                        "requirements of an input");
}

abi::Status getOutputRequirements(abi::InvocationContext context, int32_t index,
                                  const abi::RankedTensorType* type,
                                  abi::TensorBufferRequirements* made) {
    return requirements(Invocation::Side::OUTPUT, context, index, type, made,
                        "requirements of an output");
}

abi::Status registerTensorBuffer(abi::DeviceContext context, abi::TensorBuffer buffer,
                                 uint64_t* handle) {
    const auto add = [&]() -> Status {
        if (buffer == nullptr || handle == nullptr) {
            return missing();
        }
        HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<Device> device,
                                 Library::instance().devices.find(context));
        HALYARD_ASSIGN_OR_RETURN(*handle, device->add(buffer));
        return {};
    };
    return answer(add(), "a buffer");
}

abi::Status unregisterTensorBuffer(abi::DeviceContext context, uint64_t handle) {
    const auto remove = [&]() -> Status {
        HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<Device> device,
                                 Library::instance().devices.find(context));
        return device->remove(handle);
    };
    return answer(remove(), "a buffer");
}

abi::Status createInvocationContext(const abi::RuntimeTable* table, abi::DeviceContext device,
                                    int32_t type, const abi::MemBuffer* bytecode,
                                    const char* /*function*/, int32_t inputs, int32_t outputs,
                                    abi::InvocationContext* context) {
    const auto create = [&]() -> Status {
        if (bytecode == nullptr || context == nullptr) {
            return missing();
        }
        *context = nullptr;
        HALYARD_RETURN_IF_ERROR(checkRuntime(table));
        if (type != static_cast<int32_t>(abi::ExecutableType::ML_MODEL)) {
            return unsupported("executables of type " + std::to_string(type) + " are not known");
        }
        if (inputs < 0 || outputs < 0) {
            return invalidArgument("there are fewer inputs or outputs than none");
        }
        HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<Device> owner,
                                 Library::instance().devices.find(device));
        HALYARD_ASSIGN_OR_RETURN(
                std::unique_ptr<Invocation> made,
                Invocation::create(std::move(owner), *bytecode, static_cast<size_t>(inputs),
                                   static_cast<size_t>(outputs), Library::instance().counts));
        *context = reinterpret_cast<abi::InvocationContext>(
                Library::instance().invocations.add(std::move(made)));
        return {};
    };
    const Status status = create();
    return status.ok() ? code(abi::StatusCode::OK) : answerBytecode(status);
}

abi::Status destroyInvocationContext(abi::InvocationContext context) {
    return answer(Library::instance().invocations.take(context).status(), "invocation context");
}

// Nothing here is scheduled by what LiteRT says.
abi::Status setSchedulingInfo(abi::InvocationContext /*context*/, const void* /*info*/) {
    return code(abi::StatusCode::OK);
}

// Options of one run: none are known.
abi::Status setOptions(abi::InvocationContext /*context*/, abi::Options /*options*/) {
    return code(abi::StatusCode::OK);
}

// An index of LiteRT's below 0 is larger than any that there is.
size_t portOf(int32_t index) {
    return static_cast<size_t>(static_cast<int64_t>(index));
}

abi::Status attachInput(abi::InvocationContext context, int32_t index, uint64_t handle) {
    return withInvocation(context, "an input", [&](Invocation& invocation) {
        return invocation.attach(Invocation::Side::INPUT, portOf(index), handle);
    });
}

abi::Status attachOutput(abi::InvocationContext context, int32_t index, uint64_t handle) {
    return withInvocation(context, "an output", [&](Invocation& invocation) {
        return invocation.attach(Invocation::Side::OUTPUT, portOf(index), handle);
    });
}

abi::Status detachInput(abi::InvocationContext context, int32_t index, uint64_t handle) {
    return withInvocation(context, "an input", [&](Invocation& invocation) {
        return invocation.detach(Invocation::Side::INPUT, portOf(index), handle);
    });
}

abi::Status detachOutput(abi::InvocationContext context, int32_t index, uint64_t handle) {
    return withInvocation(context, "an output", [&](Invocation& invocation) {
        return invocation.detach(Invocation::Side::OUTPUT, portOf(index), handle);
    });
}

abi::Status invoke(abi::InvocationContext context) {
    return withInvocation(context, "a run",
                          [](Invocation& invocation) { return invocation.run(); });
}

abi::Status startMetrics(abi::InvocationContext context, int32_t /*level*/) {
    return withInvocation(context, "metrics", [](Invocation& invocation) {
        invocation.startMetrics();
        return Status();
    });
}

abi::Status stopMetrics(abi::InvocationContext context, abi::Metrics* metrics) {
    return withInvocation(context, "metrics", [&](Invocation& invocation) {
        if (metrics == nullptr) {
            return missing();
        }
        *metrics = reinterpret_cast<abi::Metrics>(Library::instance().metrics.add(
                std::make_shared<MetricList>(invocation.stopMetrics())));
        return Status();
    });
}

abi::Status getNumMetrics(abi::Metrics metrics, int32_t* count) {
    const auto tell = [&]() -> Status {
        HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<MetricList> list,
                                 Library::instance().metrics.find(metrics));
        if (count == nullptr) {
            return missing();
        }
        *count = static_cast<int32_t>(list->size());
        return {};
    };
    return answer(tell(), "metrics");
}

abi::Status getMetric(abi::Metrics metrics, int32_t index, abi::Metric* metric) {
    const auto tell = [&]() -> Status {
        HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<MetricList> list,
                                 Library::instance().metrics.find(metrics));
        if (metric == nullptr || portOf(index) >= list->size()) {
            return invalidArgument("there is no metric " + std::to_string(index));
        }
        const auto& [name, value] = (*list)[portOf(index)];
        *metric = {.name = name,
                   .value = {.type = static_cast<int32_t>(abi::AnyType::INT),
                             .value = {.integer = value}}};
        return {};
    };
    return answer(tell(), "metrics");
}

abi::Status destroyMetrics(abi::Metrics metrics) {
    return answer(Library::instance().metrics.take(metrics).status(), "metrics");
}

abi::Status checkRuntimeCompatibility(abi::ApiVersion version,
                                      abi::EnvironmentOptions /*environment*/,
                                      abi::Options /*options*/) {
    const Status status = checkApiVersion(version);
    if (status.ok()) {
        return code(abi::StatusCode::OK);
    }
    answer(status, "Halyard's dispatch library");
    return code(abi::StatusCode::UNSUPPORTED_RUNTIME);
}

abi::Status attachInputEvent(abi::InvocationContext context, int32_t index, abi::Event event) {
    return withInvocation(context, "an event", [&](Invocation& invocation) {
        return event == nullptr ? missing() : invocation.attachEvent(portOf(index), event);
    });
}

abi::Status invokeAsync(abi::InvocationContext context, int32_t count, abi::Event* events) {
    return withInvocation(context, "an asynchronous run", [&](Invocation& invocation) {
        return events == nullptr || count < 0
                       ? missing()
                       : invocation.runLater({events, static_cast<size_t>(count)});
    });
}

}  // namespace

Library& Library::instance() {
    static Library& library = *new Library();
    return library;
}

const abi::DispatchInterface kDispatchInterface = {
        .initialize = initialize,
        .getVendorId = getVendorId,
        .getBuildId = getBuildId,
        .getCapabilities = getCapabilities,
        .createDeviceContext = createDeviceContext,
        .destroyDeviceContext = destroyDeviceContext,
        .getInputRequirements = getInputRequirements,
        .getOutputRequirements = getOutputRequirements,
        .registerTensorBuffer = registerTensorBuffer,
        .unregisterTensorBuffer = unregisterTensorBuffer,
        .createInvocationContext = createInvocationContext,
        .destroyInvocationContext = destroyInvocationContext,
        .setSchedulingInfo = setSchedulingInfo,
        .attachInput = attachInput,
        .attachOutput = attachOutput,
        .detachInput = detachInput,
        .detachOutput = detachOutput,
        .invoke = invoke,
        .startMetrics = startMetrics,
        .stopMetrics = stopMetrics,
        .getNumMetrics = getNumMetrics,
        .getMetric = getMetric,
        .destroyMetrics = destroyMetrics,
        .checkRuntimeCompatibility = checkRuntimeCompatibility,
        .setOptions = setOptions,
        .getHooks = nullptr,
        .spare = {},
};

const abi::AsyncInterface kAsyncInterface = {
        .attachInputEvent = attachInputEvent, .invokeAsync = invokeAsync, .spare = {}};

}  // namespace halyard::vendor
