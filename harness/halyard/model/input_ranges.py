# SPDX-License-Identifier: Apache-2.0
"""Which numbers a model's inputs may be: what indexes a table lies in it, however it gets there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from halyard.model.operands import Array, constants, is_constant, operation_name
from halyard.model.tensors import names_of
from halyard.proto import halyard_pb2 as pb


@dataclass(frozen=True)
class Range:
    """Whole numbers from the first to the last."""

    first: int
    last: int

    def both(self, other: Range) -> Range:
        return Range(max(self.first, other.first), min(self.last, other.last))


# Nothing tells: as truth values, and as indexes, most likely good ones.
CAREFUL = Range(0, 1)
# The range of values that are only computed with.
FREE = Range(0, 9)
# A file of a few bytes may have more ways through it than there is time.
_MOST_STEPS = 100_000


@dataclass(frozen=True)
class Use:
    """An operator's use of a value that it reads. `asks`: the range that it has to lie in;
    `carries`: values that have its elements, with `offset` added, as elements of their own;
    `computes`: values that are made of it in another way. None of them: it is not known."""

    asks: Range | None = None
    carries: tuple[str, ...] = ()
    offset: int = 0
    computes: tuple[str, ...] = ()


Uses = Mapping[str, Sequence[Use]]


def ranges(names: Iterable[str], uses: Uses) -> dict[str, Range]:
    """Of the inputs of these names."""
    return {name: _range(name, uses) for name in names}


def _range(name: str, uses: Uses) -> Range:
    found: Range | None = None
    careful = False
    # Values, what was added on the way to them, and whether they have the input's own elements.
    waiting = [(name, 0, True)]
    seen = set(waiting)
    while waiting:
        if len(seen) > _MOST_STEPS:
            return CAREFUL
        value, offset, own = waiting.pop()
        for use in uses.get(value, ()):
            if use.asks is not None and own:
                asked = Range(use.asks.first - offset, use.asks.last - offset)
                found = asked if found is None else found.both(asked)
            elif use.asks is not None or not (use.carries or use.computes):
                careful = True
            following = [(each, offset + use.offset, own) for each in use.carries]
            following += [(each, 0, False) for each in use.computes]
            for each in following:
                if each not in seen:
                    seen.add(each)
                    waiting.append(each)
    if found is not None:
        return found if found.first <= found.last else CAREFUL
    return CAREFUL if careful else FREE


def drawn(
    dtype: np.dtype[Any], shape: Sequence[int], random: np.random.Generator, wanted: Range
) -> Array:
    """Numbers of the range that the type holds, whole ones of any type."""
    first, last = wanted.first, wanted.last
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        first, last = max(first, int(limits.min)), min(last, int(limits.max))
    made: Array = random.integers(first, max(first, last), tuple(shape), np.int64, endpoint=True)
    return made.astype(dtype)


# ---- of NNAPI models ----------------------------------------------------------------------------

_CARRIED: Mapping[str, Sequence[int]] = {
    "CAST": (0,),
    "EXPAND_DIMS": (0,),
    "GATHER": (0,),
    "PAD": (0,),
    "RESHAPE": (0,),
    "SELECT": (1, 2),
    "SLICE": (0,),
    "SPLIT": (0,),
    "SQUEEZE": (0,),
    "STRIDED_SLICE": (0,),
    "TILE": (0,),
    "TRANSPOSE": (0,),
}
_COMPUTING = frozenset(
    {"ABS", "ADD", "EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL", "MAXIMUM", "MINIMUM"}
    | {"MUL", "NEG", "NOT_EQUAL", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_SUM", "SUB"}
)


def of_model(model: pb.Model) -> dict[str, Range]:
    """Of its inputs of whole numbers, by their names."""
    main = model.main
    if not any(
        main.operands[index].type == pb.OPERAND_TYPE_TENSOR_INT32 for index in main.input_indexes
    ):
        return {}
    uses: dict[str, list[Use]] = {}
    values = constants(model)
    for operation in main.operations:
        for place, index in enumerate(operation.inputs):
            if not is_constant(main.operands[index]):
                uses.setdefault(str(index), []).append(_use(main, values, operation, place))
    names = names_of(model)
    found = ranges(map(str, main.input_indexes), uses)
    return {names[int(index)]: each for index, each in found.items() if int(index) in names}


def _use(
    main: pb.Subgraph, values: Mapping[int, Array], operation: pb.Operation, place: int
) -> Use:
    name, inputs = operation_name(operation.type), operation.inputs
    outputs = tuple(map(str, operation.outputs))
    match name, place:
        case "GATHER", 2 if inputs[1] in values:
            dims = main.operands[inputs[0]].dimensions
            return Use(asks=Range(0, dims[int(values[inputs[1]].item()) % len(dims)] - 1))
        case "EMBEDDING_LOOKUP", 0:
            return Use(asks=Range(0, main.operands[inputs[1]].dimensions[0] - 1))
        case "HASHTABLE_LOOKUP", 0 if inputs[1] in values and values[inputs[1]].size:
            keys = values[inputs[1]]
            return Use(asks=Range(int(keys.min()), int(keys.max())))
        case "DIV", 1:
            return Use(asks=Range(1, FREE.last))
        case "ADD", (0 | 1) if (added := _single(values, inputs[1 - place])) is not None:
            return Use(carries=outputs, offset=added)
        case "SUB", 0 if (taken := _single(values, inputs[1])) is not None:
            return Use(carries=outputs, offset=-taken)
        case "CONCATENATION", _:
            return Use(carries=outputs)
    if place in _CARRIED.get(name, ()):
        return Use(carries=outputs)
    return Use(computes=outputs) if name in _COMPUTING or name == "DIV" else Use()


def _single(values: Mapping[int, Array], index: int) -> int | None:
    return single(values.get(index))


def single(values: Array | None) -> int | None:
    """The one whole number that a constant has."""
    if values is None or values.size == 0 or values.size > 64 or values.dtype.kind not in "iu":
        return None
    first = int(values.flat[0])
    return first if (values == first).all() else None
