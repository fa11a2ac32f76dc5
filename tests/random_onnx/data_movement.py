# SPDX-License-Identifier: Apache-2.0
"""Operators that move elements."""

from collections.abc import Sequence

import numpy as np

from tests.random_onnx.sketch import Shape, Sketch, generates


def _some(s: Sketch, low: int = 0, extent: int = 4) -> tuple[str, Shape]:
    shape = s.shape(low, extent=extent)
    kind = "f4" if s.quantizes else s.pick(("f4", "f4", "f4", "i4", "i8", "?"))
    return s.value(s.numbers(shape, kind)), shape


@generates("Flatten", quantized=True)
def flatten(s: Sketch) -> Sequence[str]:
    x, shape = _some(s)
    attributes: dict[str, object] = {}
    if s.chance(0.8):
        low = -len(shape) if s.opset >= 11 else 0
        attributes["axis"] = s.integer(low, len(shape))
    return [s.op("Flatten", x, **attributes)]


@generates("Reshape", quantized=True)
def reshape(s: Sketch) -> Sequence[str]:
    x, shape = _some(s)
    left, wanted = int(np.prod(shape)), []
    while left > 1 or s.chance(0.4):
        sizes = [each for each in range(1, left + 1) if left % each == 0]
        wanted.append(s.pick(sizes))
        left //= wanted[-1]
        if len(wanted) == 6:
            break
    if left > 1:
        wanted.append(left)
    for axis, extent in enumerate(wanted):
        if axis < len(shape) and shape[axis] == extent and s.chance(0.3):
            wanted[axis] = 0
    if wanted and s.chance(0.4):
        wanted[s.integer(0, len(wanted) - 1)] = -1
    attributes: dict[str, object] = {}
    if s.opset >= 14 and 0 not in wanted and s.chance(0.3):
        attributes["allowzero"] = s.integer(0, 1)
    return [s.op("Reshape", x, s.ints(*wanted), **attributes)]


@generates("Squeeze", quantized=True)
def squeeze(s: Sketch) -> Sequence[str]:
    x, shape = _some(s)
    ones = [axis for axis, extent in enumerate(shape) if extent == 1]
    if s.chance(0.3):
        return [s.op("Squeeze", x)]
    chosen = [axis for axis in ones if s.chance(0.6)]
    if not chosen:
        raise ValueError
    if s.opset >= 11:
        chosen = [axis - len(shape) if s.chance(0.3) else axis for axis in chosen]
    return [_along(s, "Squeeze", x, chosen)]


@generates("Unsqueeze", quantized=True)
def unsqueeze(s: Sketch) -> Sequence[str]:
    x, shape = _some(s)
    count = s.integer(1, 3)
    rank = len(shape) + count
    chosen = sorted(int(each) for each in s.random.choice(rank, count, replace=False))
    if s.opset >= 11:
        chosen = [axis - rank if s.chance(0.3) else axis for axis in chosen]
    return [_along(s, "Unsqueeze", x, chosen)]


def _along(s: Sketch, operator: str, x: str, axes: Sequence[int]) -> str:
    if s.opset >= 13:
        return s.op(operator, x, s.ints(*axes))
    return s.op(operator, x, axes=axes)


@generates("Transpose", quantized=True)
def transpose(s: Sketch) -> Sequence[str]:
    x, shape = _some(s)
    attributes: dict[str, object] = {}
    if shape and s.chance(0.85):
        attributes["perm"] = [int(each) for each in s.random.permutation(len(shape))]
    y = s.op("Transpose", x, **attributes)
    return [s.op("Transpose", y, perm=[int(each) for each in s.random.permutation(len(shape))])
            if shape and s.chance(0.3) else y]  # fmt: skip


@generates("Concat", quantized=True)
def concat(s: Sketch) -> Sequence[str]:
    shape = s.shape(1)
    axis = s.axis(len(shape), negative=s.opset >= 11)
    kind = "f4" if s.quantizes else s.pick(("f4", "f4", "i4", "i8"))
    names = []
    for _ in range(s.integer(1, 4)):
        own = list(shape)
        own[axis] = s.integer(1, 3)
        names.append(s.value(s.numbers(own, kind), constant=0.15))
    return [s.op("Concat", *names, axis=axis)]


@generates("Split")
def split(s: Sketch) -> Sequence[str]:
    shape = list(s.shape(1))
    axis = s.axis(len(shape), negative=s.opset >= 11)
    sizes = [s.integer(1, 3) for _ in range(s.integer(1, 3))]
    equal = s.chance(0.5)
    if equal:
        sizes = [sizes[0]] * len(sizes)
    shape[axis] = sum(sizes)
    kind = s.pick(("f4", "f4", "i4", "i8"))
    x, names, attributes = s.value(s.numbers(shape, kind)), [], {"axis": axis}
    if s.opset >= 18 and equal and s.chance(0.7):
        count = len(sizes)
        # The last one may be smaller.
        return s.ops("Split", [x], count, **attributes, num_outputs=count)
    if not equal or s.opset >= 18 or s.chance(0.5):
        if s.opset >= 13:
            names.append(s.ints(*sizes))
        else:
            attributes["split"] = sizes
    return s.ops("Split", [x, *names], len(sizes), **attributes)


