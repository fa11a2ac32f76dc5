// SPDX-License-Identifier: Apache-2.0
//
// Element types and constants of TFLite as the engine has them.

#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/budget.h"
#include "engine/base/status.h"
#include "engine/graph/constant_data.h"
#include "engine/graph/tensor.h"
#include "importers/tflite/model.h"

namespace halyard::tflite {

// The engine's type of a tensor that is computed, given or kept, with its declared shape. `shown`
// names it in failures. UNSUPPORTED where the engine has no such type or quantisation.
Result<engine::TensorType> engineType(const Tensor& tensor, std::string_view shown);

// A constant in the engine's type. Its bytes are the constant's own where these are of that type,
// else new ones, reserved from `memory`. Also INVALID_ARGUMENT where there are not as many bytes as
// type and shape ask for.
Result<std::pair<engine::TensorType, engine::ConstantData>> engineConstant(
        const Tensor& tensor, std::string_view shown, const std::shared_ptr<Budget>& memory);

// A quantised constant as FLOAT32: (element - zero point) * scale, per channel where scales are.
Result<std::pair<engine::TensorType, engine::ConstantData>> realConstant(
        const Tensor& tensor, std::string_view shown, const std::shared_ptr<Budget>& memory);

// The elements of a constant of INT8, UINT8, INT16, INT32, INT64 or BOOL.
Result<std::vector<int64_t>> integersOf(const Tensor& tensor, std::string_view shown);

// Owns bytes that were reserved before they were allocated.
Result<engine::ConstantData> ownedConstant(std::vector<uint8_t> bytes,
                                           const std::shared_ptr<Budget>& memory);

}  // namespace halyard::tflite
