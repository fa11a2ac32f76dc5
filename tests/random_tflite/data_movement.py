# SPDX-License-Identifier: Apache-2.0
"""Operators that move elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.random_tflite.sketch import MOVED, REAL, Maker, Sketch, Value


def _moved(sketch: Sketch, rank: Any = None) -> tuple[Value, Value]:
    source = sketch.value(MOVED, rank=rank)
    return source, sketch.result(source.dtype, source if source.scale else None)


def _reshape(sketch: Sketch) -> None:
    source, output = _moved(sketch)
    count = int(np.prod(source.shape, dtype=int))
    shape: list[int] = []
    while count > 1 and len(shape) < 5:
        factor = sketch.among([each for each in range(1, count + 1) if count % each == 0])
        shape.append(factor)
        count //= factor
    shape.append(count)
    if sketch.flag():
        shape[sketch.integer(0, len(shape) - 1)] = -1
    sketch.emit("RESHAPE", [source, sketch.integers(shape)], [output], "ReshapeOptions")


def _squeeze(sketch: Sketch) -> None:
    source, output = _moved(sketch)
    ones = [axis for axis, extent in enumerate(source.shape) if extent == 1]
    dims = [axis for axis in ones if sketch.flag()]
    sketch.emit("SQUEEZE", [source], [output], "SqueezeOptions", squeezeDims=dims)


def _expand(sketch: Sketch) -> None:
    source, output = _moved(sketch)
    axis = sketch.integers(sketch.integer(-source.rank - 1, source.rank))
    sketch.emit("EXPAND_DIMS", [source, axis], [output], "ExpandDimsOptions")


def _transpose(sketch: Sketch) -> None:
    source, output = _moved(sketch, range(1, 7))
    order = sketch.integers(sketch.random.permutation(source.rank).astype("int32"))
    sketch.emit("TRANSPOSE", [source, order], [output], "TransposeOptions")


def _reverse(sketch: Sketch) -> None:
    source, output = _moved(sketch, range(1, 7))
    axes = [int(each) for each in sketch.random.permutation(source.rank)]
    chosen = axes[: sketch.integer(1, source.rank)]
    chosen = [each - source.rank if sketch.flag() else each for each in chosen]
    sketch.emit("REVERSE_V2", [source, sketch.integers(chosen)], [output], "ReverseV2Options")


def _pad(kind: str) -> Maker:
    def make(sketch: Sketch) -> None:
        source, output = _moved(sketch, range(1, 6))
        amounts = np.asarray(sketch.random.integers(0, 3, (source.rank, 2)))
        dtype = sketch.among(["int32", "int64"])
        inputs: list[Value | int] = [source]
        fields: dict[str, Any] = {}
        options = "PadOptions"
        if kind == "MIRROR_PAD":
            fields["mode"] = sketch.integer(0, 1)
            most = np.array(source.shape)[:, None] - (1 - fields["mode"])
            amounts = np.minimum(amounts, most)
            options = "MirrorPadOptions"
        inputs.append(sketch.integers(amounts, dtype))
        if kind == "PADV2":
            like = source if source.scale else None
            value = sketch.numbers((), source.dtype)
            inputs.append(sketch.constant(value, like))
            options = "PadV2Options"
        sketch.emit(kind, inputs, [output], options, **fields)

    return make


def _tile(sketch: Sketch) -> None:
    source, output = _moved(sketch, range(1, 5))
    times = [sketch.integer(1, 2) for _ in source.shape]
    sketch.emit("TILE", [source, sketch.integers(times)], [output], "TileOptions")


def _slice(sketch: Sketch) -> None:
    source, output = _moved(sketch, range(1, 6))
    begin = [sketch.integer(0, extent - 1) for extent in source.shape]
    size = [
        -1 if sketch.chance(0.3) else sketch.integer(1, extent - at)
        for at, extent in zip(begin, source.shape, strict=True)
    ]
    dtype = sketch.among(["int32", "int64"])
    bounds = [sketch.integers(each, dtype) for each in (begin, size)]
    sketch.emit("SLICE", [source, *bounds], [output], "SliceOptions")


def _strided(sketch: Sketch) -> None:
    source, output = _moved(sketch, range(1, 6))
    begin, end, strides = [], [], []
    for extent in source.shape:
        stride = sketch.among([1, 1, 2, -1, -2])
        first, last = sorted(sketch.integer(-1, extent + 1) for _ in range(2))
        if stride < 0:
            first, last = last, first - 2
        # LiteRT reads what lies before and behind where a slice begins there.
        first = min(max(first, 0), extent - 1)
        begin.append(first - extent if sketch.chance(0.2) else first)
        end.append(last)
        strides.append(stride)
    bits = 2**source.rank - 1
    fields = {
        name: sketch.integer(0, bits) & sketch.integer(0, bits)
        for name in ("beginMask", "endMask", "shrinkAxisMask")
    }
    # LiteRT reads what lies elsewhere where an axis that goes has a stride backwards.
    strides = [
        abs(each) if fields["shrinkAxisMask"] >> at & 1 else each for at, each in enumerate(strides)
    ]
    if sketch.chance(0.1):
        fields["newAxisMask"] = sketch.integer(0, bits) & sketch.integer(0, bits)
    if sketch.chance(0.1):
        fields["ellipsisMask"] = 1 << sketch.integer(0, source.rank - 1)
    if sketch.chance(0.3):
        # Bounds of fewer axes than there are.
        count = sketch.integer(1, source.rank)
        begin, end, strides = begin[:count], end[:count], strides[:count]
    bounds = [sketch.integers(each) for each in (begin, end, strides)]
    sketch.emit("STRIDED_SLICE", [source, *bounds], [output], "StridedSliceOptions", **fields)


def _gather(sketch: Sketch) -> None:
    source, output = _moved(sketch, range(1, 5))
    batch = sketch.integer(0, source.rank - 1) if sketch.chance(0.2) else 0
    axis = sketch.integer(batch, source.rank - 1)
    shape = (*source.shape[:batch], *sketch.shape(sketch.integer(0, 2), 3))
    values = np.asarray(sketch.random.integers(0, source.shape[axis], shape), "int32")
    indices = sketch.given(shape, "int32", values) if sketch.flag() else sketch.constant(values)
    if sketch.flag() and axis >= batch:
        axis -= source.rank
    sketch.emit("GATHER", [source, indices], [output], "GatherOptions", axis=axis, batchDims=batch)


def _concatenation(sketch: Sketch) -> None:
    first = sketch.value(MOVED, rank=range(1, 6))
    axis = sketch.axis(first.rank)
    inputs = [first]
    for _ in range(sketch.integer(0, 2)):
        shape = list(first.shape)
        shape[axis] = sketch.integer(1, 3)
        inputs.append(sketch.operand(tuple(shape), first, same_scale=sketch.chance(0.8)))
    output = sketch.result(first.dtype, first if sketch.chance(0.8) else None)
    if not first.scale:
        output = sketch.result(first.dtype)
    activation = sketch.among([0, 0, 0, 1, 3]) if first.is_float else 0
    sketch.emit(
        "CONCATENATION",
        inputs,
        [output],
        "ConcatenationOptions",
        axis=axis,
        fusedActivationFunction=activation,
    )


def _split(sketch: Sketch) -> None:
    source, _ = _moved(sketch, range(1, 6))
    axis = sketch.axis(source.rank)
    extent = source.shape[axis]
    count = sketch.among([each for each in range(1, extent + 1) if extent % each == 0])
    like = source if source.scale else None
    outputs = [sketch.result(source.dtype, like) for _ in range(count)]
    sketch.emit("SPLIT", [sketch.integers(axis), source], outputs, "SplitOptions", numSplits=count)


def _split_v(sketch: Sketch) -> None:
    source, _ = _moved(sketch, range(1, 6))
    axis = sketch.axis(source.rank)
    sizes: list[int] = []
    left = source.shape[axis]
    while left:
        sizes.append(sketch.integer(1, left))
        left -= sizes[-1]
    like = source if source.scale else None
    outputs = [sketch.result(source.dtype, like) for _ in sizes]
    if sketch.chance(0.2):
        sizes[sketch.integer(0, len(sizes) - 1)] = -1
    given: list[Value | int] = [source, sketch.integers(sizes), sketch.integers(axis)]
    sketch.emit("SPLIT_V", given, outputs, "SplitVOptions", numSplits=len(sizes))


def _pack(sketch: Sketch) -> None:
    first = sketch.value(MOVED, rank=range(5))
    inputs = [first]
    inputs += [
        sketch.operand(first.shape, first, same_scale=True) for _ in range(sketch.integer(0, 2))
    ]
    output = sketch.result(first.dtype, first if first.scale else None)
    axis = sketch.integer(-first.rank - 1, first.rank)
    sketch.emit("PACK", inputs, [output], "PackOptions", axis=axis, valuesCount=len(inputs))


def _unpack(sketch: Sketch) -> None:
    source, _ = _moved(sketch, range(1, 6))
    axis = sketch.axis(source.rank)
    like = source if source.scale else None
    outputs = [sketch.result(source.dtype, like) for _ in range(source.shape[axis])]
    sketch.emit("UNPACK", [source], outputs, "UnpackOptions", axis=axis, num=len(outputs))


def _resize(kind: str) -> Maker:
    def make(sketch: Sketch) -> None:
        source = sketch.value(REAL, rank=4)
        size = sketch.integers([sketch.integer(1, 8), sketch.integer(1, 8)])
        options = {
            "RESIZE_BILINEAR": "ResizeBilinearOptions",
            "RESIZE_NEAREST_NEIGHBOR": "ResizeNearestNeighborOptions",
        }[kind]
        how = sketch.integer(0, 2)
        sketch.emit(
            kind,
            [source, size],
            [sketch.result(source.dtype, source)],
            options,
            alignCorners=how == 1,
            halfPixelCenters=how == 2,
        )

    return make


def _depth(kind: str) -> Maker:
    def make(sketch: Sketch) -> None:
        block = sketch.integer(1, 3)
        batch, height, width, channels = sketch.shape(4, 3)
        shape = (
            (batch, height * block, width * block, channels)
            if kind == "SPACE_TO_DEPTH"
            else (batch, height, width, channels * block * block)
        )
        source = sketch.value((*REAL, "int32"), shape=shape)
        options = {
            "SPACE_TO_DEPTH": "SpaceToDepthOptions",
            "DEPTH_TO_SPACE": "DepthToSpaceOptions",
        }[kind]
        sketch.emit(
            kind,
            [source],
            [sketch.result(source.dtype, source if source.scale else None)],
            options,
            blockSize=block,
        )

    return make


def _batches(kind: str) -> Maker:
    def make(sketch: Sketch) -> None:
        block = [sketch.integer(1, 2), sketch.integer(1, 3)]
        batch, height, width, channels = sketch.shape(4, 3)
        amounts = np.asarray(sketch.random.integers(0, 2, (2, 2)), "int32")
        if kind == "SPACE_TO_BATCH_ND":
            shape = (
                batch,
                max(1, height * block[0] - amounts[0].sum()),
                max(1, width * block[1] - amounts[1].sum()),
                channels,
            )
        else:
            shape = (batch * block[0] * block[1], height, width, channels)
            amounts *= sketch.chance(0.3)
        source = sketch.value(REAL, shape=tuple(int(each) for each in shape))
        options = {
            "SPACE_TO_BATCH_ND": "SpaceToBatchNDOptions",
            "BATCH_TO_SPACE_ND": "BatchToSpaceNDOptions",
        }[kind]
        given: list[Value | int] = [source, sketch.integers(block), sketch.integers(amounts)]
        sketch.emit(kind, given, [sketch.result(source.dtype, source)], options)

    return make


def _fill(sketch: Sketch) -> None:
    shape = sketch.shape(sketch.integer(1, 4))
    value = sketch.constant(sketch.numbers((), sketch.among(["float32", "int32", "bool"])))
    sketch.emit(
        "FILL", [sketch.integers(shape), value], [sketch.result(value.dtype)], "FillOptions"
    )


MAKERS: dict[str, Maker] = {
    "RESHAPE": _reshape,
    "SQUEEZE": _squeeze,
    "EXPAND_DIMS": _expand,
    "TRANSPOSE": _transpose,
    "REVERSE_V2": _reverse,
    "PAD": _pad("PAD"),
    "PADV2": _pad("PADV2"),
    "MIRROR_PAD": _pad("MIRROR_PAD"),
    "TILE": _tile,
    "SLICE": _slice,
    "STRIDED_SLICE": _strided,
    "GATHER": _gather,
    "CONCATENATION": _concatenation,
    "SPLIT": _split,
    "SPLIT_V": _split_v,
    "PACK": _pack,
    "UNPACK": _unpack,
    "RESIZE_BILINEAR": _resize("RESIZE_BILINEAR"),
    "RESIZE_NEAREST_NEIGHBOR": _resize("RESIZE_NEAREST_NEIGHBOR"),
    "SPACE_TO_DEPTH": _depth("SPACE_TO_DEPTH"),
    "DEPTH_TO_SPACE": _depth("DEPTH_TO_SPACE"),
    "SPACE_TO_BATCH_ND": _batches("SPACE_TO_BATCH_ND"),
    "BATCH_TO_SPACE_ND": _batches("BATCH_TO_SPACE_ND"),
    "FILL": _fill,
}
