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

Status checkAxis(const Axis& axis) {
    if (axis.stride < 1 || axis.dilation < 1) {
        return failure(axis, "stride " + std::to_string(axis.stride) + " and dilation " +
                                     std::to_string(axis.dilation) + " must be positive");
    }
    if (axis.filter != kUnknownDimension && axis.filter < 1) {
        return failure(axis, "the filter has no elements");
    }
    if (axis.padding == PaddingScheme::EXPLICIT && (axis.before < 0 || axis.after < 0)) {
        return failure(axis, "padding " + std::to_string(axis.before) + ", " +
                                     std::to_string(axis.after) + " must not be negative");
    }
    return {};
}

// All sums and products of two int32 fit int64.
Result<ResolvedAxis> resolveAxis(const Axis& axis) {
    HALYARD_RETURN_IF_ERROR(checkAxis(axis));
    ResolvedAxis resolved;
    if (axis.padding == PaddingScheme::EXPLICIT) {
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

// The same for the gradient of a convolution: `output` is the extent that is asked for with SAME
// and VALID.
Result<ResolvedAxis> resolveTransposeAxis(const Axis& axis, int32_t output) {
    HALYARD_RETURN_IF_ERROR(checkAxis(axis));
    ResolvedAxis resolved;
    const bool isExplicit = axis.padding == PaddingScheme::EXPLICIT;
    if (isExplicit) {
        resolved.before = axis.before;
        resolved.after = axis.after;
    } else {
        resolved.output = output;
    }
    if (axis.input == kUnknownDimension || axis.filter == kUnknownDimension ||
        (!isExplicit && output == kUnknownDimension)) {
        return resolved;
    }
    // The extent that filters cover, one stride apart.
    const int64_t covered = (static_cast<int64_t>(axis.input) - 1) * axis.stride + axis.filter;
    if (isExplicit) {
        const int64_t rest = covered - axis.before - axis.after;
        if (rest < 0 || rest > std::numeric_limits<int32_t>::max()) {
            return failure(axis, "an output of " + std::to_string(rest) + " can't be");
        }
        resolved.output = static_cast<int32_t>(rest);
        return resolved;
    }
    const int64_t input = axis.padding == PaddingScheme::SAME
                                  ? (static_cast<int64_t>(output) + axis.stride - 1) / axis.stride
                          : output < axis.filter
                                  ? 0
                                  : (static_cast<int64_t>(output) - axis.filter) / axis.stride + 1;
    if (input != axis.input) {
        return failure(axis, "an output of " + std::to_string(output) + " belongs to an input of " +
                                     std::to_string(input) + ", not " + std::to_string(axis.input));
    }
    if (axis.padding == PaddingScheme::SAME) {
        const int64_t missing = std::max<int64_t>(0, covered - output);
        if (missing > std::numeric_limits<int32_t>::max()) {
            return failure(axis, "the filter is too large");
        }
        resolved.before = static_cast<int32_t>(missing / 2);
        resolved.after = static_cast<int32_t>(missing - missing / 2);
    }
    return resolved;
}

Axis verticalOf(const Window2d& window, int32_t input, int32_t filter) {
    return {.name = "height",
            .padding = window.padding,
            .before = window.top,
            .after = window.bottom,
            .stride = window.strideH,
            .dilation = window.dilationH,
            .input = input,
            .filter = filter};
}

Axis horizontalOf(const Window2d& window, int32_t input, int32_t filter) {
    return {.name = "width",
            .padding = window.padding,
            .before = window.left,
            .after = window.right,
            .stride = window.strideW,
            .dilation = window.dilationW,
            .input = input,
            .filter = filter};
}

ResolvedWindow join(const ResolvedAxis& vertical, const ResolvedAxis& horizontal) {
    return {.top = vertical.before,
            .bottom = vertical.after,
            .left = horizontal.before,
            .right = horizontal.after,
            .outputH = vertical.output,
            .outputW = horizontal.output};
}

}  // namespace

Result<ResolvedWindow> resolveWindow(const Window2d& window, int32_t inputH, int32_t inputW,
                                     int32_t filterH, int32_t filterW) {
    HALYARD_ASSIGN_OR_RETURN(const ResolvedAxis vertical,
                             resolveAxis(verticalOf(window, inputH, filterH)));
    HALYARD_ASSIGN_OR_RETURN(const ResolvedAxis horizontal,
                             resolveAxis(horizontalOf(window, inputW, filterW)));
    return join(vertical, horizontal);
}

Result<ResolvedWindow> resolveTransposeWindow(const Window2d& window, int32_t inputH,
                                              int32_t inputW, int32_t filterH, int32_t filterW,
                                              int32_t outputH, int32_t outputW) {
    if (window.dilationH != 1 || window.dilationW != 1) {
        return invalidArgument("the window of a transposed convolution has no dilation");
    }
    HALYARD_ASSIGN_OR_RETURN(const ResolvedAxis vertical,
                             resolveTransposeAxis(verticalOf(window, inputH, filterH), outputH));
    HALYARD_ASSIGN_OR_RETURN(const ResolvedAxis horizontal,
                             resolveTransposeAxis(horizontalOf(window, inputW, filterW), outputW));
    return join(vertical, horizontal);
}

}  // namespace halyard::engine
