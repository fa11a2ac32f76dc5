// SPDX-License-Identifier: Apache-2.0
//
// VTS's checks of the bursts of HIDL 1.2 and 1.3 (ValidateBurst.cpp): packets that are no requests
// are answered with a failure, answers that do not fit with one, and padding is zero.

#pragma once

#include <functional>
#include <memory>

#include "driver/model/request.h"
#include "engine/base/status.h"
#include "hal/hidl/client/burst_channel.h"
#include "harness/device/vts/fixture/check.h"

namespace halyard::vts {

// A burst of a prepared model.
using OpenBurst = std::function<Result<std::unique_ptr<hal::hidl::BurstChannel>>(
        const hal::hidl::BurstChannel::Lengths& lengths)>;

// `request`: a valid one of that model, all of whose pools are shared memory.
using BurstCheck = Verdict(const OpenBurst& open, const driver::Request& request);

BurstCheck removeDatumTest;
BurstCheck addDatumTest;
BurstCheck mutateDatumTest;
BurstCheck validateBurstFmqLength;
BurstCheck validateBurstSanitized;

}  // namespace halyard::vts
