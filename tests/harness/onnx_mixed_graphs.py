# SPDX-License-Identifier: Apache-2.0
"""Random ONNX graphs of operators that NNAPI has and of others, so that values of every kind cross
from one part to another: INT64, truth values, FLOAT16, bytes, scalars, tensors without elements and
of unknown shape, through graphs inside and beside sequences; with outputs that are constants,
inputs or each other, and with files that declare much, little or what is not so.

A graph follows from a seed and its number alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from onnx import (
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    ValueInfoProto,
    helper,
    numpy_helper,
)

from halyard.model import Array

T = TypeVar("T")
Shape = tuple[int, ...]

ELEMENTS: Mapping[str, int] = {
    "f4": TensorProto.FLOAT,
    "f2": TensorProto.FLOAT16,
    "f8": TensorProto.DOUBLE,
    "i8": TensorProto.INT64,
    "i4": TensorProto.INT32,
    "u1": TensorProto.UINT8,
    "?": TensorProto.BOOL,
}
_MOST_ELEMENTS = 512
# Behind these a declaration is all that there is.
_UNINFERRED = ("Compress", "ConcatFromSequence", "Gelu", "If", "Loop", "NonZero", "SampleOp")
_OPSETS = (13, 17, 18, 21)


@dataclass(frozen=True)
class Value:
    """`shape` is None where it is known only when the model runs. What is exact may be compared,
    rounded and sorted, as no engine computes it otherwise."""

    name: str
    kind: str
    shape: Shape | None
    exact: bool = True


@dataclass(frozen=True)
class MixedGraph:
    model: ModelProto
    inputs: Mapping[str, Array]


@dataclass
class Draft:
    random: np.random.Generator
    opset: int
    values: list[Value] = field(default_factory=list)
    inputs: dict[str, Array] = field(default_factory=dict)
    constants: dict[str, Array] = field(default_factory=dict)
    nodes: list[NodeProto] = field(default_factory=list)
    _count: int = 0

    # ---- choices --------------------------------------------------------------------------------

    def chance(self, share: float) -> bool:
        return bool(self.random.random() < share)

    def integer(self, low: int, high: int) -> int:
        """Both ends belong to it."""
        return int(self.random.integers(low, high + 1))

    def pick(self, choices: Sequence[T]) -> T:
        if not choices:
            raise ValueError("there is nothing to choose from")
        return choices[self.integer(0, len(choices) - 1)]

    def value(
        self, kinds: str, *, known: bool = True, exact: bool = False, least: int = 0
    ) -> Value:
        """One of the kinds ("f4 f2"), of so many dimensions at least. ValueError if none is."""
        found = [
            each
            for each in self.values
            if each.kind in kinds.split()
            and (each.exact or not exact)
            and ((each.shape is not None and len(each.shape) >= least) or not known)
        ]
        # Those that are new more often, so that graphs are deep.
        return self.pick(found[-4:] if self.chance(0.6) else found)

    def numbers(self, kind: str, shape: Shape) -> Array:
        """Multiples of a quarter."""
        if kind == "?":
            return np.asarray(self.random.random(shape) < 0.5)
        if kind in ("f4", "f2", "f8"):
            return np.asarray(self.random.integers(-12, 13, shape) / 4, kind)
        return np.asarray(self.random.integers(0 if kind == "u1" else -3, 4, shape), kind)

    # ---- the graph ------------------------------------------------------------------------------

    def name(self, word: str) -> str:
        self._count += 1
        return f"{word}_{self._count}"

    def constant(self, values: object, kind: str) -> str:
        name = self.name("constant")
        self.constants[name] = np.asarray(values, kind)
        return name

    def ints(self, *values: int) -> str:
        return self.constant(values, "i8")

    def add_input(self) -> None:
        kind = self.pick(["f4", "f4", "f4", "f2", "i8", "i8", "?", "i4", "u1"])
        name, shape = self.name("x"), self.shape()
        self.inputs[name] = self.numbers(kind, shape)
        self.values.append(Value(name, kind, shape))

    def shape(self) -> Shape:
        if self.chance(0.25):
            return (1, self.integer(1, 3), self.integer(3, 5), self.integer(3, 5))
        return tuple(self.integer(1, 4) for _ in range(self.integer(0, 3)))

    def op(self, kind: str, *inputs: str, **attributes: object) -> str:
        return self.ops(kind, inputs, 1, **attributes)[0]

    def ops(self, kind: str, inputs: Sequence[str], count: int, **attributes: object) -> list[str]:
        names = [self.name(kind) for _ in range(count)]
        domain = str(attributes.pop("domain", ""))
        self.nodes.append(
            helper.make_node(kind, inputs, names, name=names[0], domain=domain, **attributes)
        )
        return names

    def give(self, name: str, kind: str, shape: Shape | None, exact: bool) -> None:
        self.values.append(Value(name, kind, shape, exact))

    def same(self, kind: str, value: Value, *, exact: bool, **attributes: object) -> None:
        """An operator that keeps type and shape."""
        name = self.op(kind, value.name, **attributes)
        self.give(name, value.kind, value.shape, exact and value.exact)

    def tame(self, value: Value) -> Value:
        """Small numbers of it, of which functions do not overflow."""
        return Value(self.op("Tanh", value.name), value.kind, value.shape, exact=False)


Step = Callable[[Draft], None]


# ---- element by element -------------------------------------------------------------------------


def exact_function(d: Draft) -> None:
    value = d.value("f4 f4 f2", known=False)
    d.same(d.pick(["Relu", "Neg", "Abs", "Identity", "Sign"]), value, exact=True)


def function(d: Draft) -> None:
    value = d.tame(d.value("f4 f2", known=False))
    kinds = ["Sigmoid", "Exp", "Erf", "Softsign", "Softplus", "Elu", "Selu", "Sin"]
    d.same(d.pick(kinds), value, exact=False)


def host_function(d: Draft) -> None:
    value = d.tame(d.value("f4", known=False))
    d.same(d.pick(["Atan", "Sinh", "Tan", "Cosh", "Shrink", "Atan"]), value, exact=False)


def rounding(d: Draft) -> None:
    d.same(d.pick(["Ceil", "Floor", "Round"]), d.value("f4", exact=True), exact=True)


def pair(d: Draft) -> None:
    value = d.value("f4 f4 f2 i8 i4")
    assert value.shape is not None
    kind = d.pick(["Add", "Sub", "Mul", "Max", "Min"])
    others = [e for e in d.values if e.kind == value.kind and e.shape == value.shape]
    if d.chance(0.5) and others:
        chosen_one = d.pick(others)
        other, exact = chosen_one.name, chosen_one.exact
    else:
        shape = value.shape[d.integer(0, len(value.shape)) :]
        other, exact = d.constant(d.numbers(value.kind, shape), value.kind), True
    inputs = [value.name, other] if d.chance(0.6) else [other, value.name]
    name = d.op(kind, *inputs)
    if kind == "Mul" and value.kind in ("i8", "i4"):
        name = d.op("Mod", name, d.constant(97, value.kind))
    d.give(name, value.kind, value.shape, exact and value.exact and kind != "Mul")


def compared(d: Draft) -> None:
    value = d.value("f4 i8 i4", exact=True)
    kind = d.pick(["Greater", "Less", "Equal", "GreaterOrEqual", "LessOrEqual"])
    other = d.constant(d.numbers(value.kind, ()), value.kind)
    d.give(d.op(kind, value.name, other), "?", value.shape, True)


def truth(d: Draft) -> None:
    value = d.value("?")
    alike = [each for each in d.values if each.kind == "?" and each.shape == value.shape]
    kind = d.pick(["And", "Or", "Xor", "Not", "Identity"])
    inputs = [value.name] if kind in ("Not", "Identity") else [value.name, d.pick(alike).name]
    d.give(d.op(kind, *inputs), "?", value.shape, True)


def infinite(d: Draft) -> None:
    value = d.value("f4", exact=True)
    d.give(d.op(d.pick(["IsInf", "IsNaN"]), value.name), "?", value.shape, True)


def chosen(d: Draft) -> None:
    condition = d.value("?")
    fits = [e for e in d.values if e.kind in ("f4", "i8", "f2") and e.shape == condition.shape]
    value = d.pick(fits)
    other = d.constant(d.numbers(value.kind, ()), value.kind)
    d.give(d.op("Where", condition.name, value.name, other), value.kind, value.shape, value.exact)


def cast(d: Draft) -> None:
    value = d.value("f4 f2 i8 i4 ? u1 f8", known=False, exact=True)
    kind = d.pick([each for each in ELEMENTS if each != value.kind])
    if kind == "u1":
        if value.kind in ("f4", "f2", "f8", "i8", "i4"):
            value = Value(d.op("Abs", value.name), value.kind, value.shape)
        if value.kind in ("f4", "f2", "f8"):
            value = Value(d.op("Floor", value.name), value.kind, value.shape)
    d.give(d.op("Cast", value.name, to=ELEMENTS[kind]), kind, value.shape, True)


def by_text(d: Draft) -> None:
    value = d.value("i8 i4", exact=True)
    text = d.op("Cast", value.name, to=TensorProto.STRING)
    d.give(d.op("Cast", text, to=ELEMENTS[value.kind]), value.kind, value.shape, True)


# ---- what moves elements ------------------------------------------------------------------------

_ALL = "f4 f4 f2 i8 i4 ? u1 f8"


def transposed(d: Draft) -> None:
    value = d.value(_ALL, least=1)
    assert value.shape is not None
    order = [int(axis) for axis in d.random.permutation(len(value.shape))]
    shape = tuple(value.shape[axis] for axis in order)
    d.give(d.op("Transpose", value.name, perm=order), value.kind, shape, value.exact)


def reshaped(d: Draft) -> None:
    value = d.value(_ALL)
    assert value.shape is not None
    if d.chance(0.4):
        axis = d.integer(0, len(value.shape))
        shape = (*value.shape[:axis], 1, *value.shape[axis:])
        name = d.op("Unsqueeze", value.name, d.ints(axis))
    elif 1 in value.shape and d.chance(0.5):
        axis = value.shape.index(1)
        shape = (*value.shape[:axis], *value.shape[axis + 1 :])
        name = d.op("Squeeze", value.name, d.ints(axis))
    else:
        size = int(np.prod(value.shape))
        divisor = d.pick([each for each in range(1, max(size, 1) + 1) if size % each == 0])
        shape = (divisor, size // divisor)
        name = d.op("Reshape", value.name, d.ints(*shape))
    if len(shape) > 6:
        raise ValueError("too many dimensions")
    d.give(name, value.kind, shape, value.exact)


def sliced(d: Draft) -> None:
    value = d.value(_ALL, least=1)
    assert value.shape is not None
    axis = d.integer(0, len(value.shape) - 1)
    extent = value.shape[axis]
    begin = d.integer(0, max(extent - 1, 0))
    # Nothing, at times.
    end = begin if d.chance(0.1) else d.integer(min(begin + 1, extent), extent)
    shape = (*value.shape[:axis], max(end - begin, 0), *value.shape[axis + 1 :])
    name = d.op("Slice", value.name, d.ints(begin), d.ints(end), d.ints(axis))
    d.give(name, value.kind, shape, value.exact)


def joined(d: Draft) -> None:
    value = d.value(_ALL, least=1)
    assert value.shape is not None
    if int(np.prod(value.shape)) * 2 > _MOST_ELEMENTS:
        raise ValueError("too large")
    axis = d.integer(0, len(value.shape) - 1)
    alike = [each for each in d.values if (each.kind, each.shape) == (value.kind, value.shape)]
    other = d.pick(alike)
    shape = (*value.shape[:axis], 2 * value.shape[axis], *value.shape[axis + 1 :])
    name = d.op("Concat", value.name, other.name, axis=axis)
    d.give(name, value.kind, shape, value.exact and other.exact)


def split(d: Draft) -> None:
    value = d.value("f4 i8 f2", least=1)
    assert value.shape is not None
    axes = [axis for axis, extent in enumerate(value.shape) if extent > 1]
    axis = d.pick(axes)
    sizes = (1, value.shape[axis] - 1)
    names = d.ops("Split", [value.name, d.ints(*sizes)], 2, axis=axis)
    for name, size in zip(names, sizes, strict=True):
        shape = (*value.shape[:axis], size, *value.shape[axis + 1 :])
        d.give(name, value.kind, shape, value.exact)


def gathered(d: Draft) -> None:
    value = d.value(_ALL, least=1)
    assert value.shape is not None
    axis = d.integer(0, len(value.shape) - 1)
    if not value.shape[axis]:
        raise ValueError("there is nothing to gather")
    places = d.random.integers(0, value.shape[axis], d.pick([(), (2,)]))
    shape = (*value.shape[:axis], *places.shape, *value.shape[axis + 1 :])
    name = d.op("Gather", value.name, d.constant(places, "i8"), axis=axis)
    d.give(name, value.kind, shape, value.exact)


def largest(d: Draft) -> None:
    """Places, which are INT64, and what is there, picked by an operator of the host."""
    value = d.value("f4", least=1, exact=True)
    assert value.shape is not None
    axis = d.integer(0, len(value.shape) - 1)
    if not value.shape[axis] or 0 in value.shape:
        raise ValueError("there is nothing to sort")
    count = d.integer(1, value.shape[axis])
    shape = (*value.shape[:axis], count, *value.shape[axis + 1 :])
    found, places = d.ops("TopK", [value.name, d.ints(count)], 2, axis=axis)
    d.give(found, "f4", shape, True)
    d.give(places, "i8", shape, True)
    if d.chance(0.5):
        d.give(d.op("GatherElements", value.name, places, axis=axis), "f4", shape, True)


def best(d: Draft) -> None:
    value = d.value("f4", least=1, exact=True)
    assert value.shape is not None
    if 0 in value.shape:
        raise ValueError("there is nothing to compare")
    axis, keep = d.integer(0, len(value.shape) - 1), d.integer(0, 1)
    shape = (*value.shape[:axis], *([1] * keep), *value.shape[axis + 1 :])
    name = d.op(d.pick(["ArgMax", "ArgMin"]), value.name, axis=axis, keepdims=keep)
    d.give(name, "i8", shape, True)


def reduced(d: Draft) -> None:
    value = d.value("f4 f4 i8", known=False)
    keep = d.integer(0, 1)
    if value.shape is None or 0 in value.shape:
        name = d.op("ReduceSum", value.name, keepdims=0)
        d.give(name, value.kind, (), False)
        return
    if value.shape and d.chance(0.6):
        axis = d.integer(0, len(value.shape) - 1)
        shape = (*value.shape[:axis], *([1] * keep), *value.shape[axis + 1 :])
        name = d.op("ReduceSum", value.name, d.ints(axis), keepdims=keep)
    else:
        shape = (1,) * (len(value.shape) * keep)
        kind = (
            "ReduceSum" if value.kind == "i8" else d.pick(["ReduceSum", "ReduceMean", "ReduceMax"])
        )
        name = d.op(kind, value.name, keepdims=keep)
    d.give(name, value.kind, shape, value.exact and value.kind == "i8")


def summed(d: Draft) -> None:
    value = d.value("f4 i8 i4", least=1)
    d.give(d.op("CumSum", value.name, d.constant(0, "i8")), value.kind, value.shape, value.exact)


def measured(d: Draft) -> None:
    """Constants, as shapes are known."""
    value = d.value(_ALL)
    assert value.shape is not None
    if d.chance(0.5):
        d.give(d.op("Shape", value.name), "i8", (len(value.shape),), True)
    else:
        d.give(d.op("Size", value.name), "i8", (), True)


# ---- images, GEMMs, bytes --------------------------------------------------------------------


def image(d: Draft) -> None:
    value = d.value("f4", least=4)
    assert value.shape is not None
    shape = value.shape
    if len(shape) != 4 or 0 in shape:
        raise ValueError("no image")
    kind = d.pick(["Conv", "Conv", "MaxPool", "GlobalAveragePool", "MeanVarianceNormalization"])
    if kind == "Conv":
        weights = d.constant(d.random.normal(0, 0.4, (2, shape[1], 1, 1)), "f4")
        name, made = d.op("Conv", value.name, weights), (shape[0], 2, *shape[2:])
    elif kind == "MaxPool":
        name = d.op("MaxPool", value.name, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
        made = shape
    elif kind == "GlobalAveragePool":
        name, made = d.op(kind, value.name), (*shape[:2], 1, 1)
    elif d.opset >= 21 and shape[1] % 2 == 0:
        scale = d.constant(d.numbers("f4", (shape[1],)), "f4")
        name = d.op("GroupNormalization", value.name, scale, scale, num_groups=2)
        made = shape
    else:
        name, made = d.op(kind, value.name), shape
    d.give(name, "f4", made, value.exact and kind == "MaxPool")


def product(d: Draft) -> None:
    value = d.value("f4", least=2)
    assert value.shape is not None
    if 0 in value.shape:
        raise ValueError("nothing to multiply")
    weights = d.constant(d.random.normal(0, 0.4, (value.shape[-1], 3)), "f4")
    d.give(d.op("MatMul", value.name, weights), "f4", (*value.shape[:-1], 3), False)


def in_bytes(d: Draft) -> None:
    value = d.value("f4", exact=True)
    parameters = d.constant(0.25, "f4"), d.constant(128, "u1")
    whole = d.op("QuantizeLinear", value.name, *parameters)
    d.give(d.op("DequantizeLinear", whole, *parameters), "f4", value.shape, True)
    if d.chance(0.3):
        d.give(whole, "u1", value.shape, True)


# ---- shapes that values decide, and what no array holds -----------------------------------------


def places(d: Draft) -> None:
    value = d.value("f4 ? i8", least=1, exact=True)
    d.give(d.op("NonZero", value.name), "i8", None, True)


def squeezed_out(d: Draft) -> None:
    value, condition = d.value("f4 i8"), d.value("?")
    assert condition.shape is not None
    flat = d.op("Reshape", condition.name, d.ints(-1))
    rows = d.op("Reshape", value.name, d.ints(-1))
    size = int(np.prod(condition.shape))
    if size > int(np.prod(value.shape or ())):
        raise ValueError("more conditions than values")
    d.give(d.op("Compress", rows, flat, axis=0), value.kind, None, value.exact)


def sequence(d: Draft) -> None:
    value = d.value("f4", least=1)
    assert value.shape is not None
    if not value.shape[0] or int(np.prod(value.shape)) * 2 > _MOST_ELEMENTS:
        raise ValueError("too large")
    held = d.op("SequenceConstruct", value.name)
    first = d.op("SequenceAt", held, d.constant(0, "i8"))
    if d.chance(0.5):
        first = d.op(d.pick(["Relu", "Neg"]), first)
    more = d.op("SequenceInsert", held, first)
    shape = (2 * value.shape[0], *value.shape[1:])
    d.give(d.op("ConcatFromSequence", more, axis=0), "f4", shape, value.exact)


def foreign(d: Draft) -> None:
    """An operator of another domain, that onnx has no schema for."""
    value = d.tame(d.value("f4"))
    d.give(
        d.op(d.pick(["Gelu", "SampleOp"]), value.name, domain="com.microsoft"),
        "f4",
        value.shape,
        False,
    )


# ---- graphs inside ------------------------------------------------------------------------------


def _branch(d: Draft, value: Value) -> GraphProto:
    inner = d.name("inner")
    kind = d.pick(["Neg", "Abs", "Identity", "Relu", "Add"])
    inputs = [value.name, value.name] if kind == "Add" else [value.name]
    output = d.name("branch")
    nodes = [
        helper.make_node(kind, inputs, [inner]),
        helper.make_node("Identity", [inner], [output]),
    ]
    return helper.make_graph(nodes, "branch", [], [helper.make_empty_tensor_value_info(output)])


def conditional(d: Draft) -> None:
    value = d.value("f4")
    if d.chance(0.5):
        scalars = [each for each in d.values if each.kind == "?" and each.shape in ((), (1,))]
        condition = d.pick(scalars).name
    else:
        # One that is known.
        size = d.op("Size", value.name)
        condition = d.op("Equal", size, d.constant(d.integer(1, 6), "i8"))
    name = d.op("If", condition, then_branch=_branch(d, value), else_branch=_branch(d, value))
    d.give(name, "f4", value.shape, value.exact)


def loop(d: Draft) -> None:
    value = d.tame(d.value("f4"))
    info = helper.make_tensor_value_info
    go, on, v, w, i = (d.name(word) for word in ("go", "on", "v", "w", "i"))
    body = helper.make_graph(
        [helper.make_node("Add", [v, value.name], [w]), helper.make_node("Identity", [go], [on])],
        "body",
        [
            info(i, TensorProto.INT64, []),
            info(go, TensorProto.BOOL, []),
            info(v, TensorProto.FLOAT, value.shape),
        ],
        [info(on, TensorProto.BOOL, []), info(w, TensorProto.FLOAT, value.shape)],
    )
    name = d.op("Loop", d.constant(2, "i8"), d.constant(True, "?"), value.name, body=body)
    d.give(name, "f4", value.shape, False)


STEPS: Sequence[Step] = (
    exact_function, exact_function, function, function, host_function, host_function, rounding,
    pair, pair, pair, compared, compared, truth, truth, infinite, chosen, chosen, cast, cast,
    by_text, transposed, transposed, reshaped, reshaped, sliced, joined, split, gathered, largest,
    largest, best, reduced, reduced, summed, measured, image, image, image, product, in_bytes,
    places, squeezed_out, sequence, foreign, conditional, conditional, loop,
)  # fmt: skip


def _ends(d: Draft) -> list[Value]:
    """The outputs: what is computed, and at times a constant or an input."""
    made = [each for each in d.values if each.name not in d.inputs]
    count = d.integer(1, min(4, len(made)))
    # The last one, so that the whole graph counts.
    ends = {made[-1].name: made[-1]}
    for _ in range(count - 1):
        value = d.pick(made)
        ends[value.name] = value
    if d.chance(0.15):
        given = d.pick([each for each in d.values if each.name in d.inputs])
        ends[given.name] = given
    if d.constants and d.chance(0.15):
        name = d.pick(sorted(d.constants))
        values = d.constants[name]
        kind = "?" if values.dtype == bool else values.dtype.str[1:]
        ends[name] = Value(name, kind, values.shape)
    if d.chance(0.15):
        name = d.op("Neg", d.constant(d.numbers("f4", (2,)), "f4"))
        ends[name] = Value(name, "f4", (2,))
    return [list(ends.values())[place] for place in d.random.permutation(len(ends))]


def _declaration(d: Draft, value: Value) -> ValueInfoProto:
    """As files declare them: with the shape, with the type alone, or not at all."""
    style = d.integer(0, 3)
    if style == 0:
        return helper.make_empty_tensor_value_info(value.name)
    shape = value.shape if style > 1 else None
    return helper.make_tensor_value_info(value.name, ELEMENTS[value.kind], shape)


def _mistaken(d: Draft, info: ValueInfoProto) -> ValueInfoProto:
    """At times with a first extent, or a rank, that is not so, as in files that were cut or batched
    by hand."""
    shape = info.type.tensor_type.shape
    if len(shape.dim) and d.chance(0.1):
        shape.dim[0].dim_value += 1
    elif len(shape.dim) and d.chance(0.05):
        shape.dim.add().dim_value = 1
    return info


def generate(seed: int, number: int) -> MixedGraph:
    """The same for the same numbers."""
    random = np.random.default_rng([seed, number])
    d = Draft(random, _OPSETS[int(random.integers(len(_OPSETS)))])
    for _ in range(d.integer(1, 3)):
        d.add_input()
    wanted = d.integer(2, 14)
    for _ in range(wanted * 6):
        if len(d.nodes) >= wanted:
            break
        step = d.pick(STEPS)
        before = len(d.nodes)
        try:
            step(d)
        except ValueError:
            # Nothing goes with what there is.
            del d.nodes[before:]
    if not d.nodes:
        d.same("Identity", d.values[0], exact=True)
    ends = _ends(d)
    infos = [
        helper.make_tensor_value_info(name, ELEMENTS[_kind(values)], values.shape)
        for name, values in d.inputs.items()
    ]
    held = [numpy_helper.from_array(values, name) for name, values in d.constants.items()]
    noted = [
        _declaration(d, each)
        for each in d.values
        if each.name not in d.inputs and each not in ends and d.chance(0.3)
    ]
    noted = [each for each in noted if each.HasField("type")]
    if not any(node.op_type in _UNINFERRED for node in d.nodes):
        noted = [_mistaken(d, each) for each in noted]
    outputs = [_declaration(d, each) for each in ends]
    graph = helper.make_graph(d.nodes, "mixed", infos, outputs, held, value_info=noted)
    imports = [helper.make_opsetid("", d.opset), helper.make_opsetid("com.microsoft", 1)]
    return MixedGraph(helper.make_model(graph, ir_version=8, opset_imports=imports), d.inputs)


def _kind(values: Array) -> str:
    return "?" if values.dtype == bool else values.dtype.str[1:]
