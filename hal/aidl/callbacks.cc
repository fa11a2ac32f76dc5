// SPDX-License-Identifier: Apache-2.0

#include "hal/aidl/callbacks.h"

#include <utility>

#include "driver/model/error_status.h"
#include "engine/base/log.h"
#include "hal/aidl/prepared_model_object.h"
#include "hal/aidl/remote_interface.h"
#include "hal/aidl/types.h"

namespace halyard::hal::aidl {

using nn::IPreparedModelCallback;

driver::PrepareCallback preparedModelCallback(std::weak_ptr<BinderProcess> process,
                                              std::shared_ptr<RemoteObject> callback,
                                              const Dialect& dialect) {
    return [process = std::move(process), callback = std::move(callback), dialect](
                   const Status& status, std::shared_ptr<driver::PreparedModel> model) {
        const std::shared_ptr<BinderProcess> alive = process.lock();
        if (alive == nullptr) {
            return;
        }
        if (!status.ok()) {
            log(LogLevel::WARNING, "prepareModel: " + status.toString());
        }
        IPreparedModelCallback::Notify::Arguments arguments;
        arguments.status = driver::toErrorStatus(status, dialect.version);
        if (status.ok() && model != nullptr) {
            arguments.preparedModel =
                    std::make_shared<PreparedModelObject>(std::move(model), dialect);
        }
        const RemoteInterface remote(alive, callback, IPreparedModelCallback::info(),
                                     dialect.release);
        const Status sent = remote.callOneway<IPreparedModelCallback::Notify>(arguments);
        if (!sent.ok() && sent.code() != StatusCode::UNAVAILABLE) {
            log(LogLevel::WARNING, "IPreparedModelCallback: " + sent.toString());
        }
    };
}

std::shared_ptr<RemoteObject> asCallback(const ObjectRef& object) {
    const auto* remote = std::get_if<std::shared_ptr<RemoteObject>>(&object);
    return remote == nullptr ? nullptr : *remote;
}

}  // namespace halyard::hal::aidl
