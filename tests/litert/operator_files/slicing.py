# SPDX-License-Identifier: Apache-2.0
"""Operators that take parts of tensors, put edges around them, or turn them round."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from tests.litert.operator_files.case import OF_A_RUN, Case, Draft
from tests.random_tflite.sketch import MOVED, Value

_LEFT = {"int64": "is INT64"}


def _typed(kind: str, label: str, make: Any, types: Sequence[str] = MOVED) -> Iterator[Case]:
    for dtype in types:
        yield Case(
            kind, f"{dtype}-{label}", partial(make, dtype=dtype), reason=_LEFT.get(dtype, "")
        )


def _numbers(of: Draft, values: Any, width: str = "int32", source: str = "constant") -> Value:
    array = np.asarray(values, width)
    return of.given(array.shape, width, array) if source == "given" else of.constant(array)


def _slice(
    of: Draft,
    dtype: str,
    begin: Sequence[int] = (1, 0, 2),
    size: Sequence[int] = (1, 2, -1),
    width: str = "int32",
    source: str = "constant",
) -> None:
    data = of.given((2, 3, 4, 2, 2)[: len(begin)], dtype)
    bounds = [_numbers(of, each, width, source) for each in (begin, size)]
    of.emit("SLICE", [data, *bounds], [of.same(data)], "SliceOptions")


def _slices() -> Iterator[Case]:
    yield from _typed("SLICE", "part", _slice)
    for begin, size in (((1,), (-1,)), ((0, 1), (2, 1)), ((0, 1, 1, 0), (-1, -1, 2, 1))):
        yield Case(
            "SLICE",
            f"float32-rank-{len(begin)}",
            partial(_slice, dtype="float32", begin=begin, size=size),
        )
    yield Case("SLICE", "float32-int64", partial(_slice, dtype="float32", width="int64"))
    yield Case(
        "SLICE",
        "float32-given",
        partial(_slice, dtype="float32", source="given"),
        delegate_reason=OF_A_RUN,
    )


def _strided(
    of: Draft,
    dtype: str = "float32",
    shape: Sequence[int] = (4, 5, 6),
    begin: Sequence[int] = (1, 0, 4),
    end: Sequence[int] = (3, 5, 0),
    strides: Sequence[int] = (1, 2, -1),
    source: str = "constant",
    **masks: Any,
) -> None:
    data = of.given(tuple(shape), dtype)
    bounds = [_numbers(of, each, "int32", source) for each in (begin, end, strides)]
    of.emit("STRIDED_SLICE", [data, *bounds], [of.same(data)], "StridedSliceOptions", **masks)


def _strided_slices() -> Iterator[Case]:
    kind = "STRIDED_SLICE"
    yield from _typed(kind, "part", _strided)
    make = partial(partial, _strided)
    for mask in range(1, 8):
        yield Case(kind, f"float32-begin-mask-{mask}", make(beginMask=mask))
        yield Case(kind, f"float32-end-mask-{mask}", make(endMask=mask))
        yield Case(
            kind,
            f"float32-shrink-mask-{mask}",
            make(begin=(1, -2, 3), end=(2, 9, 4), strides=(1, 1, 1), shrinkAxisMask=mask),
        )
    for mask, place in ((1, 0), (2, 1), (4, 2)):
        bounds: dict[str, Any] = {
            name: tuple(0 if at == place else each for at, each in enumerate(values))
            for name, values in (("begin", (1, 2, 1)), ("end", (3, 4, 5)))
        }
        bounds["strides"] = (1, 1, 1)
        yield Case(kind, f"float32-ellipsis-{place}", make(**bounds, ellipsisMask=mask))
        yield Case(
            kind,
            f"float32-ellipsis-{place}-of-four",
            make(**bounds, shape=(4, 5, 6, 6), ellipsisMask=mask),
        )
        yield Case(kind, f"float32-new-axis-{place}", make(**bounds, newAxisMask=mask))
    yield Case(
        kind,
        "float32-ellipsis-of-nothing",
        make(
            shape=(4, 5),
            begin=(1, 0, 1),
            end=(3, 0, 4),
            strides=(1, 1, 1),
            ellipsisMask=2,
        ),
        reason="its ellipsis stands for no axis",
    )
    yield Case(
        kind,
        "float32-all-masks",
        make(
            shape=(4, 5, 6, 3),
            begin=(1, 0, 0, 2),
            end=(2, 0, 0, 3),
            strides=(1, 1, 1, 1),
            shrinkAxisMask=1,
            ellipsisMask=2,
            newAxisMask=4,
            endMask=8,
        ),
    )
    yield Case(kind, "float32-fewer", make(begin=(1,), end=(3,), strides=(1,)))
    yield Case(
        kind,
        "float32-negative",
        make(begin=(-1, -2, -3), end=(-4, -5, -1), strides=(-2, -1, 1)),
    )
    yield Case(kind, "float32-far", make(begin=(0, 4, 1), end=(99, -99, 99), strides=(3, -2, 2)))
    for strides in ((1, 1, 1), (1, 2, 1)):
        yield Case(
            kind,
            f"float32-offset-{'-'.join(map(str, strides))}",
            make(begin=(1, 0, 2), end=(2, 4, 3), strides=strides, offset=True),
            version=8,
        )
    yield Case(
        kind,
        "float32-offset-from-the-end",
        make(begin=(-3, -4, 2), end=(2, 3, 3), strides=(1, 1, 1), offset=True),
        version=8,
    )
    yield Case(kind, "float32-given", make(source="given"), delegate_reason=OF_A_RUN)
    yield Case(
        kind,
        "float32-given-mask",
        make(source="given", shrinkAxisMask=1),
        reason="its bounds are computed, and it has an ellipsis, an axis that comes or goes",
    )


def _gather(
    of: Draft,
    dtype: str,
    shape: Sequence[int] = (4, 3, 2),
    indices: Sequence[int] = (3,),
    axis: int = 0,
    batch: int = 0,
    source: str = "given",
    width: str = "int32",
) -> None:
    data = of.given(tuple(shape), dtype)
    values = np.asarray(of.random.integers(0, shape[axis], tuple(indices)), width)
    of.emit(
        "GATHER",
        [data, _numbers(of, values, width, source)],
        [of.same(data)],
        "GatherOptions",
        axis=axis,
        batchDims=batch,
    )


def _gathers() -> Iterator[Case]:
    yield from _typed("GATHER", "list", _gather)
    make = partial(partial, _gather, dtype="float32")
    for axis in (1, 2, -1, -3):
        yield Case("GATHER", f"float32-axis-{axis}", make(axis=axis))
    for indices in ((), (2, 3), (1, 2, 1)):
        for axis in (0, 1):
            yield Case(
                "GATHER",
                f"float32-indices-of-rank-{len(indices)}-axis-{axis}",
                make(indices=indices, axis=axis),
            )
    for width in ("int32", "int64"):
        yield Case("GATHER", f"float32-constant-{width}", make(source="constant", width=width))
    yield Case("GATHER", "float32-given-int64", make(width="int64"), reason="is INT64")
    yield Case(
        "GATHER",
        "float32-batches",
        make(indices=(4, 2), axis=1, batch=1),
        reason="it has 1 batch dimensions, and the engine's has none",
    )


def _pad(
    of: Draft,
    kind: str,
    dtype: str,
    amounts: Sequence[Sequence[int]] = ((1, 0), (0, 2), (1, 1)),
    width: str = "int32",
    source: str = "constant",
    value: str = "constant",
    scale: str = "same",
    **fields: Any,
) -> None:
    data = of.given((2, 3, 4, 2)[: len(amounts)], dtype)
    inputs = [data, _numbers(of, amounts, width, source)]
    if kind == "PADV2":
        number = of.numbers((), dtype)
        like = data if data.scale and scale == "same" else None
        inputs.append(
            of.given((), dtype, number, like) if value == "given" else of.constant(number, like)
        )
    options = {"PAD": "PadOptions", "PADV2": "PadV2Options", "MIRROR_PAD": "MirrorPadOptions"}
    of.emit(kind, inputs, [of.same(data)], options[kind], **fields)


def _pads() -> Iterator[Case]:
    types = [each for each in MOVED if each not in ("int16", "bool")]
    for kind in ("PAD", "PADV2"):
        yield from _typed(kind, "edges", partial(_pad, kind=kind), types)
        yield Case(
            kind,
            "bool-edges",
            partial(_pad, kind=kind, dtype="bool"),
            reason="must be INT32, a float or an asymmetric 8-bit type",
        )
        make = partial(partial, _pad, kind=kind, dtype="float32")
        for amounts in (((2, 3),), ((0, 0), (1, 2)), ((0, 0), (1, 1), (2, 0), (0, 1))):
            yield Case(kind, f"float32-rank-{len(amounts)}", make(amounts=amounts))
        yield Case(kind, "float32-none", make(amounts=((0, 0), (0, 0))))
        yield Case(kind, "float32-int64", make(width="int64"))
        yield Case(kind, "float32-given", make(source="given"), delegate_reason=OF_A_RUN)
    yield Case(
        "PADV2", "float32-given-value", partial(_pad, kind="PADV2", dtype="float32", value="given")
    )
    yield Case(
        "PADV2",
        "int8-given-value",
        partial(_pad, kind="PADV2", dtype="int8", value="given"),
        reason="its value is computed, and a constant is wanted",
    )
    for mode, name in ((0, "reflect"), (1, "symmetric")):
        yield from _typed("MIRROR_PAD", name, partial(_pad, kind="MIRROR_PAD", mode=mode))
        for amounts in (((1, 1),), ((1, 0), (2, 1)), ((1, 1), (0, 2), (3, 1), (1, 0))):
            yield Case(
                "MIRROR_PAD",
                f"float32-{name}-rank-{len(amounts)}",
                partial(_pad, kind="MIRROR_PAD", dtype="float32", amounts=amounts, mode=mode),
            )
        yield Case(
            "MIRROR_PAD",
            f"float32-{name}-int64",
            partial(_pad, kind="MIRROR_PAD", dtype="float32", width="int64", mode=mode),
        )


def _reverse(of: Draft, dtype: str, axes: Sequence[int] = (1,)) -> None:
    data = of.given((2, 3, 4), dtype)
    of.emit("REVERSE_V2", [data, of.integers(axes)], [of.same(data)], "ReverseV2Options")


def _reverses() -> Iterator[Case]:
    yield from _typed("REVERSE_V2", "1", _reverse)
    for axes in ((0,), (-1,), (0, 1), (2, 1, 0)):
        yield Case(
            "REVERSE_V2",
            "float32-axes" + "".join(f"-{each}" for each in axes),
            partial(_reverse, dtype="float32", axes=axes),
        )


def cases() -> Iterator[Case]:
    yield from _slices()
    yield from _strided_slices()
    yield from _gathers()
    yield from _pads()
    yield from _reverses()
