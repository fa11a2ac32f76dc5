// SPDX-License-Identifier: Apache-2.0
//
// ModelBuilder: the small models that checks of the device make themselves.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "driver/model/model.h"

namespace halyard::vts {

// Bytes of a value of an operand whose dimensions are known.
uint32_t bytesOf(const driver::Operand& operand);

class ModelBuilder {
  public:
    // Each gives the index of a new operand like that one, of that lifetime.
    uint32_t input(const driver::Operand& like);
    uint32_t output(const driver::Operand& like);
    uint32_t temporary(const driver::Operand& like);
    uint32_t constant(const driver::Operand& like, std::span<const uint8_t> value);
    template <typename Element>
    uint32_t constant(const driver::Operand& like, const std::vector<Element>& value) {
        return constant(like, std::span(reinterpret_cast<const uint8_t*>(value.data()),
                                        value.size() * sizeof(Element)));
    }
    uint32_t scalar(int32_t value);  // a constant
    void operation(driver::OperationType type, std::vector<uint32_t> inputs,
                   std::vector<uint32_t> outputs);

    driver::Model build() const;

  private:
    uint32_t add(const driver::Operand& like, driver::OperandLifeTime lifetime);

    driver::Model mModel;
    std::vector<uint8_t> mValues;
};

}  // namespace halyard::vts
