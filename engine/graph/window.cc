// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "engine/graph/shape_inference.h"

namespace halyard::engine {
namespace {

// One axis of a window.
struct Axis {
    const char* name;
    PaddingScheme padding;
    int32_t before;
    int32_t after;
    int32_t stride;
    int32_t dilation;
    int32_t input;
    int32_t filter;
};

struct ResolvedAxis {
    int32_t before = 0;
    int32_t after = 0;
    int32_t output = kUnknownDimension;
};

Status failure(const Axis& axis, const std::string& rule) {
    return invalidArgument("window along " + std::string(axis.name) + ": " + rule);
}

// All sums and products of two int32 fit int64.
Result<ResolvedAxis> resolveAxis(const Axis& axis) {
    if (axis.stride < 1 || axis.dilation < 1) {
        return failure(axis, "stride " + std::to_string(axis.stride) + " and dilation " +
                                     std::to_string(axis.dilation) + " must be positive");
    }
    if (axis.filter != kUnknownDimension && axis.filter < 1) {
        return failure(axis, "the filter has no elements");
    }
    const bool isExplicit = axis.padding == PaddingScheme::EXPLICIT;
    if (isExplicit && (axis.before < 0 || axis.after < 0)) {
        return failure(axis, "padding " + std::to_string(axis.before) + ", " +
                                     std::to_string(axis.after) + " must not be negative");
    }
    ResolvedAxis resolved;
    if (isExplicit) {
        resolved.before = axis.before;
        resolved.after = axis.after;
    }
    const int64_t input = axis.input;
    const int64_t span = (static_cast<int64_t>(axis.filter) - 1) * axis.dilation + 1;
    if (axis.input == kUnknownDimension || axis.filter == kUnknownDimension) {
        return resolved;
    }
    if (axis.padding == PaddingScheme::SAME) {
        // As many outputs as strides begin in the input; what the last window lacks is padded, the
        // odd element at the end.
        const int64_t output = (input + axis.stride - 1) / axis.stride;
        const int64_t missing = std::max<int64_t>(0, (output - 1) * axis.stride + span - input);
        if (missing > std::numeric_limits<int32_t>::max()) {
            return failure(axis, "the dilated filter is too large");
        }
        resolved.output = static_cast<int32_t>(output);
        resolved.before = static_cast<int32_t>(missing / 2);
        resolved.after = static_cast<int32_t>(missing - missing / 2);
        return resolved;
    }
    const int64_t padded = input + resolved.before + resolved.after;
    if (span > padded) {
        return failure(axis, "the dilated filter (" + std::to_string(span) +
                                     ") does not fit the padded input (" + std::to_string(padded) +
                                     ")");
    }
    const int64_t output = (padded - span) / axis.stride + 1;
    if (output > std::numeric_limits<int32_t>::max()) {
        return failure(axis, "the output is too large");
    }
    resolved.output = static_cast<int32_t>(output);
    return resolved;
}

}  // namespace

Result<ResolvedWindow> resolveWindow(const Window2d& window, int32_t inputH, int32_t inputW,
                                     int32_t filterH, int32_t filterW) {
    HALYARD_ASSIGN_OR_RETURN(const ResolvedAxis vertical, resolveAxis({.name = "height",
                                                                       .padding = window.padding,
                                                                       .before = window.top,
                                                                       .after = window.bottom,
                                                                       .stride = window.strideH,
                                                                       .dilation = window.dilationH,
                                                                       .input = inputH,
                                                                       .filter = filterH}));
    HALYARD_ASSIGN_OR_RETURN(const ResolvedAxis horizontal,
                             resolveAxis({.name = "width",
                                          .padding = window.padding,
                                          .before = window.left,
                                          .after = window.right,
                                          .stride = window.strideW,
                                          .dilation = window.dilationW,
                                          .input = inputW,
                                          .filter = filterW}));
    return ResolvedWindow{.top = vertical.before,
                          .bottom = vertical.after,
                          .left = horizontal.before,
                          .right = horizontal.after,
                          .outputH = vertical.output,
                          .outputW = horizontal.output};
}

}  // namespace halyard::engine
