# SPDX-License-Identifier: Apache-2.0
"""From NNAPI operations to TFLite operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from halyard.errors import HalyardError
from halyard.model import (
    arguments,
    constant,
    is_constant,
    is_tensor,
    label,
)
from halyard.model.arguments import ExplicitPadding, Padding, Window
from halyard.proto import halyard_pb2 as pb
from halyard.tflite import schema
from halyard.tflite.graph import Graph, Operator, Options, Quantization, Tensor
from halyard.tflite.schema import BuiltinOperator, BuiltinOptions, TensorType


class NotExpressible(HalyardError):
    """The model has something that TFLite's file format or its builtin operators have not."""


_TENSOR_TYPES = {
    pb.OPERAND_TYPE_TENSOR_FLOAT32: TensorType.FLOAT32,
    pb.OPERAND_TYPE_TENSOR_INT32: TensorType.INT32,
    pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM: TensorType.UINT8,
    pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM_SIGNED: TensorType.INT8,
    pb.OPERAND_TYPE_TENSOR_QUANT8_SYMM: TensorType.INT8,
    pb.OPERAND_TYPE_TENSOR_QUANT8_SYMM_PER_CHANNEL: TensorType.INT8,
}


def convert(model: pb.Model) -> Graph:
    """The main subgraph as a TFLite graph. NotExpressible says which operation is the trouble."""
    return _Converter(model).run()


