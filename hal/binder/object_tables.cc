// SPDX-License-Identifier: Apache-2.0

#include "hal/binder/object_tables.h"

#include <utility>

namespace halyard::hal {

Result<ObjectRef> ObjectTables::resolve(uint32_t type, uint64_t binderOrHandle,
                                        uint64_t /*cookie*/) {
    if (type == BINDER_TYPE_HANDLE) {
        HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<RemoteObject> object,
                                 remote->get(static_cast<uint32_t>(binderOrHandle)));
        return ObjectRef(std::move(object));
    }
    std::shared_ptr<LocalObject> object = local.find(binderOrHandle);
    if (object == nullptr) {
        return invalidArgument("binder: an object of ours that does not exist");
    }
    return ObjectRef(std::move(object));
}

}  // namespace halyard::hal
