// SPDX-License-Identifier: Apache-2.0

#include "nnapi/default_arguments.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace halyard::nnapi {
namespace {

using driver::OperandType;
using driver::OperationType;

constexpr std::array kLayout = {0};
constexpr std::array kLayoutAndDilations = {0, 1, 1};
constexpr std::array kLayoutAndCorners = {0, 0, 0};
constexpr std::array kCorners = {0, 0};
constexpr std::array kLastAxis = {-1};

// What stands behind the arguments that an operation can't do without.
struct Defaults {
    OperationType type = OperationType::ADD;
    size_t needed = 0;
    std::span<const int> values;
    // Of the form that has a scheme in place of four paddings; 0: there is but one form.
    size_t neededWithScheme = 0;
};

constexpr std::array kDefaults = {
        Defaults{OperationType::AVERAGE_POOL_2D, 10, kLayout, 7},
        Defaults{OperationType::L2_POOL_2D, 10, kLayout, 7},
        Defaults{OperationType::MAX_POOL_2D, 10, kLayout, 7},
        Defaults{OperationType::CONV_2D, 10, kLayoutAndDilations, 7},
        Defaults{OperationType::DEPTHWISE_CONV_2D, 11, kLayoutAndDilations, 8},
        Defaults{OperationType::BATCH_TO_SPACE_ND, 2, kLayout},
        Defaults{OperationType::SPACE_TO_BATCH_ND, 3, kLayout},
        Defaults{OperationType::DEPTH_TO_SPACE, 2, kLayout},
        Defaults{OperationType::SPACE_TO_DEPTH, 2, kLayout},
        Defaults{OperationType::RESIZE_BILINEAR, 3, kLayoutAndCorners},
        Defaults{OperationType::RESIZE_NEAREST_NEIGHBOR, 4, kCorners},
        Defaults{OperationType::SOFTMAX, 2, kLastAxis},
        Defaults{OperationType::L2_NORMALIZATION, 1, kLastAxis},
        Defaults{OperationType::LOCAL_RESPONSE_NORMALIZATION, 5, kLastAxis},
};

// Of a constant scalar that lies in the model itself.
std::optional<int> valueOf(const driver::Model& model, uint32_t index) {
    const driver::Operand& operand = model.main.operands[index];
    if (operand.lifetime != driver::OperandLifeTime::CONSTANT_COPY) {
        return std::nullopt;
    }
    const uint8_t* const bytes = model.operandValues->data() + operand.location.offset;
    if (operand.type == OperandType::BOOL && operand.location.length == 1) {
        return *bytes;
    }
    int32_t value = 0;
    if (operand.type != OperandType::INT32 || operand.location.length != sizeof value) {
        return std::nullopt;
    }
    std::memcpy(&value, bytes, sizeof value);
    return value;
}

// How many arguments the form of the operation has without defaults: those with a scheme have a
// layout, which is a BOOL, where the others have a stride or a filter's extent.
size_t neededBy(const Defaults& defaults, const driver::Model& model,
                const driver::Operation& operation) {
    const size_t inputs = operation.inputs.size();
    const size_t scheme = defaults.neededWithScheme;
    if (scheme == 0 || inputs <= scheme) {
        return scheme == 0 ? defaults.needed : scheme;
    }
    return model.main.operands[operation.inputs[scheme]].type == OperandType::BOOL
                   ? scheme
                   : defaults.needed;
}

}  // namespace

void dropDefaultArguments(driver::Model& model) {
    for (driver::Operation& operation : model.main.operations) {
        const auto found = std::ranges::find(kDefaults, operation.type, &Defaults::type);
        if (found == kDefaults.end()) {
            continue;
        }
        const size_t needed = neededBy(*found, model, operation);
        while (operation.inputs.size() > needed &&
               operation.inputs.size() - needed <= found->values.size() &&
               valueOf(model, operation.inputs.back()) ==
                       found->values[operation.inputs.size() - needed - 1]) {
            --model.main.operands[operation.inputs.back()].numberOfConsumers;
            operation.inputs.pop_back();
        }
    }
}

}  // namespace halyard::nnapi
