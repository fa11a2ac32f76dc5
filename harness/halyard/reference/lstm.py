# SPDX-License-Identifier: Apache-2.0
"""LSTM cells of real numbers: with or without an input gate, peepholes, a projection, layer
normalisation and auxiliary inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from halyard.model import Array
from halyard.reference.recurrent import by_time, cell_activation, sigmoid
from halyard.reference.tensor import Call, operation

# Added to the variance of a layer normalisation.
_EPSILON = 1e-8


@dataclass(frozen=True)
class Gate:
    """The sum of one of the gates (input, forget, cell, output)."""

    weights: Array
    recurrent: Array
    peephole: Array | None
    bias: Array
    layer_norm: Array | None
    aux_weights: Array | None

    def sum(self, data: Array, aux: Array | None, state: Array, cell: Array | None) -> Array:
        total = data @ self.weights.T + state @ self.recurrent.T
        if aux is not None and self.aux_weights is not None:
            total = total + aux @ self.aux_weights.T
        if cell is not None and self.peephole is not None:
            total = total + self.peephole * cell
        if self.layer_norm is None:
            return np.asarray(total + self.bias)
        mean = total.mean(axis=1, keepdims=True)
        deviation = np.sqrt(total.var(axis=1, keepdims=True) + _EPSILON)
        return np.asarray((total - mean) / deviation * self.layer_norm + self.bias)


@dataclass(frozen=True)
class Cell:
    """A cell; without an input gate that is 1 - forget gate (CIFG)."""

    input: Gate | None
    forget: Gate
    cell: Gate
    output: Gate
    projection: Array | None
    projection_bias: Array | None
    activation: int
    cell_clip: float
    projection_clip: float

    def step(
        self, data: Array, aux: Array | None, state: Array, cell: Array
    ) -> tuple[Array, Array, list[Array]]:
        """The new output state and cell state, and the gates."""
        forget_gate = sigmoid(self.forget.sum(data, aux, state, cell))
        if self.input is None:
            input_gate = 1 - forget_gate
        else:
            input_gate = sigmoid(self.input.sum(data, aux, state, cell))
        update = cell_activation(self.cell.sum(data, aux, state, None), self.activation)
        cell = _clip(input_gate * update + forget_gate * cell, self.cell_clip)
        output_gate = sigmoid(self.output.sum(data, aux, state, cell))
        output = output_gate * cell_activation(cell, self.activation)
        if self.projection is not None:
            output = output @ self.projection.T
            if self.projection_bias is not None:
                output = output + self.projection_bias
            output = _clip(output, self.projection_clip)
        gates = [input_gate] if self.input is not None else []
        return output, cell, [*gates, update, forget_gate, output_gate]

    def sequence(
        self, data: Array, aux: Array | None, state: Array, cell: Array
    ) -> tuple[Array, Array, Array]:
        """The outputs at all times and the last states."""
        outputs = []
        for at, step in enumerate(data):
            state, cell, _ = self.step(step, None if aux is None else aux[at], state, cell)
            outputs.append(state)
        return np.stack(outputs), state, cell


def _clip(real: Array, limit: float) -> Array:
    return np.clip(real, -limit, limit) if limit > 0 else real


def read_cell(call: Call, cell: str = "") -> Cell:
    """The cell whose operands' names begin so."""

    def gate(name: str, bias: str) -> Gate:
        return Gate(
            call.real(f"{cell}input_to_{name}_weights"),
            call.real(f"{cell}recurrent_to_{name}_weights"),
            call.optional(f"{cell}cell_to_{name}_weights"),
            call.real(f"{cell}{bias}"),
            call.optional(f"{cell}{name}_layer_norm_weights"),
            call.optional(f"{cell}aux_to_{name}_weights"),
        )

    has_input_gate = call.has(f"{cell}input_to_input_weights")
    return Cell(
        gate("input", "input_gate_bias") if has_input_gate else None,
        gate("forget", "forget_gate_bias"),
        gate("cell", "cell_bias"),
        gate("output", "output_gate_bias"),
        call.optional(f"{cell}projection_weights"),
        call.optional(f"{cell}projection_bias"),
        call.integer("activation"),
        call.number("cell_clip"),
        call.number("projection_clip"),
    )


@operation("LSTM")
def lstm(call: Call) -> Sequence[Array]:
    """Outputs: a scratch buffer of the gates (its content is the driver's own), output state, cell
    state, output."""
    cell = read_cell(call)
    output, state, gates = cell.step(
        call.real("input"), None, call.real("output_state"), call.real("cell_state")
    )
    return [np.concatenate(gates, axis=1), output, state, output]


@operation("UNIDIRECTIONAL_SEQUENCE_LSTM")
def unidirectional_sequence_lstm(call: Call) -> Sequence[Array]:
    cell = read_cell(call)
    time_major = call.flag("time_major")
    outputs, *states = cell.sequence(
        by_time(call.real("input"), time_major),
        None,
        call.real("output_state"),
        call.real("cell_state"),
    )
    return [by_time(outputs, time_major), *states][: len(call.outputs)]


@operation("BIDIRECTIONAL_SEQUENCE_LSTM")
def bidirectional_sequence_lstm(call: Call) -> Sequence[Array]:
    """An auxiliary input without weights is what the backward cell reads."""
    forward_cell = read_cell(call, "fw_")
    backward_cell = read_cell(call, "bw_")
    merge, time_major = call.flag("merge_outputs"), call.flag("time_major")
    data = by_time(call.real("input"), time_major)
    aux = by_time(call.real("aux_input"), time_major) if call.has("aux_input") else None
    backward_data = data
    if aux is not None and not call.has("fw_aux_to_forget_weights"):
        backward_data, aux = aux, None
    forward, *forward_states = forward_cell.sequence(
        data, aux, call.real("fw_output_state"), call.real("fw_cell_state")
    )
    backward, *backward_states = backward_cell.sequence(
        backward_data[::-1],
        None if aux is None else aux[::-1],
        call.real("bw_output_state"),
        call.real("bw_cell_state"),
    )
    outputs = [by_time(forward, time_major), by_time(backward[::-1], time_major)]
    if merge:
        outputs = [np.concatenate(outputs, axis=2)]
    return [*outputs, *forward_states, *backward_states][: len(call.outputs)]
