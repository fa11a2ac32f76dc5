// SPDX-License-Identifier: Apache-2.0
//
// Models with examples as fuzz inputs (halyard.proto's TestCase).

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "driver/model/model.h"
#include "driver/model/request.h"
#include "harness/device/cases/messages.h"

namespace halyard::fuzz {

namespace pb = runner::pb;

// Nothing if the bytes are no case, or one that is too large to be tried in a short time.
std::optional<pb::TestCase> parseCase(std::span<const uint8_t> bytes);

// libFuzzer's hooks of these names, for a target whose inputs are cases.
size_t mutateCase(uint8_t* data, size_t size, size_t maxSize, unsigned seed);
size_t crossCases(std::span<const uint8_t> first, std::span<const uint8_t> second,
                  std::span<uint8_t> out, unsigned seed);

// ---- As the driver takes them -------------------------------------------------------------------

// Every pool is an allocation of its exact size, so that a sanitizer sees accesses beyond. `pools`
// are where the bytes lie.
using Pools = std::vector<std::span<uint8_t>>;
std::optional<driver::Model> modelOf(const pb::Model& model, Pools& pools);
// Each argument has a pool of its own, in which it begins at `offset`. `outputs`: those of them
// that are results.
driver::Request requestOf(const pb::Example& example, uint32_t offset, Pools& pools,
                          Pools& outputs);

}  // namespace halyard::fuzz
