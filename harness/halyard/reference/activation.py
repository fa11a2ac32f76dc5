# SPDX-License-Identifier: Apache-2.0
"""Activations as operations of their own, and the softmaxes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from halyard.model import Array
from halyard.reference.tensor import Call, activate, operation

_FUSED = {"RELU": 1, "RELU1": 2, "RELU6": 3}


@operation(*_FUSED)
def relu(call: Call) -> Sequence[Array]:
    return [activate(call.real("input"), _FUSED[call.name])]


@operation("LOGISTIC")
def logistic(call: Call) -> Sequence[Array]:
    return [1 / (1 + np.exp(-call.real("input")))]


@operation("TANH")
def tanh(call: Call) -> Sequence[Array]:
    return [np.tanh(call.real("input"))]


@operation("ELU")
def elu(call: Call) -> Sequence[Array]:
    """max(0, x) + min(0, alpha * (exp(x) - 1))."""
    x, alpha = call.real("input"), call.number("alpha")
    return [np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))]


@operation("HARD_SWISH")
def hard_swish(call: Call) -> Sequence[Array]:
    x = call.real("input")
    return [x * np.clip(x + 3, 0, 6) / 6]


@operation("PRELU")
def prelu(call: Call) -> Sequence[Array]:
    x, alpha = call.real("a"), call.real("b")
    return [np.where(x >= 0, x, alpha * x)]


@operation("SOFTMAX", "LOG_SOFTMAX")
def softmax(call: Call) -> Sequence[Array]:
    """exp(beta * x) over its sum along the axis, the last one where none is given. The largest
    exponent is taken out first, which changes nothing but the overflow."""
    x, beta = call.real("input"), call.number("beta")
    axis = call.axis("axis", x.ndim)
    exponents = (x - x.max(axis=axis, keepdims=True)) * beta
    if call.name == "LOG_SOFTMAX":
        return [exponents - np.log(np.exp(exponents).sum(axis=axis, keepdims=True))]
    powers = np.exp(exponents)
    return [powers / powers.sum(axis=axis, keepdims=True)]
