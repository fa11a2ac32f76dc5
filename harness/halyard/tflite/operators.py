# SPDX-License-Identifier: Apache-2.0
"""From NNAPI operations to TFLite operators, by a handler for each or for a group of alike ones."""

from __future__ import annotations

from halyard.errors import NotExpressible
from halyard.model import arguments
from halyard.model.arguments import ExplicitPadding, Window
from halyard.model.call import Call
from halyard.proto import halyard_pb2 as pb
from halyard.tflite import detection, recurrent, schema
from halyard.tflite.converter import Converter, Handler
from halyard.tflite.graph import Graph, Options
from halyard.tflite.schema import BuiltinOperator, BuiltinOptions


def convert(model: pb.Model) -> Graph:
    """The main subgraph as a TFLite graph. NotExpressible says which operation is the trouble."""
    return Converter(model, _HANDLERS).run()


def _convolution(converter: Converter, call: Call) -> None:
    window = converter.window(call)
    table = schema.Conv2DOptions
    inputs, padding = _convolution_inputs(converter, call, window)
    options = {
        table.PADDING: padding,
        table.STRIDE_W: window.stride_w,
        table.STRIDE_H: window.stride_h,
        table.FUSED_ACTIVATION_FUNCTION: window.activation,
        table.DILATION_W_FACTOR: window.dilation_w,
        table.DILATION_H_FACTOR: window.dilation_h,
    }
    converter.emit(BuiltinOperator.CONV_2D, call, inputs, Options(BuiltinOptions.CONV_2D, options))


def _depthwise(converter: Converter, call: Call) -> None:
    window = converter.window(call)
    table = schema.DepthwiseConv2DOptions
    inputs, padding = _convolution_inputs(converter, call, window)
    options = {
        table.PADDING: padding,
        table.STRIDE_W: window.stride_w,
        table.STRIDE_H: window.stride_h,
        table.DEPTH_MULTIPLIER: window.multiplier,
        table.FUSED_ACTIVATION_FUNCTION: window.activation,
        table.DILATION_W_FACTOR: window.dilation_w,
        table.DILATION_H_FACTOR: window.dilation_h,
    }
    converter.emit(
        BuiltinOperator.DEPTHWISE_CONV_2D,
        call,
        inputs,
        Options(BuiltinOptions.DEPTHWISE_CONV_2D, options),
    )


def _convolution_inputs(
    converter: Converter, call: Call, window: Window
) -> tuple[list[int], schema.Padding]:
    spans = converter.filter_spans(call, window)
    padding = converter.implicit_padding(window, call, spans)
    inputs = converter.weighted(call, "filter")
    if padding is None:
        assert isinstance(window.padding, ExplicitPadding)
        inputs[0] = converter.padded(call, window.padding)
        padding = schema.Padding.VALID
    return inputs, padding


def _pool(code: BuiltinOperator) -> Handler:
    def handler(converter: Converter, call: Call) -> None:
        window = converter.window(call)
        spans = window.filter_h, window.filter_w
        padding = converter.implicit_padding(window, call, spans)
        if padding is None:
            raise NotExpressible("its padding is neither SAME nor VALID")
        table = schema.Pool2DOptions
        options = {
            table.PADDING: padding,
            table.STRIDE_W: window.stride_w,
            table.STRIDE_H: window.stride_h,
            table.FILTER_WIDTH: window.filter_w,
            table.FILTER_HEIGHT: window.filter_h,
            table.FUSED_ACTIVATION_FUNCTION: window.activation,
        }
        inputs = converter.tensors_of(call)
        converter.emit(code, call, inputs, Options(BuiltinOptions.POOL_2D, options))

    return handler


def _fully_connected(converter: Converter, call: Call) -> None:
    activation = arguments.activation(call)
    options = {schema.FullyConnectedOptions.FUSED_ACTIVATION_FUNCTION: activation}
    converter.emit(
        BuiltinOperator.FULLY_CONNECTED,
        call,
        converter.weighted(call, "weights"),
        Options(BuiltinOptions.FULLY_CONNECTED, options),
    )


