# SPDX-License-Identifier: Apache-2.0
"""Recurrent operators' inputs and outputs by directions, and their steps, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from halyard.errors import NotExpressible
from halyard.model import Array, TensorType, dtype_of
from halyard.onnx.reading.mapper import PLAIN, Mapper
from halyard.onnx.reading.network import Node
from halyard.proto import halyard_pb2 as pb

# Each is some ten operations.
_MAX_STEPS = 128
_ACTIVATIONS = {
    "relu": pb.OPERATION_TYPE_RELU,
    "sigmoid": pb.OPERATION_TYPE_LOGISTIC,
    "tanh": pb.OPERATION_TYPE_TANH,
}


_WORDS = {1: "weights", 2: "recurrent weights", 3: "bias", 7: "peepholes"}


@dataclass(frozen=True)
class SequenceOf:
    """An operator's, of both of its directions. `batch_first`: whether time is the second axis."""

    mapper: Mapper
    node: Node
    batch_first: bool
    steps: int
    batch: int
    units: int

    @property
    def directions(self) -> Sequence[bool]:
        """Whether each goes backwards."""
        words = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}
        return words[self.node.word("direction", "forward")]

    def weights(self, place: int, direction: int, count: int) -> Array:
        """Of one direction, by gates. Zeros where they may be left out and are."""
        name = self.node.input(place)
        if not name:
            return np.zeros((count, self.units), np.float32)
        values: Array = self.mapper.known(name, _WORDS[place])[direction]
        gates: Array = values.reshape(count, self.units, *values.shape[1:])
        return gates

    def constant(self, values: Array, like: int) -> int:
        kind = self.mapper.builder.operand(like).type
        made = np.ascontiguousarray(values.astype(dtype_of(kind)))
        return self.mapper.builder.constant("", TensorType(kind, made.shape), made)

    def bias(self, direction: int, count: int) -> Array:
        """That of the input and that of the state."""
        both = self.weights(3, direction, 2 * count)
        summed: Array = both[:count] + both[count:]
        return summed

    def state(self, place: int, direction: int, like: int) -> int:
        """That at the beginning; zeros where none is given."""
        name, dims = self.node.input(place), (self.batch, self.units)
        if not name:
            return self.constant(np.zeros(dims), like)
        known, axis = self.mapper.constant(name), int(self.batch_first)
        if known is not None:
            return self.constant(np.take(known, direction, axis), like)
        source = self.mapper.operand(name)
        if len(self.directions) > 1:
            begin, size = [0, 0, 0], list(self.mapper.dims(name))
            begin[axis], size[axis] = direction, 1
            vectors = [self.mapper.builder.vector("", each) for each in (begin, size)]
            source = self.mapper.step(pb.OPERATION_TYPE_SLICE, [source, *vectors], size)
        return self.mapper.reshaped(source, dims, f"{name}/state")

    def turned(self, index: int, *, backwards: bool) -> int:
        """With the last step first."""
        if not backwards or self.steps == 1:
            return index
        mapper, axis = self.mapper, int(self.batch_first)
        dims = list(mapper.builder.operand(index).dimensions)
        begin, stride = [0] * 3, [1] * 3
        begin[axis], stride[axis] = self.steps - 1, -1
        vectors = [mapper.builder.vector("", each) for each in (begin, dims, stride)]
        # An end before the first step has no number, but a bit of the mask.
        masks = [mapper.builder.int32(each) for each in (0, 1 << axis, 0)]
        return mapper.step(pb.OPERATION_TYPE_STRIDED_SLICE, [index, *vectors, *masks], dims)

    def finish(self, outputs: Sequence[Sequence[int]]) -> None:
        """By directions: all steps, and the states after the last one."""
        for place, name in enumerate(self.node.outputs):
            if not name or not self.mapper.network.is_read(name):
                continue
            axis = int(self.batch_first)
            dims = [self.batch, self.units]
            if place == 0:
                axis = 2 if self.batch_first else 1
                dims = [self.steps, self.batch, self.units]
                if self.batch_first:
                    dims = [self.batch, self.steps, self.units]
            dims.insert(axis, 1)
            each = [
                self.mapper.reshaped(found[place], dims, f"{name}/direction") for found in outputs
            ]
            if len(each) == 1:
                self.mapper.define_as(name, each[0])
            else:
                inputs = [*each, self.mapper.builder.int32(axis)]
                self.mapper.define(name, pb.OPERATION_TYPE_CONCATENATION, inputs, PLAIN)


@dataclass(frozen=True)
class Cell:
    """`gates`: one of an RNN; those of a GRU, update, reset and new."""

    gates: int
    activation: str
    linear_before_reset: bool = False


