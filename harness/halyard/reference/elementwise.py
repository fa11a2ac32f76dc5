# SPDX-License-Identifier: Apache-2.0
"""Operations on one element, or on pairs of elements, with numpy's broadcasting, which is
NNAPI's."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from halyard.model import Array
from halyard.reference.tensor import Call, activate, operation

_UNARY: dict[str, Callable[[Array], Array]] = {
    "ABS": np.abs,
    "EXP": np.exp,
    "FLOOR": np.floor,
    "LOG": np.log,
    "NEG": np.negative,
    "RSQRT": lambda x: 1 / np.sqrt(x),
    "SIN": np.sin,
    "SQRT": np.sqrt,
    "LOGICAL_NOT": lambda x: x == 0,
}

_BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "MAXIMUM": np.maximum,
    "MINIMUM": np.minimum,
    "POW": np.power,
    # The real numbers of quantised operands are compared, whatever their scales.
    "EQUAL": np.equal,
    "GREATER": np.greater,
    "GREATER_EQUAL": np.greater_equal,
    "LESS": np.less,
    "LESS_EQUAL": np.less_equal,
    "NOT_EQUAL": np.not_equal,
    "LOGICAL_AND": lambda a, b: (a != 0) & (b != 0),
    "LOGICAL_OR": lambda a, b: (a != 0) | (b != 0),
}

# With a fused activation.
_ARITHMETIC: dict[str, Callable[[Array, Array], Array]] = {
    "ADD": np.add,
    "DIV": np.divide,
    "MUL": np.multiply,
    "SUB": np.subtract,
}


@operation(*_UNARY)
def unary(call: Call) -> Sequence[Array]:
    return [_UNARY[call.name](call.real("input"))]


@operation(*_BINARY)
def binary(call: Call) -> Sequence[Array]:
    return [_BINARY[call.name](call.real("a"), call.real("b"))]


@operation(*_ARITHMETIC)
def arithmetic(call: Call) -> Sequence[Array]:
    result = _ARITHMETIC[call.name](call.real("a"), call.real("b"))
    if call.name == "DIV" and call.tensor("a").is_int32:
        result = np.floor(result)  # "floor division", as Python's //
    return [activate(result, call.integer("activation"))]
