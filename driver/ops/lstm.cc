// SPDX-License-Identifier: Apache-2.0

#include "driver/ops/lstm.h"

#include <cstdint>
#include <string>

namespace halyard::driver {
namespace {

// Codes of their own: those of fused activations end before TANH.
Result<engine::LstmAttributes::Function> readFunction(const Lowering& lowering) {
    using Function = engine::LstmAttributes::Function;
    HALYARD_ASSIGN_OR_RETURN(const int32_t code, lowering.int32("activation"));
    switch (code) {
        case 0:
            return Function::NONE;
        case 1:
            return Function::RELU;
        case 3:
            return Function::RELU6;
        case 4:
            return Function::TANH;
        case 6:
            return Function::LOGISTIC;
        default:
            return invalidArgument(lowering.view().input("activation").name() + " is " +
                                   std::to_string(code) + ", not 0, 1, 3, 4 or 6");
    }
}

}  // namespace

Result<engine::LstmAttributes> readLstmAttributes(const Lowering& lowering) {
    engine::LstmAttributes attributes;
    HALYARD_ASSIGN_OR_RETURN(attributes.activation, readFunction(lowering));
    HALYARD_ASSIGN_OR_RETURN(attributes.cellClip, lowering.realAtLeast("cell_clip", 0.0F));
    HALYARD_ASSIGN_OR_RETURN(attributes.projectionClip,
                             lowering.realAtLeast("projection_clip", 0.0F));
    return attributes;
}

}  // namespace halyard::driver