def unrolled(
    sequence: SequenceOf, data: int, direction: int, cell: Cell, *, backwards: bool
) -> list[int]:
    """All steps in the order of time, and the state after the last one."""
    if cell.activation not in _ACTIVATIONS:
        raise NotExpressible(f"its activation is {cell.activation}, which NNAPI has not")
    if sequence.steps > _MAX_STEPS:
        raise NotExpressible(
            f"it has {sequence.steps} steps, and NNAPI has no operation for it: no more than "
            f"{_MAX_STEPS} are composed"
        )
    steps = _Steps(sequence, data, direction, cell)
    order = range(sequence.steps)
    made: dict[int, int] = {}
    state = sequence.state(5, direction, data)
    for number in reversed(order) if backwards else order:
        state = made[number] = steps.after(number, state)
    axis = int(sequence.batch_first)
    dims = [sequence.batch, sequence.units]
    dims.insert(axis, 1)
    mapper = sequence.mapper
    single = [mapper.reshaped(made[number], dims, "step") for number in order]
    if len(single) == 1:
        return [single[0], state]
    dims[axis] = sequence.steps
    inputs = [*single, mapper.builder.int32(axis)]
    return [mapper.step(pb.OPERATION_TYPE_CONCATENATION, inputs, dims), state]


class _Steps:
    """The input's GEMM is computed of all steps at once."""

    def __init__(self, sequence: SequenceOf, data: int, direction: int, cell: Cell) -> None:
        self._sequence, self._cell = sequence, cell
        mapper, units = sequence.mapper, sequence.units
        self._none = mapper.builder.int32(0)
        weights = sequence.weights(1, direction, cell.gates)
        biases = sequence.weights(3, direction, 2 * cell.gates)
        size = weights.shape[-1]
        if sequence.batch_first:
            data = mapper.transposed(data, (1, 0, 2), "steps_first")
        rows = mapper.reshaped(data, (sequence.steps * sequence.batch, size), "rows")
        self._own = self._product(rows, weights.reshape(-1, size), biases[: cell.gates])
        recurrent = sequence.weights(2, direction, cell.gates)
        # Of a GRU that resets before the product, the last gate's is another product.
        count = cell.gates - int(cell.gates > 1 and not cell.linear_before_reset)
        self._recurrent = recurrent[:count].reshape(-1, units), biases[cell.gates :][:count]
        self._last = recurrent[count:].reshape(-1, units), biases[cell.gates :][count:]

    def _product(self, source: int, weights: Array, bias: Array) -> int:
        sequence = self._sequence
        mapper = sequence.mapper
        rows = mapper.builder.operand(source).dimensions[0]
        inputs = [
            source,
            sequence.constant(weights, source),
            sequence.constant(bias.reshape(-1), source),
            self._none,
        ]
        return mapper.step(pb.OPERATION_TYPE_FULLY_CONNECTED, inputs, (rows, weights.shape[0]))

    def _binary(self, operation: int, a: int, b: int) -> int:
        return self._sequence.mapper.step(operation, [a, b, self._none])

    def _parts(self, index: int, count: int) -> list[int]:
        if count == 1:
            return [index]
        mapper, sequence = self._sequence.mapper, self._sequence
        inputs = [index, mapper.builder.int32(1), mapper.builder.int32(count)]
        tensor = mapper.like(index, (sequence.batch, sequence.units))
        names = [(f"gate_{number}", tensor) for number in range(count)]
        return mapper.emit_n(pb.OPERATION_TYPE_SPLIT, inputs, names)

    def after(self, number: int, state: int) -> int:
        """The state after that step."""
        sequence, cell = self._sequence, self._cell
        mapper, vector = sequence.mapper, sequence.mapper.builder.vector
        size = (sequence.batch, cell.gates * sequence.units)
        begin = vector("", (number * sequence.batch, 0))
        own = mapper.step(pb.OPERATION_TYPE_SLICE, [self._own, begin, vector("", size)], size)
        given = self._parts(own, cell.gates)
        count = self._recurrent[0].shape[0] // sequence.units
        before = self._parts(self._product(state, *self._recurrent), count)
        add, multiply = pb.OPERATION_TYPE_ADD, pb.OPERATION_TYPE_MUL
        function = _ACTIVATIONS[cell.activation]
        if cell.gates == 1:
            return mapper.step(function, [self._binary(add, given[0], before[0])])
        update, reset = (
            mapper.step(pb.OPERATION_TYPE_LOGISTIC, [self._binary(add, given[each], before[each])])
            for each in (0, 1)
        )
        if cell.linear_before_reset:
            kept = self._binary(multiply, reset, before[2])
        else:
            kept = self._product(self._binary(multiply, reset, state), *self._last)
        new = mapper.step(function, [self._binary(add, given[2], kept)])
        change = self._binary(pb.OPERATION_TYPE_SUB, state, new)
        return self._binary(add, new, self._binary(multiply, update, change))
