// SPDX-License-Identifier: Apache-2.0

#include "driver/ops/window.h"

#include <string>

namespace halyard::driver {
namespace {

// NNAPI's PaddingCode.
constexpr int32_t kSame = 1;
constexpr int32_t kValid = 2;

}  // namespace

Result<engine::Window2d> readWindow(const Lowering& lowering, bool isExplicit, size_t& position) {
    engine::Window2d window;
    if (isExplicit) {
        window.padding = engine::PaddingScheme::EXPLICIT;
        HALYARD_ASSIGN_OR_RETURN(window.left, lowering.int32AtLeast(position++, "left padding", 0));
        HALYARD_ASSIGN_OR_RETURN(window.right,
                                 lowering.int32AtLeast(position++, "right padding", 0));
        HALYARD_ASSIGN_OR_RETURN(window.top, lowering.int32AtLeast(position++, "top padding", 0));
        HALYARD_ASSIGN_OR_RETURN(window.bottom,
                                 lowering.int32AtLeast(position++, "bottom padding", 0));
    } else {
        HALYARD_ASSIGN_OR_RETURN(const int32_t scheme,
                                 lowering.int32(position++, "padding scheme"));
        if (scheme != kSame && scheme != kValid) {
            return invalidArgument("padding scheme " + std::to_string(scheme) +
                                   " is neither 1 (SAME) nor 2 (VALID)");
        }
        window.padding =
                scheme == kSame ? engine::PaddingScheme::SAME : engine::PaddingScheme::VALID;
    }
    HALYARD_ASSIGN_OR_RETURN(window.strideW, lowering.int32AtLeast(position++, "stride width", 1));
    HALYARD_ASSIGN_OR_RETURN(window.strideH, lowering.int32AtLeast(position++, "stride height", 1));
    return window;
}

Status readDilation(const Lowering& lowering, size_t position, engine::Window2d& window) {
    if (position >= lowering.inputCount()) {
        return {};
    }
    HALYARD_ASSIGN_OR_RETURN(window.dilationW,
                             lowering.int32AtLeast(position, "dilation width", 1));
    HALYARD_ASSIGN_OR_RETURN(window.dilationH,
                             lowering.int32AtLeast(position + 1, "dilation height", 1));
    return {};
}

}  // namespace halyard::driver
