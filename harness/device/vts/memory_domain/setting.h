// SPDX-License-Identifier: Apache-2.0
//
// The setting of the checks of memory domains: an operand of each type, models that take it, and
// buffers for them.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "driver/device/device_interface.h"
#include "driver/model/model.h"
#include "driver/model/request.h"
#include "harness/device/vts/fixture/check.h"
#include "harness/device/vts/fixture/context.h"

namespace halyard::vts {

// Types of which a driver is likely to support one at least; the official suite's.
inline constexpr driver::OperandType kDomainTypes[] = {
        driver::OperandType::TENSOR_FLOAT32,
        driver::OperandType::TENSOR_FLOAT16,
        driver::OperandType::TENSOR_QUANT8_ASYMM,
        driver::OperandType::TENSOR_QUANT8_ASYMM_SIGNED,
};

bool isFloat(driver::OperandType type);
// Of 1 x 32 x 32 x 8.
driver::Operand domainOperand(driver::OperandType type);
// Convolutions of one input each, whose outputs are like their inputs.
driver::Model convolutions(const driver::Operand& operand, size_t count = 1);
// Of an input and another, with an activation that is an input, too.
driver::Model addition(const driver::Operand& operand);

struct DomainBuffer {
    std::shared_ptr<driver::IBuffer> buffer;
    Verdict verdict;  // why there is none
};

class DomainSetting {
  public:
    DomainSetting(Context& context, driver::OperandType type)
        : mContext(context), mOperand(domainOperand(type)) {}

    Context& context() const { return mContext; }
    const driver::Operand& operand() const { return mOperand; }
    driver::Operand operandWith(size_t axis, uint32_t extent) const;
    uint32_t bytes() const;

    // A buffer for inputs and outputs of one model. A device may always answer GENERAL_FAILURE; the
    // check is skipped then.
    DomainBuffer allocate(const std::shared_ptr<driver::IPreparedModel>& model,
                          const std::vector<uint32_t>& inputs, const std::vector<uint32_t>& outputs,
                          const std::vector<uint32_t>& dimensions = {}) const;
    // Fills one with what memory of its size holds.
    Verdict fill(driver::IBuffer& buffer) const;

    Verdict expect(const Status& found, driver::ErrorStatus wanted, std::string_view call) const;

  private:
    Context& mContext;
    const driver::Operand mOperand;
};

// The checks of one operand type.
struct DomainRow {
    std::string_view name;
    Verdict (*run)(const DomainSetting& setting);
};

// By name and type: "MemoryDomainAllocateTest.EmptyRole_TENSOR_FLOAT32".
void addDomainChecks(std::string_view suite, const DomainRow& row, driver::HalVersion since,
                     driver::HalVersion until, Checks& checks);

}  // namespace halyard::vts
