# SPDX-License-Identifier: Apache-2.0
"""LSTM cells whose inner values are quantised, too: QUANTIZED_LSTM and QUANTIZED_16BIT_LSTM. The
contract says of which scale each inner value is; between two of them arithmetic is real here, but
for the functions of gates, which are of fixed point (fixed_point.py)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from halyard.model import Array
from halyard.reference import fixed_point
from halyard.reference.tensor import Call, Tensor, operation

# Functions of gates are of 16 bits, as parts of 1; what they are functions of has three integer
# bits.
_UNIT = 1 / 32768
_SUM = 2.0**-12


def _rounded(real: Array, scale: float, bits: int = 16, zero_point: int = 0) -> Array:
    """The nearest real number that a signed quantised value can stand for."""
    limit = 1 << (bits - 1)
    steps = np.clip(np.rint(real / scale) + zero_point, -limit, limit - 1)
    return np.asarray((steps - zero_point) * scale)


def _products(call: Call, data: str, weights: str) -> Array:
    """The input `data` times the weights, in whole steps."""
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
    data = np.concatenate(
        [_steps(call.tensor("input")), _steps(call.tensor("output_state"))], axis=1
    )
    factor = call.tensor("input").scale * call.tensor("input_to_input_weights").scale / _SUM

    def gate(name: str, bias: str) -> Array:
        sides = ("recurrent", "input")
        weights = [_steps(call.tensor(f"{side}_to_{name}_weights")) for side in sides]
        sums = data @ np.concatenate(weights, axis=1).T + call.tensor(bias).stored
        return _whole(sums, factor)

    input_gate, forget_gate, output_gate = (
        fixed_point.logistic(gate(name, f"{name}_gate_bias"), 3)
        for name in ("input", "forget", "output")
    )
    update = fixed_point.tanh(gate("cell", "cell_bias"), 3)
    kept = fixed_point.product(forget_gate, call.tensor("cell_state").stored.astype(np.int64))
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
    cell = call.real("cell_state")
    cell_scale = call.tensor("cell_state").scale
    cell_clip = call.number("cell_clip") if call.has("cell_clip") else 0.0
    projection_clip = call.number("projection_clip") if call.has("projection_clip") else 0.0

    def gate(name: str, bias_name: str) -> Array:
        """The sum of a gate. Without a layer normalisation it has 12 fractional bits; with one it
        has its intermediate scale before, and 12 fractional bits after."""
        norm, peephole = f"{name}_layer_norm_weights", f"cell_to_{name}_weights"
        scale = call.number(f"{name}_intermediate_scale") if call.has(norm) else _SUM
        # A bias has the scale of the products with the input; that of a normalised gate is added
        # after the normalisation.
        bias = call.tensor(bias_name).stored
        total: Array | int = 0
        for source, side in (("input", "input"), ("output_state", "recurrent")):
            weights = f"{side}_to_{name}_weights"
            products = _products(call, source, weights)
            if source == "input" and not call.has(norm):
                products = products + bias
            factor = call.tensor(source).scale * call.tensor(weights).scale
            total = _whole(products, factor / scale, total)
        if call.has(peephole):
            seen = np.rint(cell / cell_scale) * call.tensor(peephole).stored
            total = _whole(seen, cell_scale * call.tensor(peephole).scale / scale, total)
        total = np.asarray(total)
        if not call.has(norm):
            return np.asarray(total * _SUM)
        return _normalized(total, call.tensor(norm), bias)

    forget_gate = _logistic(gate("forget", "forget_gate_bias"))
    update = _tanh(gate("cell", "cell_bias"))
    left = fixed_point.ONE * _UNIT - forget_gate
    input_gate = (
        _logistic(gate("input", "input_gate_bias")) if call.has("input_to_input_weights") else left
    )
    shift = 30 + int(np.rint(np.log2(cell_scale)))
    kept = fixed_point.halved(_in(forget_gate, _UNIT) * _in(cell, cell_scale), 15)
    added = fixed_point.halved(_in(input_gate, _UNIT) * _in(update, _UNIT), shift)
    cell = np.clip(kept + added, -32768, 32767) * cell_scale
    if cell_clip > 0:
        cell = np.clip(cell, -cell_clip, cell_clip)
    output_gate = _logistic(gate("output", "output_gate_bias"))
    hidden_scale, hidden_zero = (
        call.number("hidden_state_scale"),
        call.integer("hidden_state_zero_point"),
    )
    squashed = _tanh(cell, cell_scale)
    hidden = _rounded(output_gate * squashed, hidden_scale, 8, hidden_zero)
    output = hidden
    if call.has("projection_weights"):
        weights = call.tensor("projection_weights")
        output = hidden @ weights.real.T
        if call.has("projection_bias"):
            output = output + call.tensor("projection_bias").stored * (hidden_scale * weights.scale)
        if projection_clip > 0:
            output = np.clip(output, -projection_clip, projection_clip)
    return [output, cell, output]
