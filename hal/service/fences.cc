// SPDX-License-Identifier: Apache-2.0

#include "hal/service/fences.h"

#include <string>
#include <utility>
#include <vector>

#include "engine/base/file_descriptor.h"
#include "hal/descriptors/client_workers.h"
#include "hal/descriptors/descriptor_kind.h"

namespace halyard::hal {

Result<driver::Fences> duplicateFences(std::span<const int> descriptors, const Caller& caller) {
    const ClientWorkers::Owner owner = {.pid = caller.pid, .uid = caller.euid};
    driver::Fences fences;
    for (size_t i = 0; i < descriptors.size(); ++i) {
        Result<FileDescriptor> fence = duplicateFence(descriptors[i]);
        if (!fence.ok()) {
            return fence.status().withContext("fence " + std::to_string(i));
        }
        fences.emplace_back(new FileDescriptor(std::move(*fence)), [owner](FileDescriptor* own) {
            std::vector<FileDescriptor> closed;
            closed.push_back(std::move(*own));
            delete own;
            ClientWorkers::here().close(owner, std::move(closed));
        });
    }
    return fences;
}

}  // namespace halyard::hal
