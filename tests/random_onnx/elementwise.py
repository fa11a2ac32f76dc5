# SPDX-License-Identifier: Apache-2.0
"""Operators that compute element by element."""

from collections.abc import Sequence

import numpy as np

from halyard.model import Array
from tests.random_onnx.sketch import KINDS, Shape, Sketch, generates

# Since which operator set.
_SINCE = {
    "CastLike": 15,
    "Celu": 12,
    "Cos": 7,
    "Erf": 9,
    "Gelu": 20,
    "GreaterOrEqual": 12,
    "HardSwish": 14,
    "IsInf": 10,
    "IsNaN": 9,
    "LessOrEqual": 12,
    "Mish": 18,
    "PRelu": 7,
    "Round": 11,
    "Sign": 9,
    "Sin": 7,
    "ThresholdedRelu": 10,
    "Trilu": 14,
    "Where": 9,
}


def require(s: Sketch, opset: int | None = None) -> None:
    if s.opset < (_SINCE.get(s.operator, 0) if opset is None else opset):
        raise ValueError


# Numbers that are special by their size, or have none.
_SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 3e38, -3e38, 1e-40)


def with_edges(s: Sketch, shape: Shape) -> Array:
    values = s.numbers(shape)
    if s.chance(0.4):
        spoilt = s.random.random(shape) < 0.3
        values = np.where(spoilt, s.random.choice(_SPECIAL, shape), values).astype("f4")
    return values


@generates(
    "Abs", "Ceil", "Cos", "Erf", "Exp", "Floor", "Gelu", "HardSwish", "Log", "Mish", "Neg",
    "Reciprocal", "Round", "Sign", "Sin", "Softplus", "Sqrt", "Identity",
)  # fmt: skip
def unary(s: Sketch) -> Sequence[str]:
    require(s)
    kind = "f4"
    if s.operator in ("Abs", "Neg", "Identity", "Sign") and s.chance(0.3):
        kind = s.pick(("i4", "i8"))
    attributes: dict[str, object] = {}
    if s.operator == "Gelu" and s.chance(0.7):
        attributes["approximate"] = s.pick(("none", "tanh"))
    values = s.numbers(s.shape(), kind)
    if s.operator in ("Log", "Sqrt", "Reciprocal"):
        values = np.abs(values) + np.asarray(0.25, "f4")
    return [s.op(s.operator, s.value(values), **attributes)]


@generates("Relu", "Sigmoid", "Tanh", quantized=True)
def activation(s: Sketch) -> Sequence[str]:
    return [s.op(s.operator, s.value(s.numbers(s.shape())))]


@generates("Not")
def negation(s: Sketch) -> Sequence[str]:
    return [s.op("Not", s.value(s.numbers(s.shape(), "?")))]


@generates("Elu", "HardSigmoid", "LeakyRelu")
def parametric(s: Sketch) -> Sequence[str]:
    require(s)
    words = ("alpha", "beta") if s.operator == "HardSigmoid" else ("alpha",)
    attributes = {word: float(s.pick((0.0, 0.1, 1 / 6, 0.5, 1.5))) for word in words}
    attributes = {word: value for word, value in attributes.items() if s.chance(0.8)}
    x = s.value(s.numbers(s.shape()))
    y = s.op(s.operator, x, **attributes)
    return [s.op("Mul", y, x) if s.opset >= 7 and s.chance(0.3) else y]


@generates("Clip", quantized=True)
def clip(s: Sketch) -> Sequence[str]:
    bounds = [s.pick(((0.0, 6.0), (-1.0, 1.0), (0.0, 3.4028234663852886e38), (-0.5, 2.0), (1, -1)))]
    low, high = (float(each) if s.chance(0.8) else None for each in bounds[0])
    x = s.value(s.numbers(s.shape()))
    if s.opset < 11:
        given = {"min": low, "max": high}
        return [s.op("Clip", x, **{word: each for word, each in given.items() if each is not None})]
    names = ["" if each is None else s.value(np.array(each, "f4"), constant=0.9)
             for each in (low, high)]  # fmt: skip
    return [s.op("Clip", x, *names)]


@generates("Add", "Div", "Mul", "Sub", quantized=True)
def arithmetic(s: Sketch) -> Sequence[str]:
    kind = "f4" if s.quantizes else s.pick(("f4", "f4", "i4", "i8"))
    y = _pair(s, kind)
    return [s.op(s.pick(("Relu", "Neg")), y) if kind == "f4" and s.chance(0.2) else y]


@generates("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual")
def comparison(s: Sketch) -> Sequence[str]:
    require(s)
    kinds = ("f4", "i4", "i8") if s.opset >= 9 or s.operator == "Equal" else ("f4",)
    return [_pair(s, s.pick(kinds))]


@generates("And", "Or")
def logical(s: Sketch) -> Sequence[str]:
    return [_pair(s, "?")]


@generates("Pow")
def power(s: Sketch) -> Sequence[str]:
    base = np.abs(s.numbers(s.shape())) + np.asarray(0.25, "f4")
    if s.chance(0.5):
        exponent = np.full(s.pick(((), (1,), (1, 1))), s.pick((2.0, 0.5, 3.0, -1.0, 1.0)), "f4")
        if s.opset < 7 and exponent.ndim:
            raise ValueError
        if s.opset >= 12 and s.chance(0.3):
            whole = s.constant(np.rint(np.abs(exponent)), s.pick(("i4", "i8")))
            return [s.op("Pow", s.value(base), whole)]
        attributes = {"broadcast": 1} if s.opset < 7 else {}
        names = [s.value(base), s.value(exponent, constant=0.7)]
        if s.opset < 7:
            s.placed[names[1]] = ()
        return [s.op("Pow", *names, **attributes)]
    return [_pair(s, "f4", base)]