class _Converter:
    def __init__(self, model: pb.Model) -> None:
        self._model = model
        self._graph = Graph(model.name)
        # From operand to tensor.
        self._tensors: dict[int, int] = {}

    def run(self) -> Graph:
        main = self._model.main
        self._graph.inputs.extend(self._tensor(index) for index in main.input_indexes)
        for number, operation in enumerate(main.operations):
            try:
                handler = _HANDLERS.get(operation.type)
                if handler is None:
                    raise NotExpressible("TFLite has no such operator here")
                handler(self, operation)
            except (NotExpressible, ValueError) as error:
                raise NotExpressible(f"{label(self._model, number)}: {error}") from error
        self._graph.outputs.extend(self._tensor(index) for index in main.output_indexes)
        return self._graph

    # ---- tensors --------------------------------------------------------------------------------

    def _operand(self, index: int) -> pb.Operand:
        return self._model.main.operands[index]

    def _tensor(self, index: int, quantization: Quantization | None = None) -> int:
        """The tensor of an operand, made when it is first asked for."""
        known = self._tensors.get(index)
        if known is not None:
            return known
        operand = self._operand(index)
        tensor_type = _TENSOR_TYPES.get(operand.type)
        if tensor_type is None:
            name = pb.OperandType.Name(operand.type)
            raise NotExpressible(f"operand {index} is of type {name}")
        if not operand.dimensions or not all(operand.dimensions):
            raise NotExpressible(f"operand {index} has no fixed shape")
        values = constant(self._model, operand) if is_constant(operand) else None
        self._tensors[index] = self._graph.add(
            Tensor(
                operand.name or f"operand_{index}",
                tensor_type,
                tuple(operand.dimensions),
                quantization or _quantization(operand),
                None if values is None else values.tobytes(),
            )
        )
        return self._tensors[index]

    def _bias(self, index: int, data: int, weights: int) -> int:
        """TFLite writes down the scales that NNAPI's per-channel bias has by definition."""
        scales = self._operand(weights).channel_quant.scales
        if not scales:
            return self._tensor(index)
        steps = np.float32(self._operand(data).scale) * np.asarray(scales, np.float32)
        quantization = Quantization(tuple(map(float, steps)), (0,) * len(scales))
        return self._tensor(index, quantization)

    # ---- operators ------------------------------------------------------------------------------

    def emit(
        self,
        code: BuiltinOperator,
        operation: pb.Operation,
        inputs: Sequence[int],
        options: Options | None = None,
    ) -> None:
        outputs = tuple(self._tensor(index) for index in operation.outputs)
        version = _version(code, self._graph.tensors[inputs[0]].type)
        self._graph.operators.append(Operator(code, version, tuple(inputs), outputs, options))

    def tensors_of(self, operation: pb.Operation) -> list[int]:
        """The tensors among an operation's inputs; scalars are options in TFLite."""
        return [
            self._tensor(index)
            for index in operation.inputs
            if is_tensor(self._operand(index).type)
        ]

    def weighted(self, operation: pb.Operation) -> list[int]:
        data, weights, bias = operation.inputs[:3]
        return [self._tensor(data), self._tensor(weights), self._bias(bias, data, weights)]

    def constant_input(self, operation: pb.Operation, position: int) -> int:
        """An input that TFLite's kernels want to know beforehand."""
        index = operation.inputs[position]
        if not is_constant(self._operand(index)):
            raise NotExpressible(f"input {position} is no constant")
        return self._tensor(index)

    def scalar(self, index: int) -> float:
        return arguments.scalar(self._model, index)

    def activation(self, index: int) -> arguments.Activation:
        return arguments.activation(self._model, index)

    def rank(self, index: int) -> int:
        return len(self._operand(index).dimensions)

    def window(
        self, decode: Callable[[pb.Model, pb.Operation], Window], operation: pb.Operation
    ) -> Window:
        window = decode(self._model, operation)
        if window.nchw:
            raise NotExpressible("TFLite has no NCHW")
        return window

    def implicit_padding(
        self, window: Window, operation: pb.Operation, spans: tuple[int, int]
    ) -> schema.Padding | None:
        """SAME or VALID, also for explicit padding that comes to the same; else None."""
        if isinstance(window.padding, Padding):
            return schema.Padding[window.padding.name]
        given = window.padding
        pairs = (given.top, given.bottom), (given.left, given.right)
        if not any(map(any, pairs)):
            return schema.Padding.VALID
        extents = self._operand(operation.inputs[0]).dimensions[1:3]
        strides = window.stride_h, window.stride_w
        same = tuple(map(arguments.same_padding, extents, spans, strides))
        return schema.Padding.SAME if pairs == same else None

    def padded(self, operation: pb.Operation, padding: ExplicitPadding) -> int:
        """A PAD operator in front of a convolution, for padding that no scheme has."""
        source = self._tensor(operation.inputs[0])
        tensor = self._graph.tensors[source]
        pairs = [(0, 0), (padding.top, padding.bottom), (padding.left, padding.right), (0, 0)]
        name = f"{tensor.name}/padded"
        amounts = self._graph.add(
            Tensor(
                f"{name}/paddings", TensorType.INT32, (4, 2), data=np.array(pairs, "<i4").tobytes()
            )
        )
        shape = tuple(extent + sum(pair) for extent, pair in zip(tensor.shape, pairs, strict=True))
        result = self._graph.add(Tensor(name, tensor.type, shape, tensor.quantization))
        self._graph.operators.append(
            Operator(
                BuiltinOperator.PAD,
                _version(BuiltinOperator.PAD, tensor.type),
                (source, amounts),
                (result,),
                Options(BuiltinOptions.PAD, {}),
            )
        )
        return result

    def filter_spans(self, operation: pb.Operation, window: Window) -> tuple[int, int]:
        """Height and width that a convolution's filter covers."""
        height, width = self._operand(operation.inputs[1]).dimensions[1:3]
        return (height - 1) * window.dilation_h + 1, (width - 1) * window.dilation_w + 1


def _quantization(operand: pb.Operand) -> Quantization | None:
    scales = operand.channel_quant.scales
    if scales:
        return Quantization(tuple(scales), (0,) * len(scales), operand.channel_quant.channel_dim)
    if operand.scale == 0:
        return None
    return Quantization((operand.scale,), (operand.zero_point,))


