# SPDX-License-Identifier: Apache-2.0
"""From NNAPI operations to TFLite operators, by a handler for each or for a group of alike ones."""

from __future__ import annotations

from typing import Any

from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.schema_py_generated import BuiltinOperator

from halyard.errors import NotExpressible
from halyard.model import arguments
from halyard.model.arguments import ExplicitPadding, Window
from halyard.model.call import Call
from halyard.proto import halyard_pb2 as pb
from halyard.tflite import detection, recurrent
from halyard.tflite.converter import Converter, Handler
from halyard.tflite.graph import made


def convert(model: pb.Model) -> Any:
    """The main subgraph as a schema.ModelT. NotExpressible says which operation is the trouble."""
    return Converter(model, _HANDLERS).run()


def _convolution(converter: Converter, call: Call) -> None:
    window = converter.window(call)
    inputs, padding = _convolution_inputs(converter, call, window)
    options = made(
        schema.Conv2DOptionsT,
        padding=padding,
        strideW=window.stride_w,
        strideH=window.stride_h,
        fusedActivationFunction=window.activation,
        dilationWFactor=window.dilation_w,
        dilationHFactor=window.dilation_h,
    )
    converter.emit(BuiltinOperator.CONV_2D, call, inputs, options)


def _depthwise(converter: Converter, call: Call) -> None:
    window = converter.window(call)
    inputs, padding = _convolution_inputs(converter, call, window)
    options = made(
        schema.DepthwiseConv2DOptionsT,
        padding=padding,
        strideW=window.stride_w,
        strideH=window.stride_h,
        depthMultiplier=window.multiplier,
        fusedActivationFunction=window.activation,
        dilationWFactor=window.dilation_w,
        dilationHFactor=window.dilation_h,
    )
    converter.emit(BuiltinOperator.DEPTHWISE_CONV_2D, call, inputs, options)


def _convolution_inputs(converter: Converter, call: Call, window: Window) -> tuple[list[int], int]:
    spans = converter.filter_spans(call, window)
    padding = converter.implicit_padding(window, call, spans)
    inputs = converter.weighted(call, "filter")
    if padding is None:
        assert isinstance(window.padding, ExplicitPadding)
        inputs[0] = converter.padded(call, window.padding)
        padding = schema.Padding.VALID
    return inputs, padding


def _pool(code: int) -> Handler:
    def handler(converter: Converter, call: Call) -> None:
        window = converter.window(call)
        spans = window.filter_h, window.filter_w
        padding = converter.implicit_padding(window, call, spans)
        if padding is None:
            raise NotExpressible("its padding is neither SAME nor VALID")
        options = made(
            schema.Pool2DOptionsT,
            padding=padding,
            strideW=window.stride_w,
            strideH=window.stride_h,
            filterWidth=window.filter_w,
            filterHeight=window.filter_h,
            fusedActivationFunction=window.activation,
        )
        converter.emit(code, call, converter.tensors_of(call), options)

    return handler


def _fully_connected(converter: Converter, call: Call) -> None:
    activation = arguments.activation(call)
    options = made(schema.FullyConnectedOptionsT, fusedActivationFunction=activation)
    inputs = converter.weighted(call, "weights")
    converter.emit(BuiltinOperator.FULLY_CONNECTED, call, inputs, options)


def _activated(code: int, kind: type) -> Handler:
    """Of two tensors, with a fused activation."""

    def handler(converter: Converter, call: Call) -> None:
        options = made(kind, fusedActivationFunction=arguments.activation(call))
        converter.emit(code, call, converter.tensors_of(call), options)

    return handler


def _concatenation(converter: Converter, call: Call) -> None:
    options = made(schema.ConcatenationOptionsT, axis=call.integer("axis"))
    converter.emit(BuiltinOperator.CONCATENATION, call, converter.tensors_of(call), options)


def _mean(converter: Converter, call: Call) -> None:
    inputs = [converter.input(call), converter.constant_input(call, "axes")]
    options = made(schema.ReducerOptionsT, keepDims=call.flag("keep_dims"))
    converter.emit(BuiltinOperator.MEAN, call, inputs, options)


