# SPDX-License-Identifier: Apache-2.0
"""Recurrent networks: batches, times in either order, and each optional operand there or not."""

from __future__ import annotations

import numpy as np

from halyard.model import TensorType
from tests.random_models.sketch import F16, FLOATS, RandomCase, Sketch, generator

# None, relu, relu1, relu6; recurrent cells know tanh and sigmoid, too.
_ACTIVATIONS = (0, 1, 2, 3)
_CELL_ACTIVATIONS = (0, 1, 3, 4, 6)


class _Cell:
    """Makes operands of one float type, small enough that states do not run away. What is left out
    the model has not, or it has and the request leaves it out."""

    def __init__(self, sketch: Sketch) -> None:
        self.sketch = sketch
        self.type = sketch.pick(FLOATS)
        self.left_out = sketch.chance(0.3)

    def tensor(self, *shape: int) -> int:
        dtype = np.float16 if self.type == F16 else np.float32
        values = self.sketch.source.uniform(-0.5, 0.5, shape).astype(dtype)
        return self.sketch.tensor(TensorType(self.type, shape), values)

    def data(self, *shape: int) -> int:
        dtype = np.float16 if self.type == F16 else np.float32
        values = self.sketch.source.uniform(-1, 1, shape).astype(dtype)
        return self.sketch.tensor(TensorType(self.type, shape), values, constant=False)

    def omitted(self, *shape: int) -> int:
        if not self.left_out:
            return self.sketch.omitted(self.type)
        return self.sketch.left_out(TensorType(self.type, self.sketch.pick((shape, (0,)))))

    def optional(self, present: bool, *shape: int) -> int:
        return self.tensor(*shape) if present else self.omitted(*shape)

    @property
    def out(self) -> TensorType:
        return TensorType(self.type, ())


@generator("RNN")
def rnn(sketch: Sketch) -> RandomCase:
    cell = _Cell(sketch)
    batch, size, units = (sketch.integer(1, 5) for _ in range(3))
    inputs = [
        cell.data(batch, size),
        cell.tensor(units, size),
        cell.tensor(units, units),
        cell.tensor(units),
        cell.data(batch, units),
        sketch.integer_scalar(sketch.pick(_ACTIVATIONS)),
    ]
    return sketch.finish(inputs, cell.out, cell.out)


@generator("SVDF")
def svdf(sketch: Sketch) -> RandomCase:
    cell = _Cell(sketch)
    batch, size, units, rank = (sketch.integer(1, 4) for _ in range(4))
    memory, filters = sketch.integer(1, 6), units * rank
    inputs = [
        cell.data(batch, size),
        cell.tensor(filters, size),
        cell.tensor(filters, memory),
        cell.optional(sketch.chance(), units),
        cell.data(batch, memory * filters),
        sketch.integer_scalar(rank),
        sketch.integer_scalar(sketch.pick(_ACTIVATIONS)),
    ]
    return sketch.finish(inputs, cell.out, cell.out)


@generator("UNIDIRECTIONAL_SEQUENCE_RNN")
def unidirectional_sequence_rnn(sketch: Sketch) -> RandomCase:
    cell = _Cell(sketch)
    batch, time, size, units = (sketch.integer(1, 4) for _ in range(4))
    time_major = sketch.chance()
    inputs = [
        cell.data(*((time, batch) if time_major else (batch, time)), size),
        cell.tensor(units, size),
        cell.tensor(units, units),
        cell.tensor(units),
        cell.data(batch, units),
        sketch.integer_scalar(sketch.pick(_ACTIVATIONS)),
        sketch.integer_scalar(int(time_major)),
    ]
    return sketch.finish(inputs, *[cell.out] * sketch.integer(1, 2))


@generator("BIDIRECTIONAL_SEQUENCE_RNN")
def bidirectional_sequence_rnn(sketch: Sketch) -> RandomCase:
    """An auxiliary input comes with weights (cross linking) or without (parallel linking)."""
    cell = _Cell(sketch)
    batch, time, size, forward, backward = (sketch.integer(1, 4) for _ in range(5))
    time_major, merge = sketch.chance(), sketch.chance()
    leading = (time, batch) if time_major else (batch, time)
    aux, aux_weights = sketch.pick(((False, False), (True, True), (True, False)))
    aux_size = sketch.integer(1, 4)
    inputs = [cell.data(*leading, size)]
    for units, read in ((forward, size), (backward, aux_size if aux and not aux_weights else size)):
        inputs += [cell.tensor(units, read), cell.tensor(units, units), cell.tensor(units)]
        inputs.append(cell.data(batch, units))
    inputs.append(cell.data(*leading, aux_size) if aux else cell.omitted(*leading, aux_size))
    inputs += [cell.optional(aux_weights, units, aux_size) for units in (forward, backward)]
    inputs.append(sketch.integer_scalar(sketch.pick(_ACTIVATIONS)))
    inputs += [sketch.flag(time_major), sketch.flag(merge)]
    outputs = (1 if merge else 2) + sketch.pick((0, 2))
    return sketch.finish(inputs, *[cell.out] * outputs)


