# SPDX-License-Identifier: Apache-2.0
"""Operators that become several operations: choices, running sums, what gathers, recurrent ones,
and products whose scales are found while the model runs."""

from collections.abc import Sequence

import numpy as np
from onnx import TensorProto, numpy_helper

from tests.random_onnx.elementwise import require as require_set
from tests.random_onnx.elementwise import with_edges
from tests.random_onnx.sketch import KINDS, Shape, Sketch, generates

# Since which operator set.
_SINCE = {
    "CastLike": 15,
    "Celu": 12,
    "CumSum": 11,
    "DynamicQuantizeLinear": 11,
    "GatherND": 11,
    "IsInf": 10,
    "IsNaN": 9,
    "OneHot": 9,
    "ThresholdedRelu": 10,
}


def require(s: Sketch) -> None:
    require_set(s, _SINCE.get(s.operator, 0))


@generates("IsInf", "IsNaN")
def tests(s: Sketch) -> Sequence[str]:
    require(s)
    attributes = {}
    if s.operator == "IsInf":
        words = ("detect_negative", "detect_positive")
        attributes = {word: s.integer(0, 1) for word in words if s.chance(0.5)}
    return [s.op(s.operator, s.value(with_edges(s, s.shape())), **attributes)]


@generates("Celu", "Selu", "Softsign", "ThresholdedRelu")
def activation(s: Sketch) -> Sequence[str]:
    require(s)
    words = {"Celu": ["alpha"], "Selu": ["alpha", "gamma"], "ThresholdedRelu": ["alpha"]}
    attributes = {
        word: float(s.pick((0.25, 0.5, 1.0, 1.5)))
        for word in words.get(s.operator, [])
        if s.chance(0.7)
    }
    shape = s.shape()
    values = s.numbers(shape) if s.operator == "Softsign" else with_edges(s, shape)
    return [s.op(s.operator, s.value(values), **attributes)]


@generates("Xor")
def exclusive_or(s: Sketch) -> Sequence[str]:
    if s.opset < 7:
        raise ValueError
    shape = s.shape()
    names = [
        s.value(s.numbers(each, "?"), constant=0.2) for each in (shape, s.broadcast_with(shape))
    ]
    return [s.op("Xor", *(names if s.chance(0.5) else names[::-1]))]


@generates("CastLike")
def cast_like(s: Sketch) -> Sequence[str]:
    require(s)
    shape = s.shape()
    kind, like = s.pick(("f4", "i4", "i8", "?")), s.pick(("f4", "i4", "i8", "?"))
    target = s.value(s.numbers((1,), like), constant=0.8)
    return [s.op("CastLike", s.value(s.numbers(shape, kind)), target)]


@generates("OneHot")
def one_hot(s: Sketch) -> Sequence[str]:
    require(s)
    shape, depth = s.shape(0, 4), s.integer(1, 5)
    places = np.asarray(s.random.integers(-depth - 2, depth + 2, shape), s.pick(("i4", "i8")))
    if places.dtype == np.int32:
        # ONNX Runtime has no kernel of INT32.
        places = places.astype("i8")
    attributes = {"axis": s.axis(len(shape) + 1)} if s.chance(0.6) else {}
    values = s.constant(s.numbers((2,)))
    return [s.op("OneHot", s.value(places), s.constant(depth, "i8"), values, **attributes)]


@generates("CumSum")
def running_sum(s: Sketch) -> Sequence[str]:
    require(s)
    shape = s.shape(1, 5, 9)
    attributes = {word: s.integer(0, 1) for word in ("exclusive", "reverse") if s.chance(0.5)}
    kind = s.pick(("f4", "f4", "i4"))
    values = s.numbers(shape, kind)
    if kind == "f4" and s.chance(0.2):
        values = np.where(s.random.random(shape) < 0.1, np.float32(np.inf), values)
    axis = s.constant(s.axis(len(shape)), s.pick(("i4", "i8")))
    return [s.op("CumSum", s.value(values), axis, **attributes)]


