// SPDX-License-Identifier: Apache-2.0
//
// The parcels of golden_parcels.json: recorded requests and replies of every method, as bytes.

#pragma once

#include <span>
#include <string>
#include <vector>

#include "hal/hidl/layout.h"
#include "tests/hal/json.h"
#include "tests/hal/loopback.h"

namespace halyard::hal::testing {

struct GoldenParcel {
    std::string name;  // "IDevice.getStatus request"
    const hidl::MethodLayout* method = nullptr;
    bool reply = false;
    Json values;
    SentParcel sent;

    std::span<const hidl::ArgumentLayout> layouts() const {
        return reply ? method->results : method->arguments;
    }
};

// All 118 of them. Stops the test program if the file is not there or not as expected.
const std::vector<GoldenParcel>& goldenParcels();

}  // namespace halyard::hal::testing
