// SPDX-License-Identifier: Apache-2.0

#include "hal/hidl/callbacks.h"

#include <string>
#include <utility>

#include "driver/model/error_status.h"
#include "engine/base/log.h"
#include "hal/hidl/codec.h"
#include "hal/hidl/types.h"
#include "hal/hidl/v1_2.h"
#include "hal/hidl/version_delta.h"

namespace halyard::hal::hidl {

void notify(const std::weak_ptr<BinderProcess>& process,
            const std::shared_ptr<RemoteObject>& callback, const InterfaceLayout& interface,
            uint32_t code, const ParcelWriter& arguments) {
    std::shared_ptr<BinderProcess> alive = process.lock();
    if (alive == nullptr) {
        return;
    }
    Status sent = alive->transactOneway(callback, code, arguments);
    if (!sent.ok() && sent.code() != StatusCode::UNAVAILABLE) {
        log(LogLevel::WARNING, std::string(interface.descriptor) + ": " + sent.toString());
    }
}

driver::ErrorStatus reportStatus(const Status& status, driver::HalVersion version,
                                 std::string_view what) {
    if (!status.ok()) {
        log(LogLevel::WARNING, std::string(what) + ": " + status.toString());
    }
    return driver::toErrorStatus(status, version);
}

driver::ExecuteCallback executionCallback(std::weak_ptr<BinderProcess> process,
                                          std::shared_ptr<RemoteObject> callback,
                                          driver::HalVersion version) {
    return [process = std::move(process), callback = std::move(callback),
            version](const driver::ExecutionResult& result) {
        const InterfaceLayout& interface = nn::v1_3::IExecutionCallback::layout();
        const uint32_t code = versionDelta(version).notifyExecuted;
        ParcelWriter arguments;
        writeRequestHead(arguments, interface, code);
        writeEnum(arguments, reportStatus(result.status, version, "execute"));
        if (version >= driver::HalVersion::V1_2) {
            nn::v1_2::writeShapesAndTiming(arguments, result.outputShapes, result.timing);
        }
        notify(process, callback, interface, code, arguments);
    };
}

std::shared_ptr<RemoteObject> asCallback(const ObjectRef& object) {
    const auto* remote = std::get_if<std::shared_ptr<RemoteObject>>(&object);
    return remote == nullptr ? nullptr : *remote;
}

}  // namespace halyard::hal::hidl