def _pad(converter: Converter, call: Call) -> None:
    inputs = [converter.input(call), converter.constant_input(call, "paddings")]
    converter.emit(BuiltinOperator.PAD, call, inputs, made(schema.PadOptionsT))


def _transpose(converter: Converter, call: Call) -> None:
    if not call.has("permutation"):
        raise NotExpressible("TFLite's transpose is told the order of the axes")
    inputs = [converter.input(call), converter.constant_input(call, "permutation")]
    converter.emit(BuiltinOperator.TRANSPOSE, call, inputs, made(schema.TransposeOptionsT))


def _split(converter: Converter, call: Call) -> None:
    name = converter.name(call.output_indexes("outputs")[0])
    inputs = [converter.numbers(f"{name}/axis", [call.integer("axis")]), converter.input(call)]
    options = made(schema.SplitOptionsT, numSplits=call.integer("count"))
    converter.emit(BuiltinOperator.SPLIT, call, inputs, options)


def _batch_matmul(converter: Converter, call: Call) -> None:
    options = made(
        schema.BatchMatMulOptionsT, adjX=call.flag("transpose_a"), adjY=call.flag("transpose_b")
    )
    converter.emit(BuiltinOperator.BATCH_MATMUL, call, converter.tensors_of(call), options)


def _resize_bilinear(converter: Converter, call: Call) -> None:
    resize = arguments.resize(call)
    options = made(
        schema.ResizeBilinearOptionsT,
        alignCorners=resize.align_corners,
        halfPixelCenters=resize.half_pixel_centers,
    )
    name = converter.name(call.output())
    size = converter.numbers(f"{name}/size", [resize.height, resize.width])
    inputs = [*converter.tensors_of(call), size]
    converter.emit(BuiltinOperator.RESIZE_BILINEAR, call, inputs, options)


def _reshape(converter: Converter, call: Call) -> None:
    inputs = [converter.input(call), converter.constant_input(call, "shape")]
    converter.emit(BuiltinOperator.RESHAPE, call, inputs)


def _softmax(converter: Converter, call: Call) -> None:
    axis = call.integer("axis", -1)
    if axis not in (-1, len(call.shape("input")) - 1):
        raise NotExpressible(f"TFLite's softmax is along the last axis, not {axis}")
    options = made(schema.SoftmaxOptionsT, beta=call.scalar("beta"))
    converter.emit(BuiltinOperator.SOFTMAX, call, converter.tensors_of(call), options)


def _plain(code: int, options: type | None = None) -> Handler:
    """An operator that has no arguments."""

    def handler(converter: Converter, call: Call) -> None:
        table = None if options is None else made(options)
        converter.emit(code, call, converter.tensors_of(call), table)

    return handler


def _real(handler: Handler) -> Handler:
    """Of float32 alone: of 8 bits TFLite wants one scale, or rounds in other places."""

    def checked(converter: Converter, call: Call) -> None:
        if converter.operand(call.operation.inputs[0]).type != pb.OPERAND_TYPE_TENSOR_FLOAT32:
            raise NotExpressible("it is written of float32 alone")
        handler(converter, call)

    return checked


def _mirror_pad(converter: Converter, call: Call) -> None:
    inputs = [converter.input(call), converter.constant_input(call, "paddings")]
    options = made(schema.MirrorPadOptionsT, mode=call.integer("mode"))
    converter.emit(BuiltinOperator.MIRROR_PAD, call, inputs, options)


def _slice(converter: Converter, call: Call) -> None:
    inputs = [
        converter.input(call),
        *(converter.constant_input(call, name) for name in ("begin", "size")),
    ]
    converter.emit(BuiltinOperator.SLICE, call, inputs, made(schema.SliceOptionsT))


