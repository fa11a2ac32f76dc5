// SPDX-License-Identifier: Apache-2.0
//
// A model of one operation, and the versions in which it is valid.

#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "driver/ops/operation_table.h"
#include "tests/driver/device_fixture.h"
#include "tests/driver/model_builder.h"

namespace halyard::driver {

// One operation whose operands all come from, or go to, the outside.
class SingleOperation {
  public:
    explicit SingleOperation(OperationType type) : mType(type) {}
    SingleOperation& input(const OperandSpec& spec) {
        mInputs.push_back(mBuilder.input(spec));
        return *this;
    }
    SingleOperation& inputs(OperandType type, size_t count) {
        for (size_t i = 0; i < count; ++i) {
            input({type, {}});
        }
        return *this;
    }
    template <typename T>
    SingleOperation& constant(OperandType type, T value) {
        mInputs.push_back(mBuilder.constant<T>({type, {}}, {value}));
        return *this;
    }
    SingleOperation& output(const OperandSpec& spec) {
        mOutputs.push_back(mBuilder.output(spec));
        return *this;
    }
    Operand& operand(uint32_t index) { return mBuilder.operand(index); }
    Operand& firstOutput() { return operand(mOutputs.front()); }
    ModelBuilder& builder() { return mBuilder; }
    Model build() {
        mBuilder.operation(mType, mInputs, mOutputs);
        return mBuilder.build();
    }

  private:
    OperationType mType;
    ModelBuilder mBuilder;
    std::vector<uint32_t> mInputs;
    std::vector<uint32_t> mOutputs;
};

inline void expectSince(const Model& model, HalVersion since, const std::string& what) {
    for (const HalVersion version : kVersions) {
        const Status status = validateOperations(model, version);
        EXPECT_EQ(status.code(), version < since ? StatusCode::INVALID_ARGUMENT : StatusCode::OK)
                << what << " in HAL " << toString(version) << ": " << status.toString();
    }
}

inline void expectNever(const Model& model, const std::string& what) {
    for (const HalVersion version : kVersions) {
        EXPECT_EQ(validateOperations(model, version).code(), StatusCode::INVALID_ARGUMENT)
                << what << " in HAL " << toString(version);
    }
}

// A quantised operand's scale and zero point that every rule accepts: inputs share one, outputs
// that are probabilities have theirs.
inline OperandSpec plausible(OperandType type) {
    switch (type) {
        case OperandType::TENSOR_QUANT8_ASYMM:
        case OperandType::TENSOR_QUANT8_ASYMM_SIGNED:
        case OperandType::TENSOR_QUANT8_SYMM:
            return {type,
                    {},
                    1.0F / 256.0F,
                    type == OperandType::TENSOR_QUANT8_ASYMM_SIGNED ? -128 : 0};
        case OperandType::TENSOR_INT32:
            return {type, {}, 1.0F / 65536.0F, 0};
        case OperandType::TENSOR_QUANT16_ASYMM:
            return {type, {}, 1.0F / 8.0F, 0};
        case OperandType::TENSOR_QUANT16_SYMM:
            return {type, {}, 1.0F / 2048.0F, 0};
        default:
            return {type, {}};
    }
}

}  // namespace halyard::driver
