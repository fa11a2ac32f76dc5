# SPDX-License-Identifier: Apache-2.0
"""Which numbers the inputs of a .tflite file may be, by what its operators do with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from halyard.model.input_ranges import FREE, Range, Use, ranges, single
from halyard.tflite.reading.file import Graph, Operator, Tensor

# By operator: the inputs whose elements its outputs have.
_CARRIED: Mapping[str, Sequence[int]] = {
    "BROADCAST_TO": (0,),
    "CAST": (0,),
    "EXPAND_DIMS": (0,),
    "GATHER": (0,),
    "GATHER_ND": (0,),
    "PAD": (0,),
    "PADV2": (0,),
    "RESHAPE": (0,),
    "SELECT": (1, 2),
    "SELECT_V2": (1, 2),
    "SLICE": (0,),
    "SPLIT": (1,),
    "SPLIT_V": (0,),
    "SQUEEZE": (0,),
    "STRIDED_SLICE": (0,),
    "TILE": (0,),
    "TRANSPOSE": (0,),
    "UNPACK": (0,),
}
_COMPUTING = frozenset(
    {"ABS", "ADD", "ADD_N", "DIV", "EQUAL", "FLOOR_DIV", "FLOOR_MOD", "GREATER", "GREATER_EQUAL"}
    | {"LESS", "LESS_EQUAL", "MAXIMUM", "MINIMUM", "MUL", "NEG", "NOT_EQUAL", "REDUCE_MAX"}
    | {"REDUCE_MIN", "SELECT", "SELECT_V2", "SIGN", "SQUARED_DIFFERENCE", "SUB", "SUM"}
)
_WHOLE = frozenset({"INT32", "INT64"})
# The inputs that it has, where they are not two.
_LEAST = {"SCATTER_ND": 3, "ONE_HOT": 4}


def ranges_of(graph: Graph) -> dict[str, Range]:
    """By the inputs' names; those of whole numbers, and of real ones that index something."""
    uses: dict[str, list[Use]] = {}
    for operator in graph.operators:
        for place, index in enumerate(operator.inputs):
            if index >= 0 and graph.tensors[index].data is None:
                uses.setdefault(str(index), []).append(_use(graph, operator, place))
    inputs = [
        index for index in graph.inputs if graph.tensors[index].type_name in {*_WHOLE, "FLOAT32"}
    ]
    found = ranges(map(str, inputs), uses)
    return {
        graph.tensors[index].name: found[str(index)]
        for index in inputs
        if graph.tensors[index].type_name in _WHOLE or found[str(index)] not in (FREE, Range(0, 1))
    }


def _use(graph: Graph, operator: Operator, place: int) -> Use:
    kind = operator.kind
    asked = _asked(graph, operator, place)
    if asked is not None:
        return Use(asks=asked)
    carried = kind in ("CONCATENATION", "PACK") or place in _CARRIED.get(kind, ())
    if not carried and kind not in _COMPUTING:
        return Use()
    outputs = tuple(str(index) for index in operator.outputs if index >= 0)
    if kind in ("ADD", "SUB") and not (kind == "SUB" and place == 1) and len(operator.inputs) == 2:
        other = single(_tensor(graph, operator, 1 - place).values)
        if other is not None:
            return Use(carries=outputs, offset=other if kind == "ADD" else -other)
    return Use(carries=outputs) if carried else Use(computes=outputs)


def _asked(graph: Graph, operator: Operator, place: int) -> Range | None:
    """None also where it lacks inputs, as a file may have it."""
    if any(not 0 <= each < len(graph.tensors) for each in operator.inputs[:3]):
        return None
    if len(operator.inputs) < _LEAST.get(operator.kind, 2):
        return None
    match operator.kind, place:
        case "GATHER", 1:
            return _below(_tensor(graph, operator, 0), _option(operator, "axis"))
        case "EMBEDDING_LOOKUP", 0:
            return _below(_tensor(graph, operator, 1), 0)
        case "GATHER_ND", 1:
            indexes = _tensor(graph, operator, 1).shape
            extents = _tensor(graph, operator, 0).shape[: indexes[-1] if indexes else 1]
            return Range(0, min(extents) - 1) if extents else None
        case "SCATTER_ND", 0:
            into = _tensor(graph, operator, 2).values
            return Range(0, int(into.min()) - 1) if into is not None and into.size else None
        case "ONE_HOT", 0:
            depth = single(_tensor(graph, operator, 1).values)
            return Range(0, depth - 1) if depth is not None else None
        case "REVERSE_SEQUENCE", 1:
            below = _below(_tensor(graph, operator, 0), _option(operator, "seqDim"))
            return Range(1, below.last + 1) if below is not None else None
        case (("DIV" | "FLOOR_DIV" | "FLOOR_MOD"), 1):
            is_whole = _tensor(graph, operator, 1).type_name in _WHOLE
            return Range(1, FREE.last) if is_whole else None
        case _:
            return None


def _tensor(graph: Graph, operator: Operator, place: int) -> Tensor:
    return graph.tensors[operator.inputs[place]]


def _below(tensor: Tensor, axis: int) -> Range | None:
    if not -len(tensor.shape) <= axis < len(tensor.shape):
        return None
    return Range(0, tensor.shape[axis] - 1)


def _option(operator: Operator, name: str) -> int:
    value: Any = getattr(operator.options, name, 0)
    return int(value)
