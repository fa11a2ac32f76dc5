# SPDX-License-Identifier: Apache-2.0
"""Stages between values of 8 bits."""

import numpy as np

from tests.random_qdq.sketch import Draft, Shape, draws

_IMAGE = 4


def _shape(d: Draft, value: str, least: int = 0, most: int = 9) -> Shape:
    shape = d.values[value].shape
    if not least <= len(shape) <= most:
        raise ValueError
    return shape


def _window(d: Draft, kernel: list[int]) -> dict[str, object]:
    found: dict[str, object] = {}
    if d.chance(0.5):
        found["strides"] = [d.integer(1, 2) for _ in kernel]
    if d.chance(0.5):
        found["pads"] = [d.integer(0, span - 1) for span in (*kernel, *kernel)]
    elif d.chance(0.3):
        found["auto_pad"] = d.pick(("SAME_UPPER", "SAME_LOWER", "VALID"))
    return found


@draws("Conv")
def convolution(d: Draft, value: str) -> str:
    shape = _shape(d, value, 3, _IMAGE)
    channels, rank = shape[1], len(shape) - 2
    group = d.pick((1, 1, 1, channels))
    outputs = group * d.integer(1, 4 if group == 1 else 2)
    kernel = [d.integer(1, 3) for _ in range(rank)]
    attributes = _window(d, kernel)
    if d.chance(0.2):
        attributes["dilations"] = [d.integer(1, 2) for _ in kernel]
    weights = d.weights((outputs, channels // group, *kernel), 0)
    names = [value, weights]
    if d.chance(0.75):
        names.append(d.bias(outputs, value, weights))
    y = d.op("Conv", *names, group=group, **attributes)
    return _activated(d, y)


@draws("ConvTranspose")
def transposed(d: Draft, value: str) -> str:
    shape = _shape(d, value, _IMAGE, _IMAGE)
    outputs, kernel = d.integer(1, 3), [d.integer(1, 3) for _ in range(2)]
    attributes: dict[str, object] = {}
    if d.chance(0.6):
        attributes["strides"] = [d.integer(1, 2) for _ in kernel]
    if d.chance(0.4):
        attributes["pads"] = [d.integer(0, span - 1) for span in (*kernel, *kernel)]
    weights = d.weights((shape[1], outputs, *kernel), 1)
    names = [value, weights]
    if d.chance(0.6):
        names.append(d.bias(outputs, value, weights))
    return d.op("ConvTranspose", *names, **attributes)


@draws("Gemm")
def gemm(d: Draft, value: str) -> str:
    _, inner = _shape(d, value, 2, 2)
    units, turned = d.integer(1, 6), d.chance(0.6)
    weights = d.weights((units, inner) if turned else (inner, units), 0 if turned else 1)
    names = [value, weights]
    if d.chance(0.75):
        names.append(d.bias(units, value, weights))
    return _activated(d, d.op("Gemm", *names, **({"transB": 1} if turned else {})))


@draws("MatMul")
def product(d: Draft, value: str) -> str:
    shape = _shape(d, value, 2, _IMAGE)
    units = d.integer(1, 5)
    if d.chance(0.7):
        return d.op("MatMul", value, d.weights((shape[-1], units), 1))
    return d.op("MatMul", value, d.operand((*shape[:-2], shape[-1], units)))


def _activated(d: Draft, name: str) -> str:
    how = d.pick(("", "", "Relu", "Clip"))
    if how == "Relu":
        return d.op("Relu", name)
    if how == "Clip" and d.opset >= 11:
        return d.op("Clip", name, d.constant(0.0), d.constant(6.0))
    return name


@draws("Add", "Sub", "Mul", "Div")
def arithmetic(d: Draft, value: str) -> str:
    shape = _shape(d, value, 0, _IMAGE)
    operator = d.pick(("Add", "Add", "Mul", "Mul", "Sub", "Div"))
    other = shape[d.integer(0, len(shape)) :] if d.chance(0.4) else shape
    other = tuple(1 if d.chance(0.15) else extent for extent in other)
    named = d.operand(other, positive=operator == "Div")
    names = [value, named] if operator == "Div" or d.chance(0.7) else [named, value]
    y = d.op(operator, *names)
    return d.op("Relu", y) if d.chance(0.2) else y


@draws("Itself")
def itself(d: Draft, value: str) -> str:
    """Both operands are one."""
    return d.op(d.pick(("Add", "Mul")), value, value)


@draws("Relu", "Sigmoid", "Tanh", "LeakyRelu", "HardSigmoid", "HardSwish", "Elu", "Clip", "Abs")
def activation(d: Draft, value: str) -> str:
    operator = d.pick(("Relu", "Sigmoid", "Tanh", "LeakyRelu", "HardSigmoid", "HardSwish", "Elu",
                       "Clip", "Abs", "Exp", "Sqrt", "Neg"))  # fmt: skip
    if operator == "HardSwish" and d.opset < 14:
        raise ValueError
    if operator == "Sqrt" and d.values[value].min(initial=0) < 0:
        raise ValueError
    if operator == "Clip":
        low, high = d.pick(((0.0, 6.0), (-1.0, 1.0), (0.0, 1.0), (-0.3, 0.7)))
        if d.opset < 11:
            return d.op("Clip", value, min=low, max=high)
        return d.op("Clip", value, d.constant(low), d.constant(high))
    attributes = {}
    if operator in ("LeakyRelu", "Elu") and d.chance(0.7):
        attributes["alpha"] = d.pick((0.1, 0.3, 1.0))
    return d.op(operator, value, **attributes)


@draws("PRelu")
def prelu(d: Draft, value: str) -> str:
    shape = _shape(d, value, 2, _IMAGE)
    slope = (shape[1], *[1] * (len(shape) - 2)) if d.chance(0.7) else (1,)
    if len(shape) == 2:
        slope = shape[1:]
    return d.op("PRelu", value, d.weights(slope))


@draws("Softmax", "LogSoftmax")
def softmax(d: Draft, value: str) -> str:
    shape = _shape(d, value, 1, _IMAGE)
    if d.opset < 13:
        raise ValueError
    return d.op(d.pick(("Softmax", "Softmax", "LogSoftmax")), value, axis=_axis(d, shape))


def _axis(d: Draft, shape: Shape) -> int:
    axis = d.integer(0, len(shape) - 1)
    return axis - len(shape) if d.chance(0.4) and d.opset >= 11 else axis


@draws("MaxPool", "AveragePool")
def pooling(d: Draft, value: str) -> str:
    shape = _shape(d, value, _IMAGE, _IMAGE)
    kernel = [d.integer(1, min(3, extent)) for extent in shape[2:]]
    attributes = _window(d, kernel)
    if "auto_pad" in attributes:
        # ONNX Runtime's is negative where a stride is more than the window.
        attributes.pop("strides", None)
    operator = d.pick(("MaxPool", "AveragePool"))
    if operator == "AveragePool" and d.chance(0.4):
        attributes["count_include_pad"] = 1
    return d.op(operator, value, kernel_shape=kernel, **attributes)


@draws("GlobalAveragePool", "GlobalMaxPool")
def global_pooling(d: Draft, value: str) -> str:
    _shape(d, value, 3, _IMAGE)
    return d.op(d.pick(("GlobalAveragePool", "GlobalAveragePool", "GlobalMaxPool")), value)


@draws("ReduceMean", "ReduceMax")
def reduction(d: Draft, value: str) -> str:
    shape = _shape(d, value, 1, _IMAGE)
    operator = d.pick(("ReduceMean", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceSum"))
    count = d.integer(1, len(shape))
    axes = sorted(int(each) for each in d.random.choice(len(shape), count, replace=False))
    keep = d.integer(0, 1)
    if d.opset >= (13 if operator == "ReduceSum" else 18):
        return d.op(operator, value, d.ints(*axes), keepdims=keep)
    return d.op(operator, value, axes=axes, keepdims=keep)


@draws("Resize")
def resize(d: Draft, value: str) -> str:
    shape = _shape(d, value, _IMAGE, _IMAGE)
    if d.opset < 13:
        raise ValueError
    factors = [float(d.pick((1.0, 1.5, 2.0, 2.0, 3.0))) for _ in range(2)]
    mode = d.pick(("nearest", "linear"))
    modes = ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")
    attributes: dict[str, object] = {"coordinate_transformation_mode": d.pick(modes)}
    if mode == "nearest":
        attributes["nearest_mode"] = d.pick(("floor", "round_prefer_floor", "round_prefer_ceil"))
    if d.chance(0.5):
        return d.op("Resize", value, "", d.constant([1, 1, *factors]), mode=mode, **attributes)
    sizes = [int(extent * each) for extent, each in zip(shape[2:], factors, strict=True)]
    return d.op("Resize", value, "", "", d.ints(*shape[:2], *sizes), mode=mode, **attributes)


@draws("Concat")
def joined(d: Draft, value: str) -> str:
    shape = _shape(d, value, 1, _IMAGE)
    axis = _axis(d, shape)
    names = [value]
    for _ in range(d.integer(1, 2)):
        own = list(shape)
        own[axis] = d.integer(1, 3)
        names.append(value if d.chance(0.2) else d.operand(tuple(own)))
    return d.op("Concat", *names, axis=axis)


@draws("Reshape", "Transpose", "Slice", "Pad", "Gather")
def moved(d: Draft, value: str) -> str:
    shape = _shape(d, value, 1, _IMAGE)
    how = d.pick(("Reshape", "Transpose", "Slice", "Pad", "Gather", "Flatten", "Expand"))
    if how == "Reshape":
        return d.op("Reshape", value, d.ints(*(shape[::-1] if d.chance(0.5) else (shape[0], -1))))
    if how == "Transpose":
        return d.op(
            "Transpose", value, perm=[int(each) for each in d.random.permutation(len(shape))]
        )
    if how == "Flatten":
        return d.op("Flatten", value, axis=d.integer(0, len(shape)))
    axis = d.integer(0, len(shape) - 1)
    if how == "Gather":
        places = d.random.integers(0, shape[axis], d.shape(0, 1, 3))
        return d.op("Gather", value, d.constant(places, "i8"), axis=axis)
    if how == "Slice":
        start = d.integer(0, shape[axis] - 1)
        return d.op("Slice", value, d.ints(start), d.ints(2**31 - 1), d.ints(axis))
    if how == "Expand":
        return d.op(
            "Expand", value, d.ints(*(d.integer(1, 2) if each == 1 else each for each in shape))
        )
    amounts = [d.integer(0, 2) for _ in range(2 * len(shape))]
    filled = d.constant(d.pick((0.0, 0.0, 0.25)))
    if d.opset < 11:
        return d.op("Pad", value, pads=amounts)
    return d.op("Pad", value, d.ints(*amounts), *([filled] if d.chance(0.6) else []))


@draws("InstanceNormalization")
def normalized(d: Draft, value: str) -> str:
    shape = _shape(d, value, _IMAGE, _IMAGE)
    if np.prod(shape[2:]) < 4:
        raise ValueError
    return d.op("InstanceNormalization", value, d.weights(shape[1:2]), d.weights(shape[1:2]))
