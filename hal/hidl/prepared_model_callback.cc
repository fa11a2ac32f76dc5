// SPDX-License-Identifier: Apache-2.0

#include "hal/hidl/prepared_model_callback.h"

#include <utility>

#include "hal/hidl/callbacks.h"
#include "hal/hidl/codec.h"
#include "hal/hidl/prepared_model_object.h"
#include "hal/hidl/types.h"
#include "hal/hidl/version_delta.h"

namespace halyard::hal::hidl {

driver::PrepareCallback preparedModelCallback(std::weak_ptr<BinderProcess> process,
                                              std::shared_ptr<RemoteObject> callback,
                                              driver::HalVersion version) {
    return [process = std::move(process), callback = std::move(callback), version](
                   const Status& status, std::shared_ptr<driver::PreparedModel> model) {
        const InterfaceLayout& interface = nn::v1_3::IPreparedModelCallback::layout();
        const uint32_t code = versionDelta(version).notifyPrepared;
        ParcelWriter arguments;
        writeRequestHead(arguments, interface, code);
        writeEnum(arguments, reportStatus(status, version, "prepareModel"));
        ObjectRef object;
        if (status.ok() && model != nullptr) {
            object = std::make_shared<PreparedModelObject>(process, std::move(model));
        }
        arguments.writeObject(object);
        notify(process, callback, interface, code, arguments);
    };
}

}  // namespace halyard::hal::hidl