@generates("Slice", quantized=True)
def slicing(s: Sketch) -> Sequence[str]:
    x, shape = _some(s, 1, 6)
    axes = s.axes(len(shape), 1, negative=s.opset >= 10)
    far = 2**31 - 1
    starts, ends, steps = [], [], []
    for axis in axes:
        extent = shape[axis]
        step = s.pick((1, 1, 1, 2, -1, -2)) if s.opset >= 10 else 1
        start = s.pick((s.integer(-extent, extent - 1), 0, -far if step > 0 else far))
        end = s.pick((s.integer(-extent - 2, extent + 2), far if step > 0 else -far))
        # As an onnx slice has it: a negative end counts from the last element.
        if not len(range(extent)[slice(start, end, step)]):
            raise ValueError
        starts.append(start)
        ends.append(end)
        steps.append(step)
    if s.opset < 10:
        given = {"axes": axes} if axes != list(range(len(axes))) or s.chance(0.5) else {}
        return [s.op("Slice", x, starts=starts, ends=ends, **given)]
    kind = s.pick(("i4", "i8"))
    names = [s.constant(each, kind) for each in (starts, ends, axes)]
    if steps != [1] * len(steps) or s.chance(0.5):
        names.append(s.constant(steps, kind))
    elif axes == list(range(len(axes))) and s.chance(0.5):
        names.pop()
    return [s.op("Slice", x, *names)]


@generates("Gather", quantized=True)
def gather(s: Sketch) -> Sequence[str]:
    shape = s.shape(1)
    kind = "f4" if s.quantizes else s.pick(("f4", "f4", "i4", "i8"))
    axis = s.axis(len(shape))
    extent = shape[axis]
    low = -extent if s.opset >= 11 else 0
    where = np.asarray(s.random.integers(low, extent, s.shape(0, 3, 3)), s.pick(("i4", "i8")))
    data = s.value(s.numbers(shape, kind), constant=0.3)
    if s.chance(0.5):
        return [s.op("Gather", data, s.constant(where, where.dtype.str[1:]), axis=axis)]
    return [s.op("Gather", data, s.given(where), axis=axis)]


@generates("Pad", quantized=True)
def pad(s: Sketch) -> Sequence[str]:
    shape = s.shape(1)
    kind = "f4"
    modes = ("constant", "constant", "reflect", "edge", *(("wrap",) if s.opset >= 19 else ()))
    mode = s.pick(modes)
    axes = s.axes(len(shape), 1) if s.opset >= 18 and s.chance(0.5) else list(range(len(shape)))
    amounts = []
    for _ in range(2):
        for axis in axes:
            most = min(shape[axis] - 1, 2) if mode != "constant" else 2
            low = -1 if s.chance(0.1) and shape[axis] > 2 else 0
            amounts.append(s.integer(low, most))
    value = s.pick((0.0, 0.0, 1.5, -2.0))
    x, attributes = s.value(s.numbers(shape, kind)), {"mode": mode} if s.chance(0.8) else {}
    if not attributes and mode != "constant":
        raise ValueError
    if s.opset < 11:
        return [s.op("Pad", x, pads=amounts, value=value, **attributes)]
    names = [x, s.ints(*amounts)]
    whole = axes == list(range(len(shape)))
    if value or not whole or s.chance(0.3):
        names.append(s.constant(value, kind))
    if not whole:
        names.append(s.constant(axes, s.pick(("i4", "i8"))))
    return [s.op("Pad", *names, **attributes)]


@generates("Expand")
def expand(s: Sketch) -> Sequence[str]:
    if s.opset < 8:
        raise ValueError
    wanted = s.shape()
    own = s.broadcast_with(wanted)
    # The other way around too: a one in the shape leaves the dimension as it is.
    asked = [1 if s.chance(0.1) and len(own) == len(wanted) and own[axis] == extent else extent
             for axis, extent in enumerate(wanted)]  # fmt: skip
    kind = s.pick(("f4", "f4", "i4", "i8"))
    return [s.op("Expand", s.value(s.numbers(own, kind)), s.ints(*asked))]


@generates("Tile")
def tile(s: Sketch) -> Sequence[str]:
    x, shape = _some(s)
    return [s.op("Tile", x, s.ints(*(s.pick((1, 1, 2, 3)) for _ in shape)))]


@generates("DepthToSpace")
def depth_to_space(s: Sketch) -> Sequence[str]:
    size = s.integer(1, 3)
    shape = (s.integer(1, 2), size * size * s.integer(1, 3), s.integer(1, 3), s.integer(1, 3))
    attributes: dict[str, object] = {"blocksize": size}
    if s.opset >= 11 and s.chance(0.7):
        attributes["mode"] = s.pick(("DCR", "CRD"))
    return [s.op("DepthToSpace", s.value(s.numbers(shape)), **attributes)]


@generates("SpaceToDepth")
def space_to_depth(s: Sketch) -> Sequence[str]:
    size = s.integer(1, 3)
    shape = (s.integer(1, 2), s.integer(1, 3), size * s.integer(1, 3), size * s.integer(1, 3))
    return [s.op("SpaceToDepth", s.value(s.numbers(shape)), blocksize=size)]