def _add(converter: Converter, call: Call) -> None:
    activation = arguments.activation(call)
    options = Options(BuiltinOptions.ADD, {schema.AddOptions.FUSED_ACTIVATION_FUNCTION: activation})
    converter.emit(BuiltinOperator.ADD, call, converter.tensors_of(call), options)


def _sub(converter: Converter, call: Call) -> None:
    activation = arguments.activation(call)
    options = Options(BuiltinOptions.SUB, {schema.SubOptions.FUSED_ACTIVATION_FUNCTION: activation})
    converter.emit(BuiltinOperator.SUB, call, converter.tensors_of(call), options)


def _mul(converter: Converter, call: Call) -> None:
    activation = arguments.activation(call)
    options = Options(BuiltinOptions.MUL, {schema.MulOptions.FUSED_ACTIVATION_FUNCTION: activation})
    converter.emit(BuiltinOperator.MUL, call, converter.tensors_of(call), options)


def _concatenation(converter: Converter, call: Call) -> None:
    axis = call.integer("axis")
    options = Options(BuiltinOptions.CONCATENATION, {schema.ConcatenationOptions.AXIS: axis})
    inputs = converter.tensors_of(call)
    converter.emit(BuiltinOperator.CONCATENATION, call, inputs, options)


def _mean(converter: Converter, call: Call) -> None:
    keep = call.flag("keep_dims")
    inputs = [converter.input(call), converter.constant_input(call, "axes")]
    options = Options(BuiltinOptions.REDUCER, {schema.ReducerOptions.KEEP_DIMS: keep})
    converter.emit(BuiltinOperator.MEAN, call, inputs, options)


def _pad(converter: Converter, call: Call) -> None:
    inputs = [converter.input(call), converter.constant_input(call, "paddings")]
    converter.emit(BuiltinOperator.PAD, call, inputs, Options(BuiltinOptions.PAD, {}))


def _transpose(converter: Converter, call: Call) -> None:
    inputs = [converter.input(call), converter.constant_input(call, "permutation")]
    options = Options(BuiltinOptions.TRANSPOSE, {})
    converter.emit(BuiltinOperator.TRANSPOSE, call, inputs, options)


def _split(converter: Converter, call: Call) -> None:
    name = converter.name(call.output_indexes("outputs")[0])
    inputs = [converter.numbers(f"{name}/axis", [call.integer("axis")]), converter.input(call)]
    count = call.integer("count")
    options = Options(BuiltinOptions.SPLIT, {schema.SplitOptions.NUM_SPLITS: count})
    converter.emit(BuiltinOperator.SPLIT, call, inputs, options)


def _batch_matmul(converter: Converter, call: Call) -> None:
    table = schema.BatchMatMulOptions
    options = {table.ADJ_X: call.flag("transpose_a"), table.ADJ_Y: call.flag("transpose_b")}
    converter.emit(
        BuiltinOperator.BATCH_MATMUL,
        call,
        converter.tensors_of(call),
        Options(BuiltinOptions.BATCH_MAT_MUL, options),
    )


def _resize_bilinear(converter: Converter, call: Call) -> None:
    resize = arguments.resize(call)
    table = schema.ResizeBilinearOptions
    options = {
        table.ALIGN_CORNERS: resize.align_corners,
        table.HALF_PIXEL_CENTERS: resize.half_pixel_centers,
    }
    name = converter.name(call.output())
    size = converter.numbers(f"{name}/size", [resize.height, resize.width])
    converter.emit(
        BuiltinOperator.RESIZE_BILINEAR,
        call,
        [*converter.tensors_of(call), size],
        Options(BuiltinOptions.RESIZE_BILINEAR, options),
    )


