# SPDX-License-Identifier: Apache-2.0
"""Recurrent networks without gates, and SVDF."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from halyard.model import Array
from halyard.reference.tensor import Call, operation


def cell_activation(real: Array, code: int) -> Array:
    """The activations of recurrent cells: those that are fused elsewhere, tanh and sigmoid."""
    if code == 4:
        return np.tanh(real)
    if code == 6:
        return sigmoid(real)
    return np.clip(real, *{0: (-np.inf, np.inf), 1: (0, np.inf), 2: (-1, 1), 3: (0, 6)}[code])


def sigmoid(real: Array) -> Array:
    return 1 / (1 + np.exp(-real))


@operation("RNN")
def rnn(call: Call) -> Sequence[Array]:
    """The new state is the output."""
    data, bias, state = map(call.real, ("input", "bias", "hidden_state"))
    weights, recurrent = call.real("weights"), call.real("recurrent_weights")
    output = cell_activation(
        data @ weights.T + state @ recurrent.T + bias, call.integer("activation")
    )
    return [output, output]


@operation("SVDF")
def svdf(call: Call) -> Sequence[Array]:
    """Each filter keeps a memory of its latest values, which the time weights sum up; `rank`
    filters make a unit. In a state the oldest value is gone already: its last place is free for the
    next one."""
    data, feature, time = map(call.real, ("input", "weights_feature", "weights_time"))
    state, rank = call.real("state"), call.integer("rank")
    filters, memory = time.shape
    batch = data.shape[0]
    kept = state.reshape(batch, filters, memory)
    latest = (data @ feature.T)[:, :, np.newaxis]
    kept = np.concatenate([kept[:, :, :-1], latest], axis=2)
    units = (kept * time).sum(axis=2).reshape(batch, filters // rank, rank).sum(axis=2)
    bias = call.optional("bias")
    if bias is not None:
        units = units + bias
    shifted = np.concatenate([kept[:, :, 1:], np.zeros_like(latest)], axis=2)
    return [shifted.reshape(state.shape), cell_activation(units, call.integer("activation"))]


def _sequence(
    call: Call, cell: str, data: Array, aux: Array | None, aux_weights: Array | None, code: int
) -> tuple[Array, Array]:
    """The outputs at all times ([time, batch, units]) and the last state of the cell whose
    operands' names begin so."""
    weights, recurrent, bias, state = (
        call.real(cell + part) for part in ("weights", "recurrent_weights", "bias", "hidden_state")
    )
    outputs = []
    for at, step in enumerate(data):
        sums = step @ weights.T + state @ recurrent.T + bias
        if aux is not None and aux_weights is not None:
            sums = sums + aux[at] @ aux_weights.T
        state = cell_activation(sums, code)
        outputs.append(state)
    return np.stack(outputs), state


def by_time(data: Array, time_major: bool) -> Array:
    """[time, batch, ...], which is its own inverse."""
    return data if time_major else data.swapaxes(0, 1)


@operation("UNIDIRECTIONAL_SEQUENCE_RNN")
def unidirectional_sequence_rnn(call: Call) -> Sequence[Array]:
    time_major = bool(call.integer("time_major"))
    data = by_time(call.real("input"), time_major)
    outputs, last = _sequence(call, "", data, None, None, call.integer("activation"))
    return [by_time(outputs, time_major), last][: len(call.outputs)]


@operation("BIDIRECTIONAL_SEQUENCE_RNN")
def bidirectional_sequence_rnn(call: Call) -> Sequence[Array]:
    """An auxiliary input without weights is what the backward cell reads."""
    code = call.integer("activation")
    time_major, merge = call.flag("time_major"), call.flag("merge_outputs")
    data = by_time(call.real("input"), time_major)
    aux = by_time(call.real("aux_input"), time_major) if call.has("aux_input") else None
    forward_weights, backward_weights = (
        call.optional("fw_aux_weights"),
        call.optional("bw_aux_weights"),
    )
    backward_data = data
    if aux is not None and forward_weights is None:
        backward_data, aux = aux, None
    forward, forward_state = _sequence(call, "fw_", data, aux, forward_weights, code)
    backward_aux = None if aux is None else aux[::-1]
    backward, backward_state = _sequence(
        call, "bw_", backward_data[::-1], backward_aux, backward_weights, code
    )
    outputs = [by_time(forward, time_major), by_time(backward[::-1], time_major)]
    if merge:
        outputs = [np.concatenate(outputs, axis=2)]
    return [*outputs, forward_state, backward_state][: len(call.outputs)]
