# SPDX-License-Identifier: Apache-2.0
"""A step of a float LSTM as a QUANTIZED_LSTM: weights of 8 bits, a cell state of 16."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from halyard.model import Array, ModelBuilder, TensorType
from halyard.model.call import Call
from halyard.proto import halyard_pb2 as pb
from halyard.zoo.affine import symmetric

# The hidden state is what is projected: the output gate times a tanh, from -1 to 1.
_HIDDEN_SCALE = 1 / 128

# Cell states have scales that are powers of two, within these.
_CELL_LOG2 = -15, -9
_CELL_BITS = 15

_GATES = ("input", "forget", "cell", "output")
_WEIGHTS = (
    *(f"input_to_{gate}_weights" for gate in _GATES),
    *(f"recurrent_to_{gate}_weights" for gate in _GATES),
    "projection_weights",
)
_PEEPHOLES = ("cell_to_input_weights", "cell_to_forget_weights", "cell_to_output_weights")
# The biases, with the weights of the input that they have the scale of.
_BIASES = {
    "input_gate_bias": "input_to_input_weights",
    "forget_gate_bias": "input_to_forget_weights",
    "cell_bias": "input_to_cell_weights",
    "output_gate_bias": "input_to_output_weights",
}
# The operands between the input and the states, which both operations have, in their order.
_PARTS = (*_WEIGHTS[:-1], *_PEEPHOLES, *_BIASES, "projection_weights", "projection_bias")


class QuantizedLstms:
    """The cells of one model. Steps of the same cell share its weights."""

    def __init__(
        self, source: pb.Model, constants: Mapping[int, Array], builder: ModelBuilder
    ) -> None:
        self._source = source
        self._constants = constants
        self._builder = builder
        # From operands of the source to those of the result.
        self._made: dict[int, int] = {}
        self._omitted: dict[int, int] = {}

    def step(
        self,
        call: Call,
        data: int,
        states: tuple[int | None, int | None],
        output_type: TensorType,
        largest: float,
    ) -> list[int]:
        """The output state, the cell state and the output, from the quantised input. No states:
        those of the source, which are constant and zero. `largest` is the cell state's magnitude.
        """
        cell_type = self._cell_type(call, largest)
        inputs = [data, *(self._part(call, name, data) for name in _PARTS)]
        zeros = zip(("output_state", "cell_state"), states, (output_type, cell_type), strict=True)
        for name, state, tensor in zeros:
            inputs.append(self._zero(call.index(name), tensor) if state is None else state)
        inputs += [self._absent(pb.OPERAND_TYPE_TENSOR_QUANT16_SYMM)] * 4
        inputs += [
            self._builder.float32(call.scalar(f"{each}_clip")) for each in ("cell", "projection")
        ]
        # Without normalisation the gates' sums have a scale of their own.
        inputs += [self._builder.float32(0.0)] * 4
        projected = call.has("projection_weights")
        hidden = (0, _HIDDEN_SCALE) if projected else (output_type.zero_point, output_type.scale)
        inputs += [self._builder.int32(hidden[0]), self._builder.float32(hidden[1])]
        written = [call.output(name) for name in ("output_state", "cell_state", "output")]
        names = [self._operand(index).name for index in written]
        types = [output_type, cell_type, output_type]
        return self._builder.operation_n(
            pb.OPERATION_TYPE_QUANTIZED_LSTM, inputs, list(zip(names, types, strict=True))
        )

    def _operand(self, index: int) -> pb.Operand:
        return self._source.main.operands[index]

    def _cell_type(self, call: Call, largest: float) -> TensorType:
        log2 = math.ceil(math.log2(max(largest, 1e-6))) - _CELL_BITS
        log2 = min(max(log2, _CELL_LOG2[0]), _CELL_LOG2[1])
        shape = call.shape("cell_state")
        return TensorType(pb.OPERAND_TYPE_TENSOR_QUANT16_SYMM, shape, 2.0**log2)

    def _part(self, call: Call, name: str, data: int) -> int:
        """A weight or a bias, made for the first step that has it."""
        index = call.index(name)
        if not call.has(name):
            return self._absent(_type_of(name))
        if index not in self._made:
            values = self._constants[index]
            if name in _WEIGHTS:
                scale = float(symmetric(np.abs(values).max()))
                made = np.clip(np.rint(values / scale), -127, 127).astype(np.int8)
            elif name in _BIASES:
                weights = self._made[call.index(_BIASES[name])]
                scale = self._product(data, weights)
                made = np.rint(values / scale).astype(np.int32)
            else:
                raise ValueError(f"the {name} of an LSTM is not quantised")
            tensor = TensorType(_type_of(name), values.shape, scale)
            self._made[index] = self._builder.constant(self._operand(index).name, tensor, made)
        return self._made[index]

    def _product(self, data: int, weights: int) -> float:
        scales = (np.float32(self._builder.operand(index).scale) for index in (data, weights))
        return float(np.prod(list(scales), dtype=np.float32))

    def _zero(self, index: int, tensor: TensorType) -> int:
        if index not in self._constants or np.any(self._constants[index]):
            raise ValueError("an LSTM's first states are zero here")
        dtype = np.int8 if tensor.type == pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM_SIGNED else np.int16
        steps = np.full(tensor.dimensions, tensor.zero_point, dtype)
        return self._builder.constant(self._operand(index).name, tensor, steps)

    def _absent(self, operand_type: int) -> int:
        if operand_type not in self._omitted:
            # A quantised tensor has a scale, even one that is not there.
            scale = 0.0 if operand_type == pb.OPERAND_TYPE_TENSOR_INT32 else 1.0
            tensor = TensorType(operand_type, (), scale)
            self._omitted[operand_type] = self._builder.omitted(tensor)
        return self._omitted[operand_type]


def _type_of(name: str) -> pb.OperandType:
    if name in _WEIGHTS:
        return pb.OPERAND_TYPE_TENSOR_QUANT8_SYMM
    if name in _PEEPHOLES:
        return pb.OPERAND_TYPE_TENSOR_QUANT16_SYMM
    return pb.OPERAND_TYPE_TENSOR_INT32
