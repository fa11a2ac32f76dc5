# SPDX-License-Identifier: Apache-2.0
"""From a model's operands to tensors of a TFLite graph, and what handlers of operations need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

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
from halyard.tflite import schema
from halyard.tflite.graph import CustomOptions, Graph, Operator, Options, Quantization, Tensor
from halyard.tflite.schema import BuiltinOperator, BuiltinOptions, TensorType

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

    def run(self) -> Graph:
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
        return self._graph

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
        scales = self.operand(weights).channel_quant.scales
        if not scales:
            return self.tensor(index)
        steps = np.float32(self.operand(data).scale) * np.asarray(scales, np.float32)
        quantization = Quantization(tuple(map(float, steps)), (0,) * len(scales))
        return self.tensor(index, quantization)

    def add(self, tensor: Tensor) -> int:
        """A tensor that stands for no operand."""
        return self._graph.add(tensor)

    def numbers(self, name: str, values: Sequence[int]) -> int:
        """A constant vector of integers."""
        array = np.asarray(values, "<i4")
        return self.add(Tensor(name, TensorType.INT32, array.shape, data=array.tobytes()))

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
            variable = self.add(
                Tensor(
                    self.name(before),
                    _TENSOR_TYPES[operand.type],
                    tuple(operand.dimensions),
                    _quantization(operand),
                    is_variable=True,
                )
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
        code: BuiltinOperator,
        call: Call,
        inputs: Sequence[int],
        options: Options | None = None,
    ) -> None:
        outputs = [self.tensor(index) for index in call.operation.outputs]
        self.emit_between(code, inputs, outputs, options)

    def emit_between(
        self,
        code: BuiltinOperator,
        inputs: Sequence[int],
        outputs: Sequence[int],
        options: Options | CustomOptions | None = None,
        intermediates: Sequence[int] = (),
    ) -> None:
        """An operator that is no operation's only one, or has other tensors."""
        version = _version(code, self._graph.tensors[inputs[0]].type)
        self._graph.operators.append(
            Operator(code, version, tuple(inputs), tuple(outputs), options, tuple(intermediates))
        )

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

    def implicit_padding(
        self, window: Window, call: Call, spans: tuple[int, int]
    ) -> schema.Padding | None:
        """SAME or VALID, also for explicit padding that comes to the same; else None."""
        if isinstance(window.padding, Padding):
            return schema.Padding[window.padding.name]
        given = window.padding
        pairs = (given.top, given.bottom), (given.left, given.right)
        if not any(map(any, pairs)):
            return schema.Padding.VALID
        extents = call.shape("input")[1:3]
        strides = window.stride_h, window.stride_w
        same = tuple(map(arguments.same_padding, extents, spans, strides))
        return schema.Padding.SAME if pairs == same else None

    def padded(self, call: Call, padding: ExplicitPadding) -> int:
        """A PAD operator in front of a convolution, for padding that no scheme has."""
        source = self.input(call)
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

    def filter_spans(self, call: Call, window: Window) -> tuple[int, int]:
        """Height and width that a convolution's filter covers."""
        height, width = call.shape("filter")[1:3]
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
    BuiltinOperator.CUSTOM: 1,
    BuiltinOperator.FULLY_CONNECTED: 4,
    BuiltinOperator.HARD_SWISH: 1,
    BuiltinOperator.QUANTIZE: 1,
    BuiltinOperator.RELU_N1_TO_1: 1,
    BuiltinOperator.RESHAPE: 1,
}


def _version(code: BuiltinOperator, tensor_type: TensorType) -> int:
    return _INT8_VERSIONS.get(code, 2) if tensor_type is TensorType.INT8 else 1