_HANDLERS: dict[int, Handler] = {
    pb.OPERATION_TYPE_ABS: _real(_plain(BuiltinOperator.ABS, schema.AbsOptionsT)),
    pb.OPERATION_TYPE_ADD: _activated(BuiltinOperator.ADD, schema.AddOptionsT),
    pb.OPERATION_TYPE_AVERAGE_POOL_2D: _pool(BuiltinOperator.AVERAGE_POOL_2D),
    pb.OPERATION_TYPE_BATCH_MATMUL: _batch_matmul,
    pb.OPERATION_TYPE_CONCATENATION: _concatenation,
    pb.OPERATION_TYPE_CONV_2D: _convolution,
    pb.OPERATION_TYPE_DEPTHWISE_CONV_2D: _depthwise,
    pb.OPERATION_TYPE_DEQUANTIZE: _plain(BuiltinOperator.DEQUANTIZE, schema.DequantizeOptionsT),
    pb.OPERATION_TYPE_DETECTION_POSTPROCESSING: detection.postprocessing,
    pb.OPERATION_TYPE_DIV: _real(_activated(BuiltinOperator.DIV, schema.DivOptionsT)),
    pb.OPERATION_TYPE_EXP: _real(_plain(BuiltinOperator.EXP, schema.ExpOptionsT)),
    pb.OPERATION_TYPE_FLOOR: _real(_plain(BuiltinOperator.FLOOR)),
    pb.OPERATION_TYPE_FULLY_CONNECTED: _fully_connected,
    pb.OPERATION_TYPE_HARD_SWISH: _plain(BuiltinOperator.HARD_SWISH, schema.HardSwishOptionsT),
    pb.OPERATION_TYPE_LOG: _real(_plain(BuiltinOperator.LOG)),
    pb.OPERATION_TYPE_LOGISTIC: _plain(BuiltinOperator.LOGISTIC),
    pb.OPERATION_TYPE_MAXIMUM: _real(
        _plain(BuiltinOperator.MAXIMUM, schema.MaximumMinimumOptionsT)
    ),
    pb.OPERATION_TYPE_MAX_POOL_2D: _pool(BuiltinOperator.MAX_POOL_2D),
    pb.OPERATION_TYPE_MEAN: _mean,
    pb.OPERATION_TYPE_MINIMUM: _real(
        _plain(BuiltinOperator.MINIMUM, schema.MaximumMinimumOptionsT)
    ),
    pb.OPERATION_TYPE_MIRROR_PAD: _real(_mirror_pad),
    pb.OPERATION_TYPE_MUL: _activated(BuiltinOperator.MUL, schema.MulOptionsT),
    pb.OPERATION_TYPE_NEG: _real(_plain(BuiltinOperator.NEG, schema.NegOptionsT)),
    pb.OPERATION_TYPE_PAD: _pad,
    pb.OPERATION_TYPE_POW: _real(_plain(BuiltinOperator.POW, schema.PowOptionsT)),
    pb.OPERATION_TYPE_PRELU: _real(_plain(BuiltinOperator.PRELU)),
    pb.OPERATION_TYPE_QUANTIZE: _plain(BuiltinOperator.QUANTIZE, schema.QuantizeOptionsT),
    pb.OPERATION_TYPE_QUANTIZED_LSTM: recurrent.quantized_lstm,
    pb.OPERATION_TYPE_RELU: _plain(BuiltinOperator.RELU),
    pb.OPERATION_TYPE_RELU1: _plain(BuiltinOperator.RELU_N1_TO_1),
    pb.OPERATION_TYPE_RELU6: _plain(BuiltinOperator.RELU6),
    pb.OPERATION_TYPE_RESHAPE: _reshape,
    pb.OPERATION_TYPE_RESIZE_BILINEAR: _resize_bilinear,
    pb.OPERATION_TYPE_RSQRT: _plain(BuiltinOperator.RSQRT),
    pb.OPERATION_TYPE_SLICE: _real(_slice),
    pb.OPERATION_TYPE_SOFTMAX: _softmax,
    pb.OPERATION_TYPE_SPLIT: _split,
    pb.OPERATION_TYPE_SQRT: _real(_plain(BuiltinOperator.SQRT)),
    pb.OPERATION_TYPE_SUB: _activated(BuiltinOperator.SUB, schema.SubOptionsT),
    pb.OPERATION_TYPE_TANH: _real(_plain(BuiltinOperator.TANH)),
    pb.OPERATION_TYPE_TRANSPOSE: _transpose,
    pb.OPERATION_TYPE_UNIDIRECTIONAL_SEQUENCE_LSTM: recurrent.sequence_lstm,
}
