// SPDX-License-Identifier: Apache-2.0
//
// Executions of one example whose results have to be the same.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "driver/execute/prepared_model.h"
#include "harness/device/cases/messages.h"

namespace halyard::validation {

// Makes the pool of one argument or constant.
using Allocate = std::function<driver::SharedMemory(size_t size)>;

// All that an execution left behind.
struct Outcome {
    StatusCode status = StatusCode::OK;
    std::vector<driver::OutputShape> shapes;
    std::vector<std::vector<uint8_t>> outputs;  // all the bytes that were offered

    bool operator==(const Outcome&) const = default;
};

// Inputs and outputs in pools of their own. What the driver leaves of an output as it was has a
// pattern.
Outcome run(const driver::PreparedModel& model, const runner::pb::Example& example,
            driver::HalVersion version, const Allocate& allocate);

// Where two outcomes differ; nothing if they do not.
std::optional<std::string> difference(const Outcome& expected, const Outcome& actual);

// The same, but that float elements of two outcomes of the model may differ by a rounding.
std::optional<std::string> differenceBeyondRounding(const driver::Model& model,
                                                    const Outcome& expected, const Outcome& actual);

// Moves each constant into a pool of its own.
driver::Model withConstantsIn(const driver::Model& model, const Allocate& allocate);

}  // namespace halyard::validation
