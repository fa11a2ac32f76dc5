# SPDX-License-Identifier: Apache-2.0
"""Operators that change shapes, take tensors apart and put them together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from tests.litert.operator_files.case import OF_A_RUN, RELU, Case, Draft
from tests.random_tflite.sketch import MOVED, Value

# What of these types the importer leaves to the runtime, and why.
_LEFT = {"int64": "is INT64"}


def _typed(kind: str, label: str, make: Any, types: Sequence[str] = MOVED) -> Iterator[Case]:
    """One of each type."""
    for dtype in types:
        yield Case(
            kind, f"{dtype}-{label}", partial(make, dtype=dtype), reason=_LEFT.get(dtype, "")
        )


def _reshape(
    of: Draft,
    dtype: str,
    shape: Sequence[int] = (2, 3, 4),
    new: Sequence[int] = (4, 6),
    source: str = "constant",
    option: Sequence[int] | None = None,
) -> None:
    data = of.given(tuple(shape), dtype)
    inputs: list[Value | int] = [data]
    wanted = np.asarray(new, "int32")
    if source == "constant":
        inputs.append(of.integers(wanted))
    elif source == "given":
        inputs.append(of.given(wanted.shape, "int32", wanted))
    elif source == "int64":
        inputs.append(of.integers(wanted, "int64"))
    fields = {} if option is None else {"newShape": list(option)}
    of.emit("RESHAPE", inputs, [of.same(data)], "ReshapeOptions", **fields)


def _reshapes() -> Iterator[Case]:
    yield from _typed("RESHAPE", "constant", _reshape)
    make = partial(partial, _reshape, dtype="float32")
    for new in ((24,), (-1,), (2, -1, 2), (1, 4, 1, 6), (2, 3, 2, 1, 2)):
        yield Case("RESHAPE", "float32-to-" + "x".join(map(str, new)), make(new=new))
    yield Case("RESHAPE", "float32-to-scalar", make(shape=(1, 1), new=()))
    yield Case("RESHAPE", "float32-of-scalar", make(shape=(), new=(1, 1)))
    for option in ((4, 6), (-1, 3)):
        yield Case(
            "RESHAPE",
            "float32-option-" + "x".join(map(str, option)),
            make(source="option", option=option),
        )
    yield Case("RESHAPE", "float32-both", make(new=(4, 6), option=(3, 8)))
    yield Case("RESHAPE", "float32-option-0", make(shape=(1,), source="option", option=(0,)))
    yield Case("RESHAPE", "float32-given", make(source="given"), delegate_reason=OF_A_RUN)


def _squeeze(of: Draft, dtype: str, dims: Sequence[int] = (0,), shape: Any = (1, 3, 1, 4)) -> None:
    data = of.given(tuple(shape), dtype)
    of.emit("SQUEEZE", [data], [of.same(data)], "SqueezeOptions", squeezeDims=list(dims))


def _expand(of: Draft, dtype: str, axis: int = 1, width: str = "int32", rank: int = 2) -> None:
    data = of.given((2, 3, 4)[:rank], dtype)
    at = of.integers(axis, width)
    of.emit("EXPAND_DIMS", [data, at], [of.same(data)], "ExpandDimsOptions")


def _transpose(of: Draft, dtype: str, order: Sequence[int] = (2, 0, 1)) -> None:
    data = of.given((2, 3, 4, 2, 2)[: len(order)], dtype)
    of.emit("TRANSPOSE", [data, of.integers(order)], [of.same(data)], "TransposeOptions")


def _axes() -> Iterator[Case]:
    yield from _typed("SQUEEZE", "0", _squeeze)
    for dims in ((), (2,), (0, 2), (-2,), (0, 0)):
        yield Case(
            "SQUEEZE",
            "float32-dims" + "".join(f"-{each}" for each in dims),
            partial(_squeeze, dtype="float32", dims=dims),
        )
    yield Case(
        "SQUEEZE", "float32-to-scalar", partial(_squeeze, dtype="float32", dims=(), shape=(1, 1))
    )
    yield Case(
        "SQUEEZE", "float32-nothing", partial(_squeeze, dtype="float32", dims=(), shape=(2, 3))
    )
    yield from _typed("EXPAND_DIMS", "1", _expand)
    for axis in (0, 2, -1, -3):
        yield Case("EXPAND_DIMS", f"float32-{axis}", partial(_expand, dtype="float32", axis=axis))
    yield Case(
        "EXPAND_DIMS", "float32-int64-axis", partial(_expand, dtype="float32", width="int64")
    )
    yield Case("EXPAND_DIMS", "float32-scalar", partial(_expand, dtype="float32", axis=0, rank=0))
    yield from _typed("TRANSPOSE", "2-0-1", _transpose)
    for order in ((0,), (1, 0), (0, 1, 2), (0, 2, 1), (3, 1, 0, 2), (4, 2, 0, 1, 3)):
        yield Case(
            "TRANSPOSE",
            "float32-" + "-".join(map(str, order)),
            partial(_transpose, dtype="float32", order=order),
        )


def _pack(
    of: Draft,
    dtype: str,
    axis: int = 0,
    count: int = 3,
    shape: Sequence[int] = (2, 3),
    source: str = "given",
) -> None:
    first = of.given(tuple(shape), dtype)
    parts = [first]
    for _ in range(1, count):
        values = of.numbers(tuple(shape), dtype)
        parts.append(
            of.like(values, dtype, first)
            if source == "constant"
            else of.given(tuple(shape), dtype, values, first if first.scale else None)
        )
    of.emit("PACK", parts, [of.same(first)], "PackOptions", axis=axis, valuesCount=count)


def _unpack(of: Draft, dtype: str, axis: int = 0, shape: Sequence[int] = (2, 3, 4)) -> None:
    data = of.given(tuple(shape), dtype)
    count = shape[axis]
    outputs = [of.same(data) for _ in range(count)]
    of.emit("UNPACK", [data], outputs, "UnpackOptions", axis=axis, num=count)


def _packs() -> Iterator[Case]:
    yield from _typed("PACK", "0", _pack, [each for each in MOVED if each != "bool"])
    yield from _typed("UNPACK", "0", _unpack, MOVED[:-1])
    for axis in (1, 2, -1, -3):
        yield Case("PACK", f"float32-{axis}", partial(_pack, dtype="float32", axis=axis))
    for axis in (1, 2, -1, -3):
        yield Case("UNPACK", f"float32-{axis}", partial(_unpack, dtype="float32", axis=axis))
    yield Case("PACK", "float32-one", partial(_pack, dtype="float32", count=1))
    yield Case("PACK", "float32-scalars", partial(_pack, dtype="float32", shape=()))
    yield Case("PACK", "float32-constant", partial(_pack, dtype="float32", source="constant"))
    yield Case("UNPACK", "float32-list", partial(_unpack, dtype="float32", shape=(3,)))
    yield Case("UNPACK", "float32-one", partial(_unpack, dtype="float32", shape=(1, 4)))


def _concatenation(
    of: Draft,
    dtype: str,
    axis: int = 1,
    extents: Sequence[int] = (3, 1, 2),
    scales: str = "same",
    source: str = "given",
    fused: int = 0,
) -> None:
    parts: list[Value] = []
    for extent in extents:
        shape = [2, 2, 2]
        shape[axis] = extent
        values = of.numbers(tuple(shape), dtype)
        like = parts[0] if parts and parts[0].scale and scales == "same" else None
        if parts and source == "constant":
            parts.append(of.constant(values, like))
        else:
            parts.append(of.given(tuple(shape), dtype, values, like))
    output = of.same(parts[0])
    if scales == "own":
        output = of.result(dtype, span=5.0)
    of.emit(
        "CONCATENATION",
        parts,
        [output],
        "ConcatenationOptions",
        axis=axis,
        fusedActivationFunction=fused,
    )


def _concatenations() -> Iterator[Case]:
    yield from _typed("CONCATENATION", "1", _concatenation)
    make = partial(partial, _concatenation)
    for axis in (0, 2, -1, -3):
        yield Case("CONCATENATION", f"float32-{axis}", make(dtype="float32", axis=axis))
    yield Case("CONCATENATION", "float32-one", make(dtype="float32", extents=(2,)))
    for dtype in ("float32", "int8", "int32"):
        yield Case("CONCATENATION", f"{dtype}-constant", make(dtype=dtype, source="constant"))
    # LiteRT has 8 bits with a sign of one scale only.
    yield Case("CONCATENATION", "uint8-scales", make(dtype="uint8", scales="own"))
    yield Case(
        "CONCATENATION",
        "float32-relu",
        make(dtype="float32", fused=RELU),
        reason="it has a fused activation, which TFLite's kernel leaves away",
        runs=0,
    )


def _split(of: Draft, dtype: str, axis: int = 1, count: int = 2) -> None:
    data = of.given((2, 4, 3), dtype)
    outputs = [of.same(data) for _ in range(count)]
    of.emit("SPLIT", [of.integers(axis), data], outputs, "SplitOptions", numSplits=count)


def _split_v(
    of: Draft, dtype: str, sizes: Sequence[int] = (1, 3, 2), axis: int = 1, width: str = "int32"
) -> None:
    data = of.given((2, 6, 3), dtype)
    outputs = [of.same(data) for _ in sizes]
    inputs: list[Value | int] = [data, of.integers(sizes, width), of.integers(axis)]
    of.emit("SPLIT_V", inputs, outputs, "SplitVOptions", numSplits=len(sizes))


def _splits() -> Iterator[Case]:
    types = [each for each in MOVED if each != "bool"]
    yield from _typed("SPLIT", "1", _split, types)
    yield from _typed("SPLIT_V", "1", _split_v, types)
    for axis, count in ((0, 2), (0, 1), (1, 4), (-1, 3), (-2, 2)):
        yield Case(
            "SPLIT",
            f"float32-{axis}-into-{count}",
            partial(_split, dtype="float32", axis=axis, count=count),
        )
    for axis, sizes in ((0, (2,)), (1, (1, -1)), (-2, (-1, 2, 1)), (2, (1, 2))):
        yield Case(
            "SPLIT_V",
            f"float32-{axis}-into-" + "-".join(map(str, sizes)),
            partial(_split_v, dtype="float32", axis=axis, sizes=sizes),
        )
    yield Case("SPLIT_V", "float32-int64-sizes", partial(_split_v, dtype="float32", width="int64"))


def _tile(
    of: Draft, dtype: str, times: Sequence[int] = (2, 1, 3), width: str = "int32", source: str = ""
) -> None:
    data = of.given((2, 3, 2)[: len(times)], dtype)
    values = np.asarray(times, width)
    multiples = of.given(values.shape, width, values) if source else of.constant(values)
    of.emit("TILE", [data, multiples], [of.same(data)], "TileOptions")


def _broadcast(
    of: Draft,
    dtype: str,
    shape: Sequence[int] = (3, 1),
    to: Sequence[int] = (2, 3, 4),
    width: str = "int32",
    source: str = "",
) -> None:
    data = of.given(tuple(shape), dtype)
    values = np.asarray(to, width)
    wanted = of.given(values.shape, width, values) if source else of.constant(values)
    of.emit("BROADCAST_TO", [data, wanted], [of.same(data)], "BroadcastToOptions")


def _repeats() -> Iterator[Case]:
    yield from _typed("TILE", "2-1-3", _tile)
    for times in ((3,), (1, 1), (1, 2, 1)):
        yield Case(
            "TILE",
            "float32-" + "-".join(map(str, times)),
            partial(_tile, dtype="float32", times=times),
        )
    yield Case("TILE", "float32-int64", partial(_tile, dtype="float32", width="int64"))
    yield Case(
        "TILE",
        "float32-given",
        partial(_tile, dtype="float32", source="given"),
        delegate_reason=OF_A_RUN,
    )
    yield from _typed("BROADCAST_TO", "2-3-4", _broadcast)
    for shape, to in (((), (2, 3)), ((2, 3), (2, 3)), ((4,), (3, 4)), ((1, 3, 1, 2), (2, 3, 4, 2))):
        yield Case(
            "BROADCAST_TO",
            f"float32-{'x'.join(map(str, shape))}-to-{'x'.join(map(str, to))}",
            partial(_broadcast, dtype="float32", shape=shape, to=to),
        )
    yield Case("BROADCAST_TO", "float32-int64", partial(_broadcast, dtype="float32", width="int64"))
    yield Case(
        "BROADCAST_TO",
        "float32-given",
        partial(_broadcast, dtype="float32", source="given"),
        reason="its shape is computed, and a constant is wanted",
    )


def cases() -> Iterator[Case]:
    yield from _reshapes()
    yield from _axes()
    yield from _packs()
    yield from _concatenations()
    yield from _splits()
    yield from _repeats()
