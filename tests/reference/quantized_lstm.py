# SPDX-License-Identifier: Apache-2.0
"""LSTM cells whose inner values are quantised, too: QUANTIZED_LSTM and QUANTIZED_16BIT_LSTM. The
contract says of which scale each inner value is; between two of them arithmetic is real here, but
for the functions of gates, which are of fixed point (fixed_point.py)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.reference import fixed_point
from tests.reference.tensor import Array, Call, Tensor, operation

# Functions of gates are of 16 bits, as parts of 1; what they are functions of has three integer
# bits.
_UNIT = 1 / 32768
_SUM = 2.0**-12


def _rounded(real: Array, scale: float, bits: int = 16, zero_point: int = 0) -> Array:
    """The nearest real number that a signed quantised value can stand for."""
    limit = 1 << (bits - 1)
    steps = np.clip(np.rint(real / scale) + zero_point, -limit, limit - 1)
    return np.asarray((steps - zero_point) * scale)


def _products(call: Call, data: int, weights: int) -> Array:
    """Input `data` times the weights, in whole steps."""
    tensor = call.tensor(data)
    steps = tensor.stored.astype(np.float64) - tensor.zero_point
    return np.asarray(steps @ call.tensor(weights).stored.T.astype(np.float64))


def _logistic(real: Array) -> Array:
    return fixed_point.logistic(np.rint(real / _SUM).astype(np.int64), 3) * _UNIT


def _tanh(real: Array, scale: float = _SUM) -> Array:
    bits = 15 + int(np.rint(np.log2(scale)))
    return fixed_point.tanh(np.rint(real / scale).astype(np.int64), bits) * _UNIT


@operation("QUANTIZED_16BIT_LSTM")
def quantized_16bit_lstm(call: Call) -> Sequence[Array]:
    """Sums are rounded to 12 fractional bits, functions of them to 15, the cell state to 11.

    The official results stem from a driver that lines up the input and the previous output with the
    recurrent weights and the input weights, in these orders: the first columns of the recurrent
    weights count for the input. What it computes has become what the operation means.
    """
    data = np.concatenate([_steps(call.tensor(0)), _steps(call.tensor(14))], axis=1)
    factor = call.tensor(0).scale * call.tensor(1).scale / _SUM

    def gate(number: int) -> Array:
        weights = [_steps(call.tensor(first + number)) for first in (5, 1)]
        sums = data @ np.concatenate(weights, axis=1).T + call.tensor(9 + number).stored
        return _whole(sums, factor)

    input_gate, forget_gate, output_gate = (
        fixed_point.logistic(gate(number), 3) for number in (0, 1, 3)
    )
    update = fixed_point.tanh(gate(2), 3)
    kept = fixed_point.product(forget_gate, call.tensor(13).stored.astype(np.int64))
    added = fixed_point.halved(fixed_point.product(input_gate, update), 4)
    cell = np.clip(kept + added, -32768, 32767)
    output = fixed_point.product(output_gate, fixed_point.tanh(cell, 4))
    # Of the output's scale, of 8 bits.
    return [cell * 2.0**-11, fixed_point.halved(output, 8) / 128]


def _steps(tensor: Tensor) -> Array:
    return tensor.stored.astype(np.int64) - tensor.zero_point


def _in(real: Array, scale: float) -> Array:
    """In whole steps, which it is a number of."""
    return np.rint(real / scale).astype(np.int64)


def _whole(steps: Array, factor: float, offset: Array | int = 0) -> Array:
    """Sums in other steps, of 16 bits."""
    return np.asarray(np.clip(offset + fixed_point.scaled(steps, factor), -32768, 32767))


def _normalized(steps: Array, weights: Tensor, bias: Array) -> Array:
    """Layer normalisation of whole numbers, in TensorFlow Lite's fixed point: the mean and the
    normal numbers have 10 fractional bits, the variance has none, and is 1 at least. A bias has the
    scale of their products with the weights."""
    count = steps.shape[1]
    mean = np.trunc(steps.sum(axis=1, keepdims=True) * 1024 / count) / 1024
    squares = (steps**2).sum(axis=1, keepdims=True) * (2**20 // count) / 2**20
    variance = np.maximum(np.trunc(squares - mean**2), 1)
    normal = np.stack(
        [
            fixed_point.over_root(row, int(of_row))
            for row, of_row in zip((steps - mean) * 1024, variance[:, 0], strict=True)
        ]
    )
    products = fixed_point.halved(normal * weights.stored.astype(np.int64) + bias, 10)
    return _whole(products, weights.scale / _SUM) * _SUM


@operation("QUANTIZED_LSTM")
def quantized_lstm(call: Call) -> Sequence[Array]:
    cell = call.real(19)
    cell_scale = call.tensor(19).scale
    cell_clip = call.number(24) if call.has(24) else 0.0
    projection_clip = call.number(25) if call.has(25) else 0.0

    def gate(number: int, peephole: int | None) -> Array:
        """The sum of a gate. Without a layer normalisation it has 12 fractional bits; with one it
        has the scale of inputs 26 to 29 before, and 12 fractional bits after."""
        normed = call.has(20 + number)
        scale = call.number(26 + number) if normed else _SUM
        # A bias has the scale of the products with the input; that of a normalised gate is added
        # after the normalisation.
        bias = call.tensor(12 + number).stored
        products = _products(call, 0, 1 + number) + (0 if normed else bias)
        recurrent = _products(call, 18, 5 + number)
        total = _whole(products, call.tensor(0).scale * call.tensor(1 + number).scale / scale)
        total = _whole(
            recurrent, call.tensor(18).scale * call.tensor(5 + number).scale / scale, total
        )
        if peephole is not None and call.has(9 + peephole):
            weights = call.tensor(9 + peephole)
            seen = np.rint(cell / cell_scale) * weights.stored
            total = _whole(seen, cell_scale * weights.scale / scale, total)
        if not normed:
            return total * _SUM
        return _normalized(total, call.tensor(20 + number), bias)

    forget_gate = _logistic(gate(1, 1))
    update = _tanh(gate(2, None))
    left = fixed_point.ONE * _UNIT - forget_gate
    input_gate = _logistic(gate(0, 0)) if call.has(1) else left
    shift = 30 + int(np.rint(np.log2(cell_scale)))
    kept = fixed_point.halved(_in(forget_gate, _UNIT) * _in(cell, cell_scale), 15)
    added = fixed_point.halved(_in(input_gate, _UNIT) * _in(update, _UNIT), shift)
    cell = np.clip(kept + added, -32768, 32767) * cell_scale
    if cell_clip > 0:
        cell = np.clip(cell, -cell_clip, cell_clip)
    output_gate = _logistic(gate(3, 2))
    hidden_scale, hidden_zero = call.number(31), call.integer(30)
    squashed = _tanh(cell, cell_scale)
    hidden = _rounded(output_gate * squashed, hidden_scale, 8, hidden_zero)
    output = hidden
    if call.has(16):
        weights = call.tensor(16)
        output = hidden @ weights.real.T
        if call.has(17):
            output = output + call.tensor(17).stored * (hidden_scale * weights.scale)
        if projection_clip > 0:
            output = np.clip(output, -projection_clip, projection_clip)
    return [output, cell, output]