@generates("GatherND")
def gather_nd(s: Sketch) -> Sequence[str]:
    require(s)
    shape = s.shape(1, 5)
    depth = s.integer(1, len(shape))
    outer = s.shape(0, 2)
    limits = np.array(shape[:depth])
    places = np.asarray(s.random.integers(-limits, limits, (*outer, depth)), "i8")
    attributes = {"batch_dims": 0} if s.opset >= 12 and s.chance(0.3) else {}
    kind = s.pick(("f4", "f4", "i4", "i8"))
    data = s.value(s.numbers(shape, kind))
    return [s.op("GatherND", data, s.value(places, constant=0.5), **attributes)]


@generates("ReduceLogSum", "ReduceLogSumExp")
def logarithm(s: Sketch) -> Sequence[str]:
    shape = s.shape(1, 5)
    axes = s.axes(len(shape))
    values = s.numbers(shape) * np.float32(s.pick((1, 1, 100)))
    if s.operator == "ReduceLogSum":
        values = np.abs(values) + np.float32(0.1)
    attributes: dict[str, object] = {"keepdims": s.integer(0, 1)} if s.chance(0.7) else {}
    names = [s.value(np.asarray(values, "f4"))]
    if axes and s.opset >= 18:
        names.append(s.ints(*axes))
    elif axes:
        attributes["axes"] = axes
    return [s.op(s.operator, *names, **attributes)]


@generates("LRN")
def local_response(s: Sketch) -> Sequence[str]:
    shape = (s.integer(1, 2), s.integer(1, 7), s.integer(1, 4), s.integer(1, 4))
    attributes: dict[str, object] = {"size": s.pick((1, 3, 5, 7))}
    attributes |= {
        word: float(s.pick((0.5, 1.0, 2.0))) for word in ("alpha", "beta", "bias") if s.chance(0.6)
    }
    return [s.op("LRN", s.value(s.numbers(shape)), **attributes)]


@generates("ConstantOfShape")
def constant_of_shape(s: Sketch) -> Sequence[str]:
    require_set(s, 9)
    shape = s.shape(1)
    data = s.value(s.numbers(shape))
    kind = s.pick(("f4", "i8"))
    given = numpy_helper.from_array(s.numbers((1,), kind))
    attributes = {"value": given} if s.chance(0.8) else {}
    wanted = s.op("Shape", data) if s.chance(0.5) else s.ints(*shape)
    made = s.op("ConstantOfShape", wanted, **attributes)
    if attributes and kind == "i8":
        made = s.op("Cast", made, to=TensorProto.FLOAT)
    return [s.op("Add", data, made)]


@generates("TruthMoved")
def truth_moved(s: Sketch) -> Sequence[str]:
    """Truth values through what moves elements."""
    require_set(s, 13)
    shape = s.shape(1, 4)
    x = s.value(s.numbers(shape, "?"))
    if s.chance(0.5):
        x = s.op("Not", x)
    how = s.pick(("Reshape", "Transpose", "Slice", "Gather", "Concat", "Expand", "Tile", "Split"))
    rank = len(shape)
    axis = s.axis(rank, negative=False)
    if how == "Reshape":
        return [s.op("Reshape", x, s.ints(*(shape[::-1] if s.chance(0.5) else (-1,))))]
    if how == "Transpose":
        return [s.op("Transpose", x, perm=[int(each) for each in s.random.permutation(rank)])]
    if how == "Slice":
        step = s.pick((1, 1, 2, -1))
        begin, end = (shape[axis] - 1, -(2**40)) if step < 0 else (0, shape[axis])
        return [s.op("Slice", x, s.ints(begin), s.ints(end), s.ints(axis), s.ints(step))]
    if how == "Gather":
        count = s.integer(1, 3)
        places = s.random.integers(-shape[axis], shape[axis], count)
        return [s.op("Gather", x, s.ints(*map(int, places)), axis=axis)]
    if how == "Concat":
        return [s.op("Concat", x, s.value(s.numbers(shape, "?"), constant=0.5), axis=axis)]
    if how == "Expand":
        if rank == 4:
            raise ValueError
        return [s.op("Expand", x, s.ints(s.integer(1, 3), *shape))]
    if how == "Tile":
        return [s.op("Tile", x, s.ints(*(s.integer(1, 2) for _ in shape)))]
    if shape[axis] < 2 or s.opset >= 18:
        raise ValueError
    sizes = [1, shape[axis] - 1]
    return s.ops("Split", [x, s.ints(*sizes)], 2, axis=axis)


