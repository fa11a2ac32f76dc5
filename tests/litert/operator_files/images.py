# SPDX-License-Identifier: Apache-2.0
"""Operators on images: pools, other sizes, blocks of pixels, normalisation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from tests.litert.operator_files.case import (
    REAL,
    RELU,
    RELU1,
    RELU6,
    SAME,
    SIGN_BIT,
    TANH,
    VALID,
    Case,
    Draft,
)
from tests.random_tflite.sketch import Value

_POOLS = ("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D")


def _pool(
    of: Draft,
    kind: str,
    dtype: str = "float32",
    shape: Sequence[int] = (2, 7, 6, 3),
    size: tuple[int, int] = (3, 2),
    strides: tuple[int, int] = (1, 1),
    padding: int = SAME,
    fused: int = 0,
) -> None:
    """Sizes and strides: height, width."""
    data = of.given(tuple(shape), dtype)
    of.emit(
        kind,
        [data],
        [of.same(data)],
        "Pool2DOptions",
        padding=padding,
        strideH=strides[0],
        strideW=strides[1],
        filterHeight=size[0],
        filterWidth=size[1],
        fusedActivationFunction=fused,
    )


def _pools() -> Iterator[Case]:
    for kind in _POOLS:
        for dtype in ("float32",) if kind == "L2_POOL_2D" else REAL:
            make = partial(partial, _pool, kind=kind, dtype=dtype)
            for padding, name in ((SAME, "same"), (VALID, "valid")):
                for strides in ((1, 1), (2, 1), (1, 3), (2, 2)):
                    for size in ((3, 2), (1, 3), (2, 2)):
                        label = f"{size[0]}x{size[1]}-by-{strides[0]}x{strides[1]}"
                        yield Case(
                            kind,
                            f"{dtype}-{name}-{label}",
                            make(size=size, strides=strides, padding=padding),
                        )
            for name, fused in (("relu", RELU), ("relu1", RELU1), ("relu6", RELU6)):
                yield Case(kind, f"{dtype}-{name}", make(fused=fused))
            yield Case(kind, f"{dtype}-whole", make(size=(7, 6), padding=VALID))
            yield Case(kind, f"{dtype}-larger", make(size=(9, 8)))
        for name, fused in (("TANH", TANH), ("SIGN_BIT", SIGN_BIT)):
            yield Case(
                kind,
                f"float32-{name.lower()}",
                partial(_pool, kind=kind, fused=fused),
                reason=f"its fused activation is {name}, which TFLite's kernels leave away",
            )
    for kind in _POOLS[:2]:
        yield Case(kind, "int16", partial(_pool, kind=kind, dtype="int16"), reason="QUANT16_SYMM")


def _resize(
    of: Draft,
    kind: str,
    dtype: str,
    size: tuple[int, int],
    computed: bool = False,
    **flags: bool,
) -> None:
    data = of.given((2, 4, 5, 3), dtype)
    wanted = np.asarray(size, "int32")
    shape = of.given((2,), "int32", wanted).index if computed else of.integers(wanted)
    options = "ResizeBilinearOptions" if kind == "RESIZE_BILINEAR" else _NEAREST
    of.emit(kind, [data, shape], [of.same(data)], options, **flags)


_NEAREST = "ResizeNearestNeighborOptions"


def _resizes() -> Iterator[Case]:
    for kind in ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"):
        for dtype in REAL:
            make = partial(partial, _resize, kind=kind, dtype=dtype)
            for size in ((8, 10), (2, 3), (4, 5), (1, 1), (7, 3)):
                for align, half in ((False, False), (True, False), (False, True)):
                    flags = "-align" * align + "-half" * half
                    yield Case(
                        kind,
                        f"{dtype}-{size[0]}x{size[1]}{flags}",
                        make(size=size, alignCorners=align, halfPixelCenters=half),
                    )
        yield Case(
            kind,
            "float32-computed-size",
            partial(_resize, kind=kind, dtype="float32", size=(3, 4), computed=True),
            reason="its size is computed",
        )
        yield Case(
            kind,
            "float32-both",
            partial(
                _resize,
                kind=kind,
                dtype="float32",
                size=(8, 3),
                alignCorners=True,
                halfPixelCenters=True,
            ),
            reason="corners and half pixel centres can't both be aligned",
            # LiteRT's bilinear kernel says the same.
            runs=int(kind != "RESIZE_BILINEAR"),
        )
        yield Case(
            kind,
            "int16",
            partial(_resize, kind=kind, dtype="int16", size=(3, 4)),
            reason="QUANT16_SYMM",
        )


def _depth(of: Draft, kind: str, dtype: str, block: int) -> None:
    shape = (2, 2 * block, 3 * block, 3)
    if kind == "DEPTH_TO_SPACE":
        shape = (2, 2, 3, 2 * block * block)
    data = of.given(shape, dtype)
    options = "DepthToSpaceOptions" if kind == "DEPTH_TO_SPACE" else "SpaceToDepthOptions"
    of.emit(kind, [data], [of.same(data)], options, blockSize=block)


def _blocks(
    of: Draft,
    kind: str,
    dtype: str,
    shape: Sequence[int],
    block: Sequence[int],
    ends: Sequence[Sequence[int]],
) -> None:
    data = of.given(tuple(shape), dtype)
    options = "SpaceToBatchNDOptions" if kind == "SPACE_TO_BATCH_ND" else "BatchToSpaceNDOptions"
    given: list[Value | int] = [data, of.integers(block), of.integers(ends)]
    of.emit(kind, given, [of.same(data)], options)


def _spaces() -> Iterator[Case]:
    for kind in ("DEPTH_TO_SPACE", "SPACE_TO_DEPTH"):
        for dtype in (*REAL, "int32"):
            for block in (1, 2, 3):
                yield Case(
                    kind,
                    f"{dtype}-{block}",
                    partial(_depth, kind=kind, dtype=dtype, block=block),
                )
        yield Case(
            kind,
            "int64",
            partial(_depth, kind=kind, dtype="int64", block=2),
            reason="is INT64",
        )
    none = ((0, 0), (0, 0))
    for kind, shape, ends in (
        ("SPACE_TO_BATCH_ND", (2, 4, 6, 3), ((1, 3), (2, 1))),
        ("BATCH_TO_SPACE_ND", (12, 2, 3, 3), ((1, 0), (2, 3))),
    ):
        for dtype in (*REAL, "int32"):
            make = partial(partial, _blocks, kind=kind, dtype=dtype)
            yield Case(kind, f"{dtype}-plain", make(shape=shape, block=(2, 3), ends=none))
            yield Case(kind, f"{dtype}-ends", make(shape=shape, block=(2, 3), ends=ends))
            flat = (shape[0], *shape[1:3])
            yield Case(kind, f"{dtype}-flat", make(shape=flat, block=(2,), ends=(ends[0],)))


def _l2(
    of: Draft, dtype: str, shape: Sequence[int], scale: float = 1 / 128, fused: int = 0
) -> None:
    data = of.given(tuple(shape), dtype)
    output = of.result("float32")
    if dtype != "float32":
        output = of.fixed(dtype, scale, 0 if dtype == "int8" else 128)
    of.emit("L2_NORMALIZATION", [data], [output], "L2NormOptions", fusedActivationFunction=fused)


def _local_response(of: Draft, changed: dict[str, Any]) -> None:
    data = of.given((2, 3, 2, 7), "float32")
    fields = {"radius": 2, "bias": 1.0, "alpha": 0.3, "beta": 0.75} | changed
    of.emit(
        "LOCAL_RESPONSE_NORMALIZATION",
        [data],
        [of.result("float32")],
        "LocalResponseNormalizationOptions",
        **fields,
    )


def _normalisations() -> Iterator[Case]:
    for dtype in REAL:
        for shape in ((6,), (3, 5), (2, 3, 4), (2, 3, 2, 5)):
            yield Case(
                "L2_NORMALIZATION",
                f"{dtype}-rank-{len(shape)}",
                partial(_l2, dtype=dtype, shape=shape),
            )
    yield Case(
        "L2_NORMALIZATION",
        "float32-relu",
        partial(_l2, dtype="float32", shape=(3, 5), fused=RELU),
        reason="it has a fused activation, and TFLite's kernel has none",
        runs=0,
    )
    yield Case(
        "L2_NORMALIZATION",
        "int8-scale",
        partial(_l2, dtype="int8", shape=(3, 5), scale=0.01),
        reason="and its scale has to be 1/128",
        runs=0,
    )
    choices: dict[str, tuple[Any, ...]] = {
        "radius": (0, 1, 3, 9),
        "bias": (0.5, 2.0),
        "alpha": (0.0, 0.01, 1.5),
        "beta": (0.0, 0.5, 1.0),
    }
    for name, values in choices.items():
        for value in values:
            yield Case(
                "LOCAL_RESPONSE_NORMALIZATION",
                f"float32-{name}-{value}",
                partial(_local_response, changed={name: value}),
                tolerance=2e-5,
                # The reference kernel leaves the last channel of each window away.
                optimized=True,
            )


def cases() -> Iterator[Case]:
    yield from _pools()
    yield from _resizes()
    yield from _spaces()
    yield from _normalisations()
