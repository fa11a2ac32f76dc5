// SPDX-License-Identifier: Apache-2.0

#include "harness/device/vts/registry.h"

#include <algorithm>
#include <iterator>

#include "harness/device/vts/generated_test.h"
#include "harness/device/vts/neuralnetworks_test.h"

namespace halyard::vts {

const Checks& allChecks() {
    static const Checks kChecks = [] {
        Checks all;
        for (Checks (*const checks)() : {
                     neuralnetworksTest,
                     generatedTest,
             }) {
            std::ranges::move(checks(), std::back_inserter(all));
        }
        return all;
    }();
    return kChecks;
}

const Check* findCheck(std::string_view id, driver::HalVersion version) {
    const auto found = std::ranges::find_if(allChecks(), [&](const Check& check) {
        return check.isOf(version) && check.id() == id;
    });
    return found == allChecks().end() ? nullptr : &*found;
}

}  // namespace halyard::vts