@generates("GRU", "LSTM", "RNN")
def recurrent(s: Sketch) -> Sequence[str]:
    require_set(s, 7)
    gates = {"GRU": 3, "LSTM": 4, "RNN": 1}[s.operator]
    steps, batch, size, units = (s.integer(1, high) for high in (5, 3, 4, 4))
    direction = s.pick(("forward", "reverse", "bidirectional"))
    count = 2 if direction == "bidirectional" else 1
    attributes: dict[str, object] = {"hidden_size": units}
    if direction != "forward" or s.chance(0.3):
        attributes["direction"] = direction
    if s.operator == "GRU" and s.chance(0.5):
        attributes["linear_before_reset"] = s.integer(0, 1)
    if s.operator == "RNN" and s.chance(0.5):
        attributes["activations"] = [s.pick(("Relu", "Sigmoid", "Tanh")) for _ in range(count)]
    names = [
        s.given(s.numbers((steps, batch, size))),
        s.constant(s.numbers((count, gates * units, size)) * np.float32(0.3)),
        s.constant(s.numbers((count, gates * units, units)) * np.float32(0.3)),
    ]
    names.append(s.constant(s.numbers((count, 2 * gates * units))) if s.chance(0.7) else "")
    names.append(s.constant([steps] * batch, "i4") if s.chance(0.2) else "")
    for _ in range(2 if s.operator == "LSTM" else 1):
        state = s.numbers((count, batch, units))
        names.append(s.value(state, constant=0.3) if s.chance(0.6) else "")
    if s.operator == "LSTM" and s.chance(0.3):
        names.append(s.constant(s.numbers((count, 3 * units)) * np.float32(0.3)))
    outputs = s.ops(s.operator, names, 3 if s.operator == "LSTM" else 2, **attributes)
    return [name for name in outputs if s.chance(0.7)] or outputs[:1]


@generates("DynamicQuantizeLinear")
def dynamically_quantized(s: Sketch) -> Sequence[str]:
    """A product as ONNX Runtime's dynamic quantiser writes it. Its input lies in the middle of
    steps, so that rounding is the same however quotients are rounded."""
    require(s)
    rank = s.integer(2, 4)
    depth, units = s.integer(1, 5), s.integer(1, 5)
    shape = (*(s.integer(1, 3) for _ in range(rank - 1)), depth)
    step = float(s.pick((1 / 64, 1 / 32)))
    values = np.asarray(s.random.integers(-127, 128, shape) * step, "f4")
    values.reshape(-1)[0] = -128 * step
    values.reshape(-1)[-1] = 127 * step
    whole, scale, zero = s.ops("DynamicQuantizeLinear", [s.value(values)], 3)
    per_channel = s.opset >= 13 and s.chance(0.4)
    kind = s.pick(("i1", "u1"))
    # Of 7 bits where they are signed: pairs of products of more clip in ONNX Runtime on processors
    # without VNNI.
    low, high = (-64, 64) if kind == "i1" else (0, 256)
    weights = s.constant(s.random.integers(low, high, (depth, units)), kind)
    dims: Shape = (units,) if per_channel else s.pick(((), (1,)))
    scales = s.constant(s.random.uniform(0.001, 0.1, dims))
    names = [whole, weights, zero]
    if s.chance(0.7):
        names.append(s.constant(s.random.integers(-5, 6, dims) if kind == "i1" and not per_channel
                                else np.full(dims, 0 if kind == "i1" else 128), kind))  # fmt: skip
    real = s.op("Cast", s.op("MatMulInteger", *names), to=KINDS["f4"])
    if s.chance(0.7):
        product = s.op("Mul", real, s.op("Mul", scale, scales))
    else:
        product = s.op("Mul", s.op("Mul", real, scale), scales)
    if s.chance(0.5):
        product = s.op("Add", product, s.constant(s.numbers((units,))))
    return [product]
