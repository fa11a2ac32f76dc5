// SPDX-License-Identifier: Apache-2.0

#include "harness/device/vts/validation/constant_value.h"

#include <memory>
#include <utility>
#include <vector>

#include "engine/base/checked_math.h"

namespace halyard::vts {

std::optional<uint32_t> valueSize(const driver::Operand& operand) {
    const driver::OperandTypeInfo* info = driver::findOperandType(operand.type);
    if (info == nullptr || info->elementSize == 0 ||
        (info->isTensor() && operand.dimensions.empty())) {
        return std::nullopt;
    }
    std::optional<uint32_t> size = static_cast<uint32_t>(info->elementSize);
    for (const uint32_t dimension : operand.dimensions) {
        size = dimension == 0 ? std::nullopt : checkedMultiply(*size, dimension);
        if (!size.has_value()) {
            return std::nullopt;
        }
    }
    return size;
}

void giveValue(driver::Model& model, driver::Operand& constant) {
    const uint32_t size = *valueSize(constant);
    constant.location = {.poolIndex = 0, .offset = 0, .length = size};
    if (model.operandValues->size() < size) {
        std::vector<uint8_t> values = *model.operandValues;
        values.resize(size);
        model.operandValues = std::make_shared<const std::vector<uint8_t>>(std::move(values));
    }
}

}  // namespace halyard::vts
