# SPDX-License-Identifier: Apache-2.0
"""Reductions, GEMMs and normalisations."""

from collections.abc import Sequence

import numpy as np

from tests.random_onnx.sketch import Sketch, generates


@generates(
    "ReduceL1", "ReduceL2", "ReduceMax", "ReduceMean",
    "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare", quantized=True,
)  # fmt: skip
def reduction(s: Sketch) -> Sequence[str]:
    shape = s.shape(1)
    axes = s.axes(len(shape), negative=s.opset >= 11)
    attributes: dict[str, object] = {}
    if s.chance(0.6):
        attributes["keepdims"] = s.integer(0, 1)
    x = s.value(s.numbers(shape))
    if s.opset >= (13 if s.operator == "ReduceSum" else 18):
        if s.chance(0.4):
            attributes["noop_with_empty_axes"] = s.integer(0, 1)
        names = [s.constant(np.array(axes, "i8"), "i8")] if axes or s.chance(0.5) else []
        return [s.op(s.operator, x, *names, **attributes)]
    if axes:
        attributes["axes"] = axes
    return [s.op(s.operator, x, **attributes)]


@generates("ArgMax", "ArgMin")
def place(s: Sketch) -> Sequence[str]:
    shape = s.shape(1)
    attributes: dict[str, object] = {}
    if s.chance(0.8):
        attributes["axis"] = s.axis(len(shape), negative=s.opset >= 11)
    if s.chance(0.6):
        attributes["keepdims"] = s.integer(0, 1)
    if s.opset >= 12 and s.chance(0.4):
        attributes["select_last_index"] = s.integer(0, 1)
    return [s.op(s.operator, s.value(s.numbers(shape)), **attributes)]


@generates("TopK")
def top_k(s: Sketch) -> Sequence[str]:
    shape = s.shape(1, extent=6)
    attributes: dict[str, object] = {}
    axis = -1
    if s.chance(0.6):
        axis = s.pick((-1, len(shape) - 1, s.axis(len(shape), negative=s.opset >= 11)))
        attributes["axis"] = axis
    k = s.integer(1, shape[axis])
    x = s.value(s.numbers(shape))
    if s.opset < 10:
        return s.ops("TopK", [x], 2, k=k, **attributes)
    if s.opset >= 11:
        if s.chance(0.4):
            attributes["largest"] = s.integer(0, 1)
        if s.chance(0.4):
            attributes["sorted"] = 1
    return s.ops("TopK", [x, s.ints(k)], 2, **attributes)


@generates("Gemm", quantized=True)
def gemm(s: Sketch) -> Sequence[str]:
    rows, inner, columns = (s.integer(1, 5) for _ in range(3))
    attributes: dict[str, object] = {}
    if s.chance(0.3):
        attributes["alpha"] = s.pick((0.5, 2.0, 1.0))
    if s.chance(0.3):
        attributes["beta"] = s.pick((0.5, -1.0, 0.0))
    first, second = (rows, inner), (inner, columns)
    if s.chance(0.3):
        attributes["transA"], first = 1, (inner, rows)
    if s.chance(0.5):
        attributes["transB"], second = 1, (columns, inner)
    names = [s.value(s.numbers(first), constant=0.05), s.value(s.numbers(second), constant=0.85)]
    if s.opset < 11 or s.chance(0.8):
        shapes = [(rows, columns)]
        if s.opset >= 7 or s.chance(0.7):
            shapes = [(), (1,), (columns,), (1, columns), (rows, 1), (1, 1), (rows, columns)]
            if s.opset < 7:
                attributes["broadcast"] = 1
        names.append(s.value(s.numbers(s.pick(shapes)), constant=0.7))
    return [s.op("Gemm", *names, **attributes)]


@generates("MatMul", quantized=True)
def matmul(s: Sketch) -> Sequence[str]:
    rows, inner, columns = (s.integer(1, 4) for _ in range(3))
    batch = s.shape(0, 3, 3)
    first = (*s.broadcast_with(batch), rows, inner)
    second = (*batch, inner, columns) if s.chance(0.6) else (inner, columns)
    if s.chance(0.08):
        first = (inner,)
    if s.chance(0.08):
        second = (inner,)
    names = [s.value(s.numbers(first), constant=0.05), s.value(s.numbers(second), constant=0.5)]
    y = s.op("MatMul", *names)
    if s.opset >= 7 and s.chance(0.3) and not s.quantizes:
        return [s.op("Add", y, s.constant(s.numbers(s.pick(((columns,), (1,), (rows, 1))))))]
    return [y]


@generates("LayerNormalization")
def layer_normalization(s: Sketch) -> Sequence[str]:
    if s.opset < 17:
        raise ValueError
    shape = s.shape(1)
    axis = s.axis(len(shape))
    attributes: dict[str, object] = {"axis": axis} if s.chance(0.8) else {}
    inner = shape[axis:] if attributes else shape[-1:]
    if s.chance(0.4):
        attributes["epsilon"] = 0.1
    if s.chance(0.2):
        attributes["stash_type"] = 1
    names = [s.value(s.numbers(shape)), s.constant(s.numbers(inner))]
    if s.chance(0.7):
        names.append(s.constant(s.numbers(inner)))
    return [s.op("LayerNormalization", *names, **attributes)]


@generates("InstanceNormalization")
def instance_normalization(s: Sketch) -> Sequence[str]:
    shape = (s.integer(1, 2), s.integer(1, 4), s.integer(2, 4), s.integer(1, 4))
    attributes = {"epsilon": 0.1} if s.chance(0.5) else {}
    weights = [s.constant(s.numbers((shape[1],))) for _ in range(2)]
    return [s.op("InstanceNormalization", s.value(s.numbers(shape)), *weights, **attributes)]


@generates("BatchNormalization")
def batch_normalization(s: Sketch) -> Sequence[str]:
    shape = s.shape(2)
    x = s.value(s.numbers(shape))
    channels = shape[1]
    if len(shape) == 4 and s.chance(0.4):
        x = s.op("Conv", x, s.constant(s.numbers((3, channels, 1, 1))))
        channels = 3
    statistics = [
        s.constant(np.abs(s.numbers((channels,))) + (0.5 if word == "variance" else 0))
        for word in ("scale", "bias", "mean", "variance")
    ]
    attributes: dict[str, object] = {}
    if s.chance(0.5):
        attributes["epsilon"] = 0.1
    if s.chance(0.3):
        attributes["momentum"] = 0.5
    if s.opset < 7:
        attributes["is_test"] = 1
    if s.opset < 9 and s.chance(0.3):
        attributes["spatial"] = 1
    if s.opset >= 14 and s.chance(0.3):
        attributes["training_mode"] = 0
    y = s.op("BatchNormalization", x, *statistics, **attributes)
    return [s.op("Relu", y) if s.chance(0.3) else y]
