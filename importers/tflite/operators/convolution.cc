// SPDX-License-Identifier: Apache-2.0
//
// CONV_2D, DEPTHWISE_CONV_2D, TRANSPOSE_CONV. Filters that the engine wants as it is handed them:
// [Cout, Kh, Kw, Cin], of a depthwise convolution [1, Kh, Kw, C * multiplier].

#include <utility>

#include "importers/tflite/operators/handlers.h"

namespace halyard::tflite {
namespace {

using engine::TensorType;
using engine::Window2d;

// The options that a convolution's window is made of, by their places.
struct WindowOptions {
    size_t padding;
    size_t strideW;
    size_t strideH;
};

Result<Window2d> readWindow(Mapper& mapper, const WindowOptions& options) {
    Window2d window;
    HALYARD_ASSIGN_OR_RETURN(window.padding, mapper.padding(options.padding));
    window.strideW = mapper.integer(options.strideW);
    window.strideH = mapper.integer(options.strideH);
    return window;
}

// Data, filter and bias, at these places of the inputs.
struct Operands {
    TensorId x;
    TensorId filter;
    TensorId bias;
};

Result<Operands> readOperands(Mapper& mapper, size_t data, size_t weights, size_t bias,
                              size_t channelAxis) {
    Operands operands = {};
    HALYARD_ASSIGN_OR_RETURN(const int32_t activations, mapper.input(data));
    HALYARD_ASSIGN_OR_RETURN(operands.x, mapper.read(activations));
    HALYARD_ASSIGN_OR_RETURN(operands.filter, mapper.readWeights(weights, activations));
    const TensorType& filter = mapper.typeOf(operands.filter);
    if (mapper.typeOf(operands.x).shape.rank() != 4 || filter.shape.rank() != 4) {
        return unsupported("its input is " + mapper.typeOf(operands.x).shape.toString() +
                           " and its filter " + filter.shape.toString() +
                           ", and both have to have 4 dimensions");
    }
    if (mapper.has(bias)) {
        HALYARD_ASSIGN_OR_RETURN(operands.bias, mapper.readWeights(bias, activations));
    } else {
        HALYARD_ASSIGN_OR_RETURN(operands.bias, mapper.zeroBias(mapper.typeOf(operands.x),
                                                                filter.shape[channelAxis]));
    }
    return operands;
}

}  // namespace

Status mapConv2d(Mapper& mapper) {
    using Options = Conv2dOptions;
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(2, 3));
    HALYARD_ASSIGN_OR_RETURN(const Operands operands, readOperands(mapper, 0, 1, 2, 0));
    HALYARD_ASSIGN_OR_RETURN(
            Window2d window,
            readWindow(mapper, {Options::kPadding, Options::kStrideW, Options::kStrideH}));
    window.dilationW = mapper.integer(Options::kDilationWFactor);
    window.dilationH = mapper.integer(Options::kDilationHFactor);
    // Of the bias, which is there with its own type.
    mapper.accept(Options::kQuantizedBiasType);
    const int32_t channels = mapper.typeOf(operands.x).shape[3];
    const int32_t depth = mapper.typeOf(operands.filter).shape[3];
    if (channels < 0 || depth <= 0 || channels % depth != 0) {
        return unsupported("it has " + std::to_string(channels) + " channels, and filters of " +
                           std::to_string(depth));
    }
    return mapper.emitActivated(engine::Conv2d{.window = window, .groups = channels / depth},
                                {operands.x, operands.filter, operands.bias},
                                Options::kFusedActivationFunction);
}

Status mapDepthwiseConv2d(Mapper& mapper) {
    using Options = DepthwiseConv2dOptions;
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(2, 3));
    HALYARD_ASSIGN_OR_RETURN(const Operands operands, readOperands(mapper, 0, 1, 2, 3));
    HALYARD_ASSIGN_OR_RETURN(
            Window2d window,
            readWindow(mapper, {Options::kPadding, Options::kStrideW, Options::kStrideH}));
    window.dilationW = mapper.integer(Options::kDilationWFactor);
    window.dilationH = mapper.integer(Options::kDilationHFactor);
    // Runtimes go by the shapes: files have anything there.
    mapper.accept(Options::kDepthMultiplier);
    const int32_t channels = mapper.typeOf(operands.x).shape[3];
    const int32_t filters = mapper.typeOf(operands.filter).shape[3];
    if (channels <= 0 || filters % channels != 0) {
        return unsupported("it has " + std::to_string(filters) + " filters for " +
                           std::to_string(channels) + " channels");
    }
    return mapper.emitActivated(
            engine::DepthwiseConv2d{.window = window, .multiplier = filters / channels},
            {operands.x, operands.filter, operands.bias}, Options::kFusedActivationFunction);
}

Status mapTransposeConv(Mapper& mapper) {
    using Options = TransposeConvOptions;
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(3, 4));
    HALYARD_ASSIGN_OR_RETURN(const Operands operands, readOperands(mapper, 2, 1, 3, 0));
    HALYARD_ASSIGN_OR_RETURN(
            const Window2d window,
            readWindow(mapper, {Options::kPadding, Options::kStrideW, Options::kStrideH}));
    mapper.accept(Options::kQuantizedBiasType);
    HALYARD_ASSIGN_OR_RETURN(const TensorId shape, mapper.readInput(0));
    return mapper.emitActivated(engine::TransposeConv2d{.window = window},
                                {operands.x, operands.filter, operands.bias, shape},
                                Options::kFusedActivationFunction);
}

}  // namespace halyard::tflite
