// SPDX-License-Identifier: Apache-2.0
//
// The parcels of golden_aidl_parcels.json: recorded requests and replies of every method of the
// stable AIDL interfaces, as bytes, with what reads and writes them.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "hal/aidl/parcel.h"
#include "tests/hal/json.h"
#include "tests/hal/loopback.h"

namespace halyard::hal::testing {

// Stand-ins for any object and any descriptor of a recorded parcel.
struct Stand {
    ObjectRef object;
    int fd = -1;
};

// The fields that a request or a reply has, whatever their types are.
struct AidlFields {
    // Writes the values of the JSON.
    std::function<Status(const Json& values, const Stand& stand, aidl::AidlWriter& writer)> encode;
    // Reads them to the end, and writes them again.
    std::function<Status(aidl::AidlReader& reader, aidl::AidlWriter& writer)> copy;
};

struct GoldenAidlParcel {
    std::string name;  // "IDevice.getType request"
    std::string descriptor;
    uint32_t code = 0;
    bool reply = false;
    AidlFields fields;
    Json values;
    Json exception;  // null: none
    aidl::Stability stability = aidl::Stability::VINTF;
    SentParcel sent;
};

// Those of all methods. Stops the test program if the file is not there or not as expected.
const std::vector<GoldenAidlParcel>& goldenAidlParcels();

// The three that no interface has.
struct GoldenMetaParcel {
    std::string name;
    uint32_t code = 0;
    SentParcel reply;
};
const std::vector<GoldenMetaParcel>& goldenMetaParcels();

}  // namespace halyard::hal::testing
