// SPDX-License-Identifier: Apache-2.0

#include "driver/ops/window.h"

#include <string>

namespace halyard::driver {
namespace {

// NNAPI's PaddingCode.
constexpr int32_t kSame = 1;
constexpr int32_t kValid = 2;

Status readPadding(const Lowering& lowering, engine::Window2d& window) {
    if (lowering.has("padding_left")) {
        window.padding = engine::PaddingScheme::EXPLICIT;
        HALYARD_ASSIGN_OR_RETURN(window.left, lowering.int32AtLeast("padding_left", 0));
        HALYARD_ASSIGN_OR_RETURN(window.right, lowering.int32AtLeast("padding_right", 0));
        HALYARD_ASSIGN_OR_RETURN(window.top, lowering.int32AtLeast("padding_top", 0));
        HALYARD_ASSIGN_OR_RETURN(window.bottom, lowering.int32AtLeast("padding_bottom", 0));
        return {};
    }
    HALYARD_ASSIGN_OR_RETURN(const int32_t scheme, lowering.int32("padding_scheme"));
    if (scheme != kSame && scheme != kValid) {
        return invalidArgument(lowering.view().input("padding_scheme").name() + " is " +
                               std::to_string(scheme) + ", neither 1 (SAME) nor 2 (VALID)");
    }
    window.padding = scheme == kSame ? engine::PaddingScheme::SAME : engine::PaddingScheme::VALID;
    return {};
}

}  // namespace

OperandForms explicitPadding() {
    return {int32("padding_left"), int32("padding_right"), int32("padding_top"),
            int32("padding_bottom")};
}

OperandForms implicitPadding() {
    return {int32("padding_scheme")};
}

OperandForms strides() {
    return {int32("stride_width"), int32("stride_height")};
}

OperandForms dilations() {
    return {int32("dilation_width"), int32("dilation_height")};
}

Result<engine::Window2d> readWindow(const Lowering& lowering) {
    engine::Window2d window;
    HALYARD_RETURN_IF_ERROR(readPadding(lowering, window));
    HALYARD_ASSIGN_OR_RETURN(window.strideW, lowering.int32AtLeast("stride_width", 1));
    HALYARD_ASSIGN_OR_RETURN(window.strideH, lowering.int32AtLeast("stride_height", 1));
    return window;
}

Status readDilations(const Lowering& lowering, engine::Window2d& window) {
    if (!lowering.has("dilation_width")) {
        return {};
    }
    HALYARD_ASSIGN_OR_RETURN(window.dilationW, lowering.int32AtLeast("dilation_width", 1));
    HALYARD_ASSIGN_OR_RETURN(window.dilationH, lowering.int32AtLeast("dilation_height", 1));
    return {};
}

}  // namespace halyard::driver