def _pair(s: Sketch, kind: str, left: np.ndarray | None = None) -> str:
    a = s.numbers(s.shape(), kind) if left is None else left
    attributes: dict[str, object] = {}
    placed: Shape = ()
    if s.opset >= 7:
        b = s.numbers(s.broadcast_with(a.shape), kind)
    else:
        shape, attributes = _old(s, a.shape)
        b = s.numbers(shape, kind)
        axis = attributes.get("axis", a.ndim - b.ndim)
        assert isinstance(axis, int)
        placed = (1,) * axis + shape + (1,) * (a.ndim - axis - b.ndim)
    if s.operator == "Div":
        b = np.where(b == 0, np.asarray(1, b.dtype), b)
        b = np.where(np.abs(b) < 0.1, np.asarray(0.5, b.dtype), b) if kind == "f4" else b
    names = [s.value(a, constant=0.1), s.value(b, constant=0.4)]
    if s.opset >= 7 and s.chance(0.3):
        names.reverse()
    if s.opset < 7:
        s.placed[names[1]] = placed
    return s.op(s.operator, *names, **attributes)


def _old(s: Sketch, shape: Shape) -> tuple[Shape, dict[str, object]]:
    """A second operand of operator set 6, and where it stands."""
    if s.chance(0.2):
        return shape, {"broadcast": 0} if s.chance(0.5) else {}
    begin = s.integer(0, len(shape))
    end = s.integer(begin, len(shape))
    part = tuple(1 if s.chance(0.1) else extent for extent in shape[begin:end])
    if end == len(shape) and s.chance(0.7):
        return part, {"broadcast": 1}
    return part, {"broadcast": 1, "axis": begin}


@generates("Max", "Mean", "Min", "Sum")
def chain(s: Sketch) -> Sequence[str]:
    shape = s.shape()
    kinds = ("f4", "f4", "i4", "i8") if s.operator in ("Max", "Min") and s.opset >= 12 else ("f4",)
    kind = s.pick(kinds)
    shapes = [shape, *(s.broadcast_with(shape) for _ in range(s.integer(0, 3)))]
    if s.opset < 8:
        shapes = [shape] * len(shapes)
    return [s.op(s.operator, *(s.value(s.numbers(each, kind), constant=0.2) for each in shapes))]


@generates("PRelu")
def prelu(s: Sketch) -> Sequence[str]:
    require(s)
    shape = s.shape(1)
    slope = s.numbers(s.broadcast_with(shape))
    return [s.op("PRelu", s.value(s.numbers(shape)), s.value(slope, constant=0.8))]


@generates("Where")
def where(s: Sketch) -> Sequence[str]:
    require(s)
    shape = s.shape()
    shapes = [shape, s.broadcast_with(shape), s.broadcast_with(shape)]
    order = [int(each) for each in s.random.permutation(3)]
    kind = s.pick(("f4", "f4", "i4", "i8"))
    values = [s.numbers(shapes[order[0]], "?")]
    values += [
        with_edges(s, shapes[each]) if kind == "f4" else s.numbers(shapes[each], kind)
        for each in order[1:]
    ]
    return [s.op("Where", *(s.value(each, constant=0.2) for each in values))]


@generates("Cast")
def cast(s: Sketch) -> Sequence[str]:
    kinds = ("f4", "i4", "i8", "?")
    values = s.numbers(s.shape(), s.pick(kinds))
    if s.chance(0.2) and values.dtype == np.float32:
        values = values * np.asarray(1e9, "f4")
    attributes = {"saturate": 0} if s.opset >= 19 and s.chance(0.2) else {}
    to = s.pick(kinds)
    if to == "i4":
        values = np.clip(values, -1000, 1000) if values.dtype != bool else values
    return [s.op("Cast", s.value(values), to=KINDS[to], **attributes)]


@generates("Trilu")
def trilu(s: Sketch) -> Sequence[str]:
    require(s)
    values = s.numbers(s.shape(2), s.pick(("f4", "i4", "i8", "?")))
    k = [s.constant(s.integer(-3, 3), "i8")] if s.chance(0.6) else []
    attributes = {"upper": s.integer(0, 1)} if s.chance(0.7) else {}
    return [s.op("Trilu", s.value(values), *k, **attributes)]


@generates("LogSoftmax", "Softmax", quantized=True)
def softmax(s: Sketch) -> Sequence[str]:
    shape = s.shape(1)
    attributes: dict[str, object] = {}
    if s.chance(0.8):
        attributes["axis"] = s.axis(len(shape), negative=s.opset >= 11)
    elif s.opset < 13 and len(shape) < 2:
        raise ValueError
    return [s.op(s.operator, s.value(s.numbers(shape)), **attributes)]


@generates("Dropout")
def dropout(s: Sketch) -> Sequence[str]:
    x = s.value(s.numbers(s.shape()))
    if s.opset < 7:
        return [s.op("Dropout", x, is_test=1, ratio=0.3)]
    if s.opset < 12:
        return [s.op("Dropout", x, **({"ratio": 0.7} if s.chance(0.5) else {}))]
    names = [x]
    if s.chance(0.5):
        names.append(s.constant(0.4))
        if s.chance(0.5):
            names.append(s.constant(False, "?"))
    return s.ops("Dropout", names, s.integer(1, 2), **({"seed": 3} if s.chance(0.3) else {}))[:1]