# The first version of an operator whose kernel takes INT8; for FLOAT32 and UINT8 it is 1.
_INT8_VERSIONS = {
    BuiltinOperator.CONV_2D: 3,
    BuiltinOperator.DEPTHWISE_CONV_2D: 3,
    BuiltinOperator.FULLY_CONNECTED: 4,
    BuiltinOperator.QUANTIZE: 1,
    BuiltinOperator.RELU_N1_TO_1: 1,
    BuiltinOperator.RESHAPE: 1,
}


def _version(code: BuiltinOperator, tensor_type: TensorType) -> int:
    return _INT8_VERSIONS.get(code, 2) if tensor_type is TensorType.INT8 else 1


# ---- one handler per operation, or per group of alike ones ---------------------------------------

_Handler = Callable[[_Converter, pb.Operation], None]


def _convolution(converter: _Converter, operation: pb.Operation) -> None:
    window = converter.window(arguments.convolution, operation)
    table = schema.Conv2DOptions
    inputs, padding = _convolution_inputs(converter, operation, window)
    options = {
        table.PADDING: padding,
        table.STRIDE_W: window.stride_w,
        table.STRIDE_H: window.stride_h,
        table.FUSED_ACTIVATION_FUNCTION: window.activation,
        table.DILATION_W_FACTOR: window.dilation_w,
        table.DILATION_H_FACTOR: window.dilation_h,
    }
    converter.emit(
        BuiltinOperator.CONV_2D, operation, inputs, Options(BuiltinOptions.CONV_2D, options)
    )


def _depthwise(converter: _Converter, operation: pb.Operation) -> None:
    window = converter.window(arguments.depthwise, operation)
    table = schema.DepthwiseConv2DOptions
    inputs, padding = _convolution_inputs(converter, operation, window)
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
        operation,
        inputs,
        Options(BuiltinOptions.DEPTHWISE_CONV_2D, options),
    )


def _convolution_inputs(
    converter: _Converter, operation: pb.Operation, window: Window
) -> tuple[list[int], schema.Padding]:
    spans = converter.filter_spans(operation, window)
    padding = converter.implicit_padding(window, operation, spans)
    inputs = converter.weighted(operation)
    if padding is None:
        assert isinstance(window.padding, ExplicitPadding)
        inputs[0] = converter.padded(operation, window.padding)
        padding = schema.Padding.VALID
    return inputs, padding


def _pool(code: BuiltinOperator) -> _Handler:
    def handler(converter: _Converter, operation: pb.Operation) -> None:
        window = converter.window(arguments.pooling, operation)
        spans = window.filter_h, window.filter_w
        padding = converter.implicit_padding(window, operation, spans)
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
        inputs = converter.tensors_of(operation)
        converter.emit(code, operation, inputs, Options(BuiltinOptions.POOL_2D, options))

    return handler


def _fully_connected(converter: _Converter, operation: pb.Operation) -> None:
    activation = converter.activation(operation.inputs[3])
    options = {schema.FullyConnectedOptions.FUSED_ACTIVATION_FUNCTION: activation}
    converter.emit(
        BuiltinOperator.FULLY_CONNECTED,
        operation,
        converter.weighted(operation),
        Options(BuiltinOptions.FULLY_CONNECTED, options),
    )


def _add(converter: _Converter, operation: pb.Operation) -> None:
    activation = converter.activation(operation.inputs[2])
    options = Options(BuiltinOptions.ADD, {schema.AddOptions.FUSED_ACTIVATION_FUNCTION: activation})
    converter.emit(BuiltinOperator.ADD, operation, converter.tensors_of(operation), options)


def _mul(converter: _Converter, operation: pb.Operation) -> None:
    activation = converter.activation(operation.inputs[2])
    options = Options(BuiltinOptions.MUL, {schema.MulOptions.FUSED_ACTIVATION_FUNCTION: activation})
    converter.emit(BuiltinOperator.MUL, operation, converter.tensors_of(operation), options)


