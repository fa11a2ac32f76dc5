// SPDX-License-Identifier: Apache-2.0
//
// SavedModel: a prepared model as a file has the program's own sections (engine/plan/program.h) and
// one with what the driver adds: what crosses the model's boundary, what it takes of an account,
// and the options that it was prepared with.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "driver/model/validate_request.h"
#include "engine/base/status.h"

namespace halyard::driver {

struct DeviceState;

struct SavedModel {
    ModelBoundary boundary;
    uint64_t footprint = 0;  // bytes of heap
    std::string settings;
};

// Those of a device's options that a model's program depends on: the same text, the same program.
std::string settingsOf(const DeviceState& state);

std::vector<uint8_t> toBytes(const SavedModel& saved);
// The bytes may come from anywhere: INVALID_ARGUMENT where they say something else.
Result<SavedModel> savedModelFrom(std::span<const uint8_t> bytes);

}  // namespace halyard::driver