class _Lstm(_Cell):
    """The shape of an LSTM cell."""

    def __init__(self, sketch: Sketch) -> None:
        super().__init__(sketch)
        self.cifg, self.peephole, self.projection, self.normed = (sketch.chance() for _ in range(4))
        self.projection_bias = self.projection and sketch.chance()
        self.batch, self.size, self.units = (sketch.integer(1, 4) for _ in range(3))
        if self.normed:
            # Over one unit there is no deviation.
            self.units = sketch.integer(3, 6)
        self.output = sketch.integer(1, 4) if self.projection else self.units

    def weights(self, size: int) -> list[int]:
        """17 operands: weights of an input of that size, recurrent weights, peepholes, biases,
        projection."""
        own_input = not self.cifg
        inputs = [self.optional(own_input, self.units, size)]
        inputs += [self.tensor(self.units, size) for _ in range(3)]
        inputs.append(self.optional(own_input, self.units, self.output))
        inputs += [self.tensor(self.units, self.output) for _ in range(3)]
        inputs.append(self.optional(self.peephole and own_input, self.units))
        inputs += [self.optional(self.peephole, self.units) for _ in range(2)]
        inputs.append(self.optional(own_input, self.units))
        inputs += [self.tensor(self.units) for _ in range(3)]
        inputs.append(self.optional(self.projection, self.output, self.units))
        return [*inputs, self.optional(self.projection_bias, self.output)]

    def states(self) -> list[int]:
        return [self.data(self.batch, self.output), self.data(self.batch, self.units)]

    def scalars(self) -> list[int]:
        clips = [self.sketch.pick((0.0, 0.25, 2.0)) for _ in range(2)]
        activation = self.sketch.pick(_CELL_ACTIVATIONS)
        return [
            self.sketch.integer_scalar(activation),
            *(self.sketch.number(self.type, clip) for clip in clips),
        ]

    def norms(self) -> list[int]:
        own_input = not self.cifg
        inputs = [self.optional(self.normed and own_input, self.units)]
        return inputs + [self.optional(self.normed, self.units) for _ in range(3)]


@generator("LSTM")
def lstm(sketch: Sketch) -> RandomCase:
    """Output 0 is the driver's own scratch."""
    cell = _Lstm(sketch)
    inputs = [cell.data(cell.batch, cell.size), *cell.weights(cell.size)]
    inputs += [*cell.states(), *cell.scalars()]
    if cell.normed or sketch.chance():
        inputs += cell.norms()
    return sketch.finish(inputs, *[cell.out] * 4, ignored=[0])


@generator("UNIDIRECTIONAL_SEQUENCE_LSTM")
def unidirectional_sequence_lstm(sketch: Sketch) -> RandomCase:
    cell, time, time_major = _Lstm(sketch), sketch.integer(1, 4), sketch.chance()
    leading = (time, cell.batch) if time_major else (cell.batch, time)
    inputs = [cell.data(*leading, cell.size), *cell.weights(cell.size)]
    inputs += [*cell.states(), *cell.scalars()]
    inputs += [sketch.flag(time_major), *cell.norms()]
    return sketch.finish(inputs, *[cell.out] * sketch.pick((1, 3)))


@generator("BIDIRECTIONAL_SEQUENCE_LSTM")
def bidirectional_sequence_lstm(sketch: Sketch) -> RandomCase:
    cell, time, time_major = _Lstm(sketch), sketch.integer(1, 3), sketch.chance()
    leading = (time, cell.batch) if time_major else (cell.batch, time)
    aux, aux_weights = sketch.pick(((False, False), (True, True), (True, False)))
    aux_size = sketch.integer(1, 4)
    inputs = [cell.data(*leading, cell.size), *cell.weights(cell.size)]
    inputs += cell.weights(aux_size if aux and not aux_weights else cell.size)
    inputs += [*cell.states(), *cell.states()]
    inputs.append(cell.data(*leading, aux_size) if aux else cell.omitted(*leading, aux_size))
    for _ in range(2):
        inputs.append(cell.optional(aux_weights and not cell.cifg, cell.units, aux_size))
        inputs += [cell.optional(aux_weights, cell.units, aux_size) for _ in range(3)]
    merge = sketch.chance()
    inputs += [*cell.scalars(), sketch.flag(merge), sketch.flag(time_major)]
    inputs += [*cell.norms(), *cell.norms()]
    outputs = (1 if merge else 2) + sketch.pick((0, 4))
    return sketch.finish(inputs, *[cell.out] * outputs)
