# SPDX-License-Identifier: Apache-2.0
"""From a model's operands to tensors of a TFLite graph, and what handlers of operations need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.schema_py_generated import BuiltinOperator, TensorType

from halyard.errors import NotExpressible
from halyard.model import (
    arguments,
    constants,
    is_constant,
    is_tensor,
    label,
)
from halyard.model.arguments import ExplicitPadding, Padding, Window
from halyard.model.call import Call
from halyard.proto import halyard_pb2 as pb
from halyard.tflite.graph import Graph, Options, Quantization, made, quantization

_TENSOR_TYPES = {
    pb.OPERAND_TYPE_TENSOR_FLOAT32: TensorType.FLOAT32,
    pb.OPERAND_TYPE_TENSOR_INT32: TensorType.INT32,
    pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM: TensorType.UINT8,
    pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM_SIGNED: TensorType.INT8,
    pb.OPERAND_TYPE_TENSOR_QUANT8_SYMM: TensorType.INT8,
    pb.OPERAND_TYPE_TENSOR_QUANT8_SYMM_PER_CHANNEL: TensorType.INT8,
    pb.OPERAND_TYPE_TENSOR_QUANT16_SYMM: TensorType.INT16,
}


Handler = Callable[["Converter", Call], None]


class Converter:
    def __init__(self, model: pb.Model, handlers: Mapping[int, Handler]) -> None:
        self.model = model
        self._handlers = handlers
        self._constants = constants(model)
        self._graph = Graph(model.name)
        # From operand to tensor.
        self._tensors: dict[int, int] = {}
        # The variables that hold the states of recurrent operators, by the operand of the state.
        self._states: dict[int, int] = {}
        self._spent: set[int] = set()

    def run(self) -> Any:
        main = self.model.main
        self._graph.inputs.extend(self.tensor(index) for index in main.input_indexes)
        for number, operation in enumerate(main.operations):
            try:
                handler = self._handlers.get(operation.type)
                if handler is None:
                    raise NotExpressible("TFLite has no such operator here")
                handler(self, Call(self.model, operation))
            except (NotExpressible, ValueError) as error:
                raise NotExpressible(f"{label(self.model, number)}: {error}") from error
        self._graph.outputs.extend(self.tensor(index) for index in main.output_indexes)
        return self._graph.model()

    # ---- tensors --------------------------------------------------------------------------------

    def operand(self, index: int) -> pb.Operand:
        return self.model.main.operands[index]

    def tensor(self, index: int, quantization: Quantization | None = None) -> int:
        """The tensor of an operand, made when it is first asked for."""
        known = self._tensors.get(index)
        if known is not None:
            return known
        if index in self._states:
            raise NotExpressible(f"operand {index} is a state, which only a recurrent operator has")
        operand = self.operand(index)
        tensor_type = _TENSOR_TYPES.get(operand.type)
        if tensor_type is None:
            name = pb.OperandType.Name(operand.type)
            raise NotExpressible(f"operand {index} is of type {name}")
        if not operand.dimensions or not all(operand.dimensions):
            raise NotExpressible(f"operand {index} has no fixed shape")
        values = self._constants.get(index)
        self._tensors[index] = self._graph.add(
            self.name(index),
            tensor_type,
            operand.dimensions,
            quantization or _quantization(operand),
            None if values is None else values.tobytes(),
        )
        return self._tensors[index]

    def _bias(self, index: int, data: int, weights: int) -> int:
        """TFLite writes down the scales that NNAPI's per-channel bias has by definition."""
        scales = self.operand(weights).channel_quant.scales
        if not scales:
            return self.tensor(index)
        steps = np.float32(self.operand(data).scale) * np.asarray(scales, np.float32)
        return self.tensor(index, quantization(steps.tolist(), [0] * len(scales)))

    def add(
        self,
        name: str,
        tensor_type: int,
        shape: Sequence[int],
        quantization: Quantization | None = None,
    ) -> int:
        """A tensor that stands for no operand."""
        return self._graph.add(name, tensor_type, shape, quantization)

    def numbers(self, name: str, values: Sequence[int]) -> int:
        """A constant vector of integers."""
        array = np.asarray(values, "<i4")
        return self._graph.add(name, TensorType.INT32, array.shape, data=array.tobytes())

    def name(self, index: int) -> str:
        return self.operand(index).name or f"operand_{index}"

    # ---- states -------------------------------------------------------------------------------

    def state(self, before: int, after: int | None) -> int:
        """The variable of the state that an operator reads as the operand `before` and leaves as
        `after`, if one has it.

        A variable is 0 before the first run and keeps what the last operator left, so that the
        chain has to start from zeros and can't branch.
        """
        operand = self.operand(before)
        variable = self._states.get(before)
        if variable is None:
            if not is_constant(operand) or np.any(self._constants[before] != operand.zero_point):
                raise NotExpressible(
                    f"the state {self.name(before)} is not zero at first, as TFLite's variables are"
                )
            variable = self._graph.add(
                self.name(before),
                _TENSOR_TYPES[operand.type],
                operand.dimensions,
                _quantization(operand),
                is_variable=True,
            )
        elif before in self._spent:
            raise NotExpressible(f"the state {self.name(before)} is read twice")
        self._spent.add(before)
        if after is not None:
            self._states[after] = variable
        return variable

    # ---- operators ------------------------------------------------------------------------------

    def emit(
        self,
        code: int,
        call: Call,
        inputs: Sequence[int],
        options: Options | None = None,
    ) -> None:
        outputs = [self.tensor(index) for index in call.operation.outputs]
        self.emit_between(code, inputs, outputs, options)

    def emit_between(
        self,
        code: int,
        inputs: Sequence[int],
        outputs: Sequence[int],
        options: Options | None = None,
        intermediates: Sequence[int] = (),
    ) -> None:
        """An operator that is no operation's only one, or has other tensors."""
        version = _version(code, self._graph.tensor(inputs[0]).type)
        self._graph.emit(code, version, inputs, outputs, options, intermediates)

    def emit_custom(
        self, name: str, options: bytes, inputs: Sequence[int], outputs: Sequence[int]
    ) -> None:
        self._graph.emit_custom(name, options, inputs, outputs)

    def input(self, call: Call, name: str = "input") -> int:
        return self.tensor(call.index(name))

    def tensors_of(self, call: Call) -> list[int]:
        """The tensors among an operation's inputs; scalars are options in TFLite."""
        return [
            self.tensor(index)
            for index in call.operation.inputs
            if is_tensor(self.operand(index).type)
        ]

    def weighted(self, call: Call, weights: str) -> list[int]:
        """Input, weights and bias."""
        data, filters = call.index("input"), call.index(weights)
        bias = self._bias(call.index("bias"), data, filters)
        return [self.tensor(data), self.tensor(filters), bias]

    def constant_input(self, call: Call, name: str) -> int:
        """An input that TFLite's kernels want to know beforehand."""
        if not is_constant(call.operand(name)):
            raise NotExpressible(f"its {name} is no constant")
        return self.input(call, name)

    def window(self, call: Call) -> Window:
        window = arguments.window(call)
        if window.nchw:
            raise NotExpressible("TFLite has no NCHW")
        return window

    def implicit_padding(self, window: Window, call: Call, spans: tuple[int, int]) -> int | None:
        """SAME or VALID, also for explicit padding that comes to the same; else None."""
        if isinstance(window.padding, Padding):
            same = window.padding is Padding.SAME
            return int(schema.Padding.SAME if same else schema.Padding.VALID)
        given = window.padding
        pairs = (given.top, given.bottom), (given.left, given.right)
        if not any(map(any, pairs)):
            return int(schema.Padding.VALID)
        extents = call.shape("input")[1:3]
        strides = window.stride_h, window.stride_w
        alike = pairs == tuple(map(arguments.same_padding, extents, spans, strides))
        return int(schema.Padding.SAME) if alike else None

    def padded(self, call: Call, padding: ExplicitPadding) -> int:
        """A PAD operator in front of a convolution, for padding that no scheme has."""
        source = self.input(call)
        tensor = self._graph.tensor(source)
        pairs = [(0, 0), padding.vertical, padding.horizontal, (0, 0)]
        name = f"{tensor.name}/padded"
        amounts = self._graph.add(
            f"{name}/paddings", TensorType.INT32, (4, 2), data=np.array(pairs, "<i4").tobytes()
        )
        shape = [extent + sum(pair) for extent, pair in zip(tensor.shape, pairs, strict=True)]
        result = self._graph.add(name, tensor.type, shape, tensor.quantization)
        options = made(schema.PadOptionsT)
        self.emit_between(BuiltinOperator.PAD, [source, amounts], [result], options)
        return result

    def filter_spans(self, call: Call, window: Window) -> tuple[int, int]:
        """Height and width that a convolution's filter covers."""
        height, width = call.shape("filter")[1:3]
        return (height - 1) * window.dilation_h + 1, (width - 1) * window.dilation_w + 1


def _quantization(operand: pb.Operand) -> Quantization | None:
    scales = operand.channel_quant.scales
    if scales:
        return quantization(scales, [0] * len(scales), operand.channel_quant.channel_dim)
    if operand.scale == 0:
        return None
    return quantization([operand.scale], [operand.zero_point])


# The first version of an operator whose kernel takes INT8; for FLOAT32 and UINT8 it is 1.
_INT8_VERSIONS = {
    BuiltinOperator.CONV_2D: 3,
    BuiltinOperator.DEPTHWISE_CONV_2D: 3,
    BuiltinOperator.FULLY_CONNECTED: 4,
    BuiltinOperator.HARD_SWISH: 1,
    BuiltinOperator.QUANTIZE: 1,
    BuiltinOperator.RELU_N1_TO_1: 1,
    BuiltinOperator.RESHAPE: 1,
}


def _version(code: int, tensor_type: int) -> int:
    return _INT8_VERSIONS.get(code, 2) if tensor_type == TensorType.INT8 else 1
