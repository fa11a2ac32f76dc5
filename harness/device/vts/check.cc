// SPDX-License-Identifier: Apache-2.0

#include "harness/device/vts/check.h"

#include <algorithm>

#include "driver/model/error_status.h"

namespace halyard::vts {

Verdict expectStatus(const Status& found, driver::HalVersion version,
                     const std::vector<driver::ErrorStatus>& wanted, std::string_view call) {
    const driver::ErrorStatus answer = driver::toErrorStatus(found, version);
    if (std::ranges::find(wanted, answer) != wanted.end()) {
        return passed();
    }
    std::string reason = std::string(call) + " gives " + std::string(driver::nameOf(answer));
    std::string_view between = ", not ";
    for (const driver::ErrorStatus status : wanted) {
        reason.append(between).append(driver::nameOf(status));
        between = " or ";
    }
    if (!found.message().empty()) {
        reason.append(" (").append(found.message()).append(")");
    }
    return failed(std::move(reason));
}

std::string_view nameOf(Scope scope) {
    switch (scope) {
        case Scope::DEVICE:
            return "device";
        case Scope::ANY_CASE:
            return "any_case";
        case Scope::EACH_CASE:
            return "each_case";
        case Scope::FAILING_CASE:
            return "failing_case";
        case Scope::INFINITE_LOOP_CASE:
            return "infinite_loop_case";
        case Scope::SHAPED_CASE:
            return "shaped_case";
        case Scope::COUPLED_CASE:
            return "coupled_case";
    }
    return {};
}

std::string Check::id() const {
    std::string text(suite);
    text.append(".").append(name);
    return variant.empty() ? text : text.append("_").append(variant);
}

}  // namespace halyard::vts
