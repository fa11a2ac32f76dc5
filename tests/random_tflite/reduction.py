# SPDX-License-Identifier: Apache-2.0
"""Operators that reduce axes, choose among elements, and multiply matrices."""

from __future__ import annotations

import numpy as np

from tests.random_tflite.sketch import BYTES, FLOATS, REAL, WIDE, Maker, Sketch
from tests.random_tflite.weighted import hybrid_weights


def _reduction(kind: str) -> Maker:
    def make(sketch: Sketch) -> None:
        dtypes: tuple[str, ...] = WIDE if kind in ("MEAN", "SUM") else REAL
        if kind in ("REDUCE_ALL", "REDUCE_ANY"):
            dtypes = ("bool",)
        elif kind == "REDUCE_PROD":
            dtypes = FLOATS
        source = sketch.value((*dtypes, "int32") if kind == "SUM" else dtypes)
        rank = source.rank
        count = sketch.integer(0 if sketch.chance(0.1) else 1, max(rank, 1))
        axes = [sketch.axis(rank) for _ in range(count)] if rank else []
        same = kind in ("REDUCE_MAX", "REDUCE_MIN") or sketch.chance(0.3)
        output = sketch.result(source.dtype, source if same else None)
        indexes = sketch.integers(np.asarray(axes, "int32"))
        if len(axes) == 1 and sketch.flag():
            indexes = sketch.integers(axes[0])
        sketch.emit(kind, [source, indexes], [output], "ReducerOptions", keepDims=sketch.flag())

    return make


def _extremum(kind: str) -> Maker:
    def make(sketch: Sketch) -> None:
        dtype = sketch.among([*REAL, "int32"])
        source = sketch.given(sketch.shape(sketch.integer(1, 6)), dtype)
        options = {"ARG_MAX": "ArgMaxOptions", "ARG_MIN": "ArgMinOptions"}[kind]
        wide = sketch.chance(0.3)
        output = sketch.result("int64" if wide else "int32")
        axis = sketch.integers(sketch.axis(source.rank), sketch.among(["int32", "int64"]))
        sketch.emit(kind, [source, axis], [output], options, outputType=4 if wide else 2)

    return make


def _top_k(sketch: Sketch) -> None:
    source = sketch.given(sketch.shape(sketch.integer(1, 5)), sketch.among([*REAL, "int32"]))
    count = sketch.integers(sketch.integer(1, source.shape[-1]))
    outputs = [sketch.result(source.dtype, source), sketch.result("int32")]
    sketch.emit("TOPK_V2", [source, count], outputs, "TopKV2Options")


def _matmul(sketch: Sketch) -> None:
    dtype = sketch.among(["float32", "float32", "int8", "int16"])
    rows, depth, columns = (sketch.integer(1, 5) for _ in range(3))
    batch = sketch.shape(sketch.integer(0, 3), 3)
    other = sketch.broadcast(batch)
    adjoint = sketch.flag(), sketch.flag()
    first = sketch.given((*batch, *((depth, rows) if adjoint[0] else (rows, depth))), dtype)
    right = (*other, *((columns, depth) if adjoint[1] else (depth, columns)))
    second = sketch.operand(right, first)
    if sketch.flag() and not any(adjoint) and rows == columns:
        first, second = second, first
    if dtype == "float32" and sketch.chance(0.15):
        second = hybrid_weights(sketch, right, 0, channels=0)
    span = 0.0 if dtype == "float32" else 60 * depth * first.scale * second.scale * 60
    output = sketch.result(dtype, span=span)
    sketch.emit(
        "BATCH_MATMUL",
        [first, second],
        [output],
        "BatchMatMulOptions",
        adjX=adjoint[0],
        adjY=adjoint[1],
        asymmetricQuantizeInputs=False,
    )


def _l2(sketch: Sketch) -> None:
    source = sketch.value(REAL, rank=range(1, 5))
    output = sketch.result("float32")
    if source.dtype in BYTES:
        output = sketch.fixed(source.dtype, 1 / 128, 0 if source.dtype == "int8" else 128)
    fused = sketch.among([0, 0, 1])
    sketch.emit(
        "L2_NORMALIZATION", [source], [output], "L2NormOptions", fusedActivationFunction=fused
    )


def _local_response(sketch: Sketch) -> None:
    source = sketch.value(FLOATS, rank=4)
    sketch.emit(
        "LOCAL_RESPONSE_NORMALIZATION",
        [source],
        [sketch.result("float32")],
        "LocalResponseNormalizationOptions",
        radius=sketch.integer(0, 3),
        bias=1.0,
        alpha=float(sketch.random.uniform(0, 0.5)),
        beta=sketch.among([0.5, 0.75, 1.0]),
    )


MAKERS: dict[str, Maker] = {
    **{
        kind: _reduction(kind)
        for kind in (
            "MEAN",
            "SUM",
            "REDUCE_MAX",
            "REDUCE_MIN",
            "REDUCE_PROD",
            "REDUCE_ALL",
            "REDUCE_ANY",
        )
    },
    "ARG_MAX": _extremum("ARG_MAX"),
    "ARG_MIN": _extremum("ARG_MIN"),
    "TOPK_V2": _top_k,
    "BATCH_MATMUL": _matmul,
    "L2_NORMALIZATION": _l2,
    "LOCAL_RESPONSE_NORMALIZATION": _local_response,
}
