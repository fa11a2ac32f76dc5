// SPDX-License-Identifier: Apache-2.0
//
// A device's answers to invalid models and requests, and whether they are right.

#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "driver/device/device_interface.h"
#include "driver/model/request.h"
#include "harness/device/vts/validation/mutant.h"

namespace halyard::vts {

// Errors in the answers of getSupportedOperations and prepareModel, if any: both are to be
// INVALID_ARGUMENT, the latter from the launch and once from the callback. Of one that is exempt
// they are to agree.
std::optional<std::string> complaint(driver::IDevice& device, const Mutant& mutant);
// The same of prepareModel alone, for a device that has another one of them.
std::optional<std::string> complaintAboutPrepare(driver::IDevice& device, const Mutant& mutant);

// A way to have a request executed. It executes the request, or begins to, and returns what is
// wrong with the answer, if anything is: that is to be INVALID_ARGUMENT, with no shapes and no
// times.
struct RequestExecutor {
    using Complaint = std::optional<std::string>(driver::IPreparedModel& model,
                                                 const driver::Request& request,
                                                 bool measureTiming);
    std::string_view name;  // "executeSynchronously"
    Complaint* complaint;
};
// Those that the version has.
std::span<const RequestExecutor> requestExecutors(driver::HalVersion version);
// Of AIDL 4: an execution that is made once, to be computed again and again.
const RequestExecutor& reusableExecutor();

// The same of all of them, with the name of the one that is complained of.
std::optional<std::string> complaint(driver::IPreparedModel& model, driver::HalVersion version,
                                     const driver::Request& request, bool measureTiming = false);

}  // namespace halyard::vts
