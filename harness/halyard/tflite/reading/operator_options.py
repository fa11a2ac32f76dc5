# SPDX-License-Identifier: Apache-2.0
"""The options of operators, in NNAPI's terms."""

from __future__ import annotations

from typing import Any

from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.schema_py_generated import ActivationFunctionType

from halyard.errors import NotExpressible
from halyard.model.arguments import Activation, Padding
from halyard.tflite.reading.file import Operator

_FUSED = {
    ActivationFunctionType.NONE: Activation.NONE,
    ActivationFunctionType.RELU: Activation.RELU,
    ActivationFunctionType.RELU_N1_TO_1: Activation.RELU1,
    ActivationFunctionType.RELU6: Activation.RELU6,
}
# The smallest and the largest whole number that an activation lets pass.
LIMITS = {Activation.RELU: (0, None), Activation.RELU1: (-1, 1), Activation.RELU6: (0, 6)}
_NAMES = {
    code: name for name, code in vars(ActivationFunctionType).items() if isinstance(code, int)
}


def options(operator: Operator, kind: type) -> Any:
    """Of the schema's type, with its defaults where the file has none."""
    if operator.options is None:
        return kind()
    if not isinstance(operator.options, kind):
        found = type(operator.options).__name__.removesuffix("T")
        raise NotExpressible(f"its options are {found}")
    return operator.options


def fused(given: Any) -> Activation:
    """The activation that an operator's options fuse with it."""
    code = given.fusedActivationFunction
    if code not in _FUSED:
        raise NotExpressible(
            f"its fused activation is {_NAMES.get(code, code)}, for which NNAPI has no code"
        )
    return _FUSED[code]


def padding(given: Any) -> Padding:
    if given.padding == schema.Padding.SAME:
        return Padding.SAME
    if given.padding == schema.Padding.VALID:
        return Padding.VALID
    raise NotExpressible(f"its padding is {given.padding}, which is no scheme")
