// SPDX-License-Identifier: Apache-2.0

#include "hal/service/backend_needs.h"

#include <utility>

#include "engine/base/log.h"

namespace halyard::hal {

Status meetNeeds(std::span<const std::unique_ptr<const engine::Backend>> backends,
                 std::vector<std::string>& systemCalls) {
    for (const std::unique_ptr<const engine::Backend>& backend : backends) {
        engine::ProcessNeeds needs = backend->needs();
        if (needs.startHelper) {
            HALYARD_RETURN_IF_ERROR(needs.startHelper().withContext("the helper of " +
                                                                    std::string(backend->name())));
        }
        for (std::string& call : needs.systemCalls) {
            log(LogLevel::INFO, std::string(backend->name()) + " may call " + call + "()");
            systemCalls.push_back(std::move(call));
        }
    }
    return {};
}

}  // namespace halyard::hal