def _concatenation(converter: _Converter, operation: pb.Operation) -> None:
    axis = int(converter.scalar(operation.inputs[-1]))
    options = Options(BuiltinOptions.CONCATENATION, {schema.ConcatenationOptions.AXIS: axis})
    inputs = converter.tensors_of(operation)
    converter.emit(BuiltinOperator.CONCATENATION, operation, inputs, options)


def _mean(converter: _Converter, operation: pb.Operation) -> None:
    keep = converter.scalar(operation.inputs[2]) != 0
    inputs = [converter.tensors_of(operation)[0], converter.constant_input(operation, 1)]
    options = Options(BuiltinOptions.REDUCER, {schema.ReducerOptions.KEEP_DIMS: keep})
    converter.emit(BuiltinOperator.MEAN, operation, inputs, options)


def _pad(converter: _Converter, operation: pb.Operation) -> None:
    inputs = [converter.tensors_of(operation)[0], converter.constant_input(operation, 1)]
    converter.emit(BuiltinOperator.PAD, operation, inputs, Options(BuiltinOptions.PAD, {}))


def _reshape(converter: _Converter, operation: pb.Operation) -> None:
    inputs = [converter.tensors_of(operation)[0], converter.constant_input(operation, 1)]
    converter.emit(BuiltinOperator.RESHAPE, operation, inputs)


def _softmax(converter: _Converter, operation: pb.Operation) -> None:
    data = operation.inputs[0]
    axis = int(converter.scalar(operation.inputs[2])) if len(operation.inputs) > 2 else -1
    if axis not in (-1, converter.rank(data) - 1):
        raise NotExpressible(f"TFLite's softmax is along the last axis, not {axis}")
    beta = converter.scalar(operation.inputs[1])
    options = Options(BuiltinOptions.SOFTMAX, {schema.SoftmaxOptions.BETA: beta})
    inputs = converter.tensors_of(operation)
    converter.emit(BuiltinOperator.SOFTMAX, operation, inputs, options)


def _plain(code: BuiltinOperator, options: BuiltinOptions = BuiltinOptions.NONE) -> _Handler:
    """An operator that has no arguments."""

    def handler(converter: _Converter, operation: pb.Operation) -> None:
        table = None if options is BuiltinOptions.NONE else Options(options, {})
        converter.emit(code, operation, converter.tensors_of(operation), table)

    return handler


_HANDLERS: dict[int, _Handler] = {
    pb.OPERATION_TYPE_ADD: _add,
    pb.OPERATION_TYPE_AVERAGE_POOL_2D: _pool(BuiltinOperator.AVERAGE_POOL_2D),
    pb.OPERATION_TYPE_CONCATENATION: _concatenation,
    pb.OPERATION_TYPE_CONV_2D: _convolution,
    pb.OPERATION_TYPE_DEPTHWISE_CONV_2D: _depthwise,
    pb.OPERATION_TYPE_DEQUANTIZE: _plain(BuiltinOperator.DEQUANTIZE, BuiltinOptions.DEQUANTIZE),
    pb.OPERATION_TYPE_FULLY_CONNECTED: _fully_connected,
    pb.OPERATION_TYPE_LOGISTIC: _plain(BuiltinOperator.LOGISTIC),
    pb.OPERATION_TYPE_MAX_POOL_2D: _pool(BuiltinOperator.MAX_POOL_2D),
    pb.OPERATION_TYPE_MEAN: _mean,
    pb.OPERATION_TYPE_MUL: _mul,
    pb.OPERATION_TYPE_PAD: _pad,
    pb.OPERATION_TYPE_QUANTIZE: _plain(BuiltinOperator.QUANTIZE, BuiltinOptions.QUANTIZE),
    pb.OPERATION_TYPE_RELU: _plain(BuiltinOperator.RELU),
    pb.OPERATION_TYPE_RELU1: _plain(BuiltinOperator.RELU_N1_TO_1),
    pb.OPERATION_TYPE_RELU6: _plain(BuiltinOperator.RELU6),
    pb.OPERATION_TYPE_RESHAPE: _reshape,
    pb.OPERATION_TYPE_SOFTMAX: _softmax,
}