def _reshape(converter: Converter, call: Call) -> None:
    inputs = [converter.input(call), converter.constant_input(call, "shape")]
    converter.emit(BuiltinOperator.RESHAPE, call, inputs)


def _softmax(converter: Converter, call: Call) -> None:
    axis = call.integer("axis", -1)
    if axis not in (-1, len(call.shape("input")) - 1):
        raise NotExpressible(f"TFLite's softmax is along the last axis, not {axis}")
    beta = call.scalar("beta")
    options = Options(BuiltinOptions.SOFTMAX, {schema.SoftmaxOptions.BETA: beta})
    inputs = converter.tensors_of(call)
    converter.emit(BuiltinOperator.SOFTMAX, call, inputs, options)


def _plain(code: BuiltinOperator, options: BuiltinOptions = BuiltinOptions.NONE) -> Handler:
    """An operator that has no arguments."""

    def handler(converter: Converter, call: Call) -> None:
        table = None if options is BuiltinOptions.NONE else Options(options, {})
        converter.emit(code, call, converter.tensors_of(call), table)

    return handler


_HANDLERS: dict[int, Handler] = {
    pb.OPERATION_TYPE_ADD: _add,
    pb.OPERATION_TYPE_AVERAGE_POOL_2D: _pool(BuiltinOperator.AVERAGE_POOL_2D),
    pb.OPERATION_TYPE_BATCH_MATMUL: _batch_matmul,
    pb.OPERATION_TYPE_CONCATENATION: _concatenation,
    pb.OPERATION_TYPE_CONV_2D: _convolution,
    pb.OPERATION_TYPE_DEPTHWISE_CONV_2D: _depthwise,
    pb.OPERATION_TYPE_DEQUANTIZE: _plain(BuiltinOperator.DEQUANTIZE, BuiltinOptions.DEQUANTIZE),
    pb.OPERATION_TYPE_DETECTION_POSTPROCESSING: detection.postprocessing,
    pb.OPERATION_TYPE_FULLY_CONNECTED: _fully_connected,
    pb.OPERATION_TYPE_HARD_SWISH: _plain(BuiltinOperator.HARD_SWISH, BuiltinOptions.HARD_SWISH),
    pb.OPERATION_TYPE_LOGISTIC: _plain(BuiltinOperator.LOGISTIC),
    pb.OPERATION_TYPE_MAX_POOL_2D: _pool(BuiltinOperator.MAX_POOL_2D),
    pb.OPERATION_TYPE_MEAN: _mean,
    pb.OPERATION_TYPE_MUL: _mul,
    pb.OPERATION_TYPE_PAD: _pad,
    pb.OPERATION_TYPE_QUANTIZE: _plain(BuiltinOperator.QUANTIZE, BuiltinOptions.QUANTIZE),
    pb.OPERATION_TYPE_QUANTIZED_LSTM: recurrent.quantized_lstm,
    pb.OPERATION_TYPE_RELU: _plain(BuiltinOperator.RELU),
    pb.OPERATION_TYPE_RELU1: _plain(BuiltinOperator.RELU_N1_TO_1),
    pb.OPERATION_TYPE_RELU6: _plain(BuiltinOperator.RELU6),
    pb.OPERATION_TYPE_RESHAPE: _reshape,
    pb.OPERATION_TYPE_RESIZE_BILINEAR: _resize_bilinear,
    pb.OPERATION_TYPE_RSQRT: _plain(BuiltinOperator.RSQRT),
    pb.OPERATION_TYPE_SOFTMAX: _softmax,
    pb.OPERATION_TYPE_SPLIT: _split,
    pb.OPERATION_TYPE_SUB: _sub,
    pb.OPERATION_TYPE_TRANSPOSE: _transpose,
    pb.OPERATION_TYPE_UNIDIRECTIONAL_SEQUENCE_LSTM: recurrent.sequence_lstm,
}
