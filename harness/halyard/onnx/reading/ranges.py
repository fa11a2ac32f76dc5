# SPDX-License-Identifier: Apache-2.0
"""Between which numbers whole values lie, as far as the graph tells: NNAPI has no INT64, which is
computed as INT32 where it fits."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from onnx import TensorProto

from halyard.errors import NotExpressible
from halyard.model import Array
from halyard.onnx.reading.network import Network, Node


@dataclass(frozen=True)
class Range:
    """Both ends belong to it."""

    low: int
    high: int

    def __or__(self, other: Range) -> Range:
        return Range(min(self.low, other.low), max(self.high, other.high))

    def fits(self, other: Range) -> bool:
        return other.low <= self.low and self.high <= other.high


INT32 = Range(-(2**31), 2**31 - 1)
_INT64 = Range(-(2**63), 2**63 - 1)


@dataclass
class Ranges:
    """Of the whole values of a graph. Those that come into the model lie within 32 bits: they are
    looked at when they do."""

    network: Network
    _computed: dict[str, Range] = field(default_factory=dict)

    def of(self, name: str) -> Range:
        values = self.network.constants.get(name)
        if values is not None:
            return _of_constant(values)
        return self._computed.get(name, INT32 if name not in self.network.producers else _INT64)

    def require_32_bits(self, node: Node) -> None:
        """NotExpressible where an INT64 that the operator reads or writes may go beyond, but for
        places, which are those of what is there."""
        places = _PLACES.get(node.operator, ())
        read = [name for number, name in enumerate(node.inputs) if number not in places]
        for name in (*read, *node.outputs):
            kind = self.network.types.get(name)
            if kind is None or kind.element != TensorProto.INT64:
                continue
            if name not in self.network.constants and not self.of(name).fits(INT32):
                raise NotExpressible(
                    f"{name!r} is of INT64 and may go beyond 32 bits, in which NNAPI computes"
                )

    def __post_init__(self) -> None:
        """Of what operators write, in their order."""
        found = self._computed
        for name, node in self.network.producers.items():
            kind = self.network.types.get(name)
            if kind is not None and kind.element in _WHOLE and name not in self.network.constants:
                limits = _INT64 if kind.element == TensorProto.INT64 else INT32
                try:
                    range_of = self._written(name, node)
                except NotExpressible:
                    range_of = limits
                # INT32 wraps around; INT64 beyond its own limits is as unknown as any.
                found[name] = range_of if range_of.fits(limits) else limits

    def _written(self, name: str, node: Node) -> Range:
        places = list(node.outputs).index(name) > 0 if node.operator == "TopK" else False
        if places or node.operator in ("ArgMax", "ArgMin"):
            axis = node.integer("axis", -1 if places else 0)
            shape = self.network.type(node.input(0)).shape or (1,)
            return Range(0, max(shape[axis] - 1, 0))
        if node.operator in ("Cast", "CastLike"):
            element = self.network.type(node.input(0)).element
            if element == TensorProto.BOOL:
                return Range(0, 1)
            return self.of(node.input(0)) if element in _WHOLE else _INT64
        if node.operator in _HANDED_ON:
            return _either([self.of(each) for each in _HANDED_ON[node.operator](node.inputs)])
        if node.operator not in _FUNCTIONS:
            return _INT64
        given = [self.of(each) for each in node.inputs if each]
        count = math.prod(self.network.type(node.input(0)).shape)
        return _FUNCTIONS[node.operator](given, count)


def _of_constant(values: Array) -> Range:
    if values.dtype.kind not in "iub":
        return _INT64
    return Range(int(values.min()), int(values.max())) if values.size else Range(0, 0)


# Which inputs say where elements are: a file whose places are not there does not run at all.
_PLACES: Mapping[str, tuple[int, ...]] = {"Gather": (1,), "GatherElements": (1,), "GatherND": (1,)}

_WHOLE = frozenset({TensorProto.INT64, TensorProto.INT32, TensorProto.UINT8, TensorProto.INT8})


def _first(names: Sequence[str]) -> Sequence[str]:
    return names[:1]


def _all(names: Sequence[str]) -> Sequence[str]:
    return [name for name in names if name]


def _last(names: Sequence[str]) -> Sequence[str]:
    return names[-1:]


def _choices(names: Sequence[str]) -> Sequence[str]:
    return names[1:]


# Of operators that compute nothing: the inputs whose values their outputs have.
_HANDED_ON: Mapping[str, Callable[[Sequence[str]], Sequence[str]]] = {
    **dict.fromkeys(
        (
            "DepthToSpace",
            "Dropout",
            "Expand",
            "Flatten",
            "Gather",
            "GatherElements",
            "GatherND",
            "Identity",
            "ReduceMax",
            "ReduceMin",
            "Reshape",
            "Slice",
            "SpaceToDepth",
            "Split",
            "Squeeze",
            "Tile",
            "TopK",
            "Transpose",
            "Unsqueeze",
        ),
        _first,
    ),
    "Concat": _all,
    "OneHot": _last,
    "Where": _choices,
}


def _either(given: Sequence[Range]) -> Range:
    found = given[0]
    for each in given[1:]:
        found = found | each
    return found


def _sum(given: Sequence[Range], _: int) -> Range:
    return Range(sum(each.low for each in given), sum(each.high for each in given))


def _difference(given: Sequence[Range], _: int) -> Range:
    a, b = given
    return Range(a.low - b.high, a.high - b.low)


def _product(given: Sequence[Range], _: int) -> Range:
    a, b = given
    corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    return Range(min(corners), max(corners))


def _negative(given: Sequence[Range], _: int) -> Range:
    return Range(-given[0].high, -given[0].low)


def _size(given: Sequence[Range], _: int) -> Range:
    return Range(0, max(abs(given[0].low), abs(given[0].high)))


def _largest(given: Sequence[Range], _: int) -> Range:
    return Range(max(each.low for each in given), max(each.high for each in given))


def _smallest(given: Sequence[Range], _: int) -> Range:
    return Range(min(each.low for each in given), min(each.high for each in given))


def _total(given: Sequence[Range], count: int) -> Range:
    """Of no more than all elements."""
    low, high = given[0].low, given[0].high
    return Range(min(low * count, low), max(high * count, high))


def _sign(_: Sequence[Range], __: int) -> Range:
    return Range(-1, 1)


def _or_zero(given: Sequence[Range], _: int) -> Range:
    return given[0] | Range(0, 0)


# The range of an operator's output by those of its inputs, and by the count of the first one's
# elements.
_FUNCTIONS: Mapping[str, Callable[[Sequence[Range], int], Range]] = {
    "Abs": _size,
    "Add": _sum,
    "CumSum": _total,
    "Max": _largest,
    "Min": _smallest,
    "Mul": _product,
    "Neg": _negative,
    "ReduceSum": _total,
    "Sign": _sign,
    "Sub": _difference,
    "Sum": _sum,
    "Trilu": _or_zero,
}
