// SPDX-License-Identifier: Apache-2.0

#include "hal/binder/process.h"

#include "hal/binder/connection.h"

namespace halyard::hal {

Result<std::shared_ptr<BinderProcess>> BinderProcess::open(const std::string& path,
                                                           ReplyDescriptors descriptors) {
    HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<BinderKernel> kernel, BinderKernel::open(path));
    return std::shared_ptr<BinderProcess>(
            std::make_shared<BinderConnection>(std::move(kernel), descriptors));
}

}  // namespace halyard::hal
