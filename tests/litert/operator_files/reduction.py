# SPDX-License-Identifier: Apache-2.0
"""Operators that reduce axes, choose among elements, or follow from shapes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from tests.litert.operator_files.case import OF_A_RUN, REAL, Case, Draft
from tests.random_tflite.sketch import Value

_TYPES = {
    "SUM": REAL,
    "MEAN": REAL,
    "REDUCE_PROD": ("float32", "int8"),
    "REDUCE_MAX": REAL,
    "REDUCE_MIN": REAL,
    "REDUCE_ALL": ("bool",),
    "REDUCE_ANY": ("bool",),
}
# Known before a run, and the runtime has memory of 64 bits for it.
_WIDE = {"int32": "", "int64": "is INT64, which the engine has for constants only"}
_INTEGERS = {"SUM", "REDUCE_PROD", "REDUCE_MAX", "REDUCE_MIN"}


def _reduction(
    of: Draft,
    kind: str,
    dtype: str,
    axes: Any = (1,),
    shape: Sequence[int] = (2, 3, 4),
    keep: bool = False,
    source: str = "constant",
    scale: str = "same",
) -> None:
    data = of.given(tuple(shape), dtype)
    values = np.asarray(axes, "int32")
    places = of.given(values.shape, "int32", values) if source == "given" else of.constant(values)
    output = of.same(data) if scale == "same" else of.result(dtype, span=12.0)
    of.emit(kind, [data, places], [output], "ReducerOptions", keepDims=keep)


def _known(of: Draft, kind: str, keep: bool) -> None:
    data = of.constant(of.numbers((2, 3), "int32"))
    given = of.given((1,), "int32")
    reduced = of.graph.tensor((), "int32")
    of.graph.add(kind, [data.index, of.integers([1])], [reduced], "ReducerOptions", keepDims=keep)
    of.emit("ADD", [given, reduced], [of.result("int32")], "AddOptions")


def _reductions() -> Iterator[Case]:
    for kind, types in _TYPES.items():
        for dtype in types:
            make = partial(partial, _reduction, kind=kind, dtype=dtype)
            # The reference kernel's sums of INT8 have 8 bits on the way.
            case = partial(Case, kind, optimized=(kind, dtype) == ("SUM", "int8"))
            for keep in (False, True):
                kept = "-keeps" * keep
                for name, axes in {
                    "0": (0,),
                    "1": (1,),
                    "minus-1": (-1,),
                    "0-2": (0, 2),
                    "twice": (1, -2),
                    "all": (0, 1, 2),
                    "scalar": 2,
                }.items():
                    yield case(f"{dtype}-{name}{kept}", make(axes=axes, keep=keep))
                yield case(f"{dtype}-list{kept}", make(axes=(0,), shape=(5,), keep=keep))
                yield case(
                    f"{dtype}-image{kept}",
                    make(axes=(1, 2), shape=(2, 2, 2, 3), keep=keep),
                )
                if kind in ("SUM", "MEAN", "REDUCE_PROD") and dtype != "float32":
                    yield case(f"{dtype}-scales{kept}", make(keep=keep, scale="own"))
            yield case(
                f"{dtype}-given",
                make(source="given"),
                reason="its axes are computed, and none is kept",
            )
            yield case(
                f"{dtype}-given-keeps",
                make(source="given", keep=True),
                delegate_reason=OF_A_RUN,
            )
        if kind in _INTEGERS:
            yield Case(kind, "int32", partial(_reduction, kind=kind, dtype="int32"), reason="INT32")
            for keep in (False, True):
                yield Case(
                    kind,
                    f"known-int32{'-keeps' * keep}",
                    partial(_known, kind=kind, keep=keep),
                )


def _extremum(
    of: Draft,
    kind: str,
    dtype: str = "float32",
    shape: Sequence[int] = (2, 3, 4),
    axis: int = 1,
    width: str = "int32",
    result: str = "int32",
) -> None:
    data = of.given(tuple(shape), dtype)
    options = "ArgMaxOptions" if kind == "ARG_MAX" else "ArgMinOptions"
    number = {"int32": 2, "int64": 4}[result]
    of.emit(kind, [data, of.integers(axis, width)], [of.result(result)], options, outputType=number)


def _top(
    of: Draft,
    dtype: str,
    count: int = 2,
    shape: Sequence[int] = (3, 6),
    source: str = "constant",
) -> None:
    data = of.given(tuple(shape), dtype)
    values = np.asarray(count, "int32")
    number = of.given((), "int32", values) if source == "given" else of.constant(values)
    of.emit("TOPK_V2", [data, number], [of.same(data), of.result("int32")], "TopKV2Options")


def _choices() -> Iterator[Case]:
    for kind in ("ARG_MAX", "ARG_MIN"):
        for dtype in (*REAL, "int32"):
            for axis in (0, 1, -1):
                yield Case(
                    kind,
                    f"{dtype}-{axis}",
                    partial(_extremum, kind=kind, dtype=dtype, axis=axis),
                )
        yield Case(kind, "float32-list", partial(_extremum, kind=kind, shape=(5,), axis=0))
        yield Case(kind, "float32-int64-axis", partial(_extremum, kind=kind, width="int64"))
        yield Case(
            kind,
            "float32-to-int64",
            partial(_extremum, kind=kind, result="int64"),
            reason="is INT64",
        )
    for dtype in (*REAL, "int32"):
        for count in (1, 2, 6):
            yield Case("TOPK_V2", f"{dtype}-{count}", partial(_top, dtype=dtype, count=count))
        yield Case("TOPK_V2", f"{dtype}-list", partial(_top, dtype=dtype, shape=(7,)))
    yield Case("TOPK_V2", "float32-of-three", partial(_top, dtype="float32", shape=(2, 3, 4)))
    yield Case("TOPK_V2", "int64", partial(_top, dtype="int64"), reason="is INT64")
    yield Case(
        "TOPK_V2",
        "float32-given",
        partial(_top, dtype="float32", source="given"),
        reason="its number of elements is computed, and a constant is wanted",
    )


def _shape(of: Draft, kind: str, width: str = "int32", shape: Sequence[int] = (2, 3, 1)) -> None:
    """Read by a RESHAPE or an ADD, as a constant."""
    data = of.given(tuple(shape), "float32")
    found = of.graph.tensor((), width)
    if kind == "SHAPE":
        of.graph.add(
            "SHAPE",
            [data.index],
            [found],
            "ShapeOptions",
            outType={"int32": 2, "int64": 4}[width],
        )
        one = of.given((), "float32")
        of.emit("BROADCAST_TO", [one, found], [of.result("float32")], "BroadcastToOptions")
        return
    of.graph.add("RANK", [data.index], [found], "RankOptions")
    of.emit("ADD", [of.given((2,), "int32"), found], [of.result("int32")], "AddOptions")


def _alone(of: Draft, width: str) -> None:
    data = of.given((2, 3), "float32")
    of.emit(
        "SHAPE",
        [data],
        [of.result(width)],
        "ShapeOptions",
        outType={"int32": 2, "int64": 4}[width],
    )


def _range(of: Draft, dtype: str, bounds: Sequence[float], source: str = "constant") -> None:
    given: list[Value] = []
    for each in bounds:
        values = np.asarray(each, dtype)
        given.append(of.constant(values) if source == "constant" else of.given((), dtype, values))
    of.emit("RANGE", given, [of.result(dtype)], "RangeOptions")


def _fill(
    of: Draft,
    dtype: str,
    shape: Sequence[int] = (2, 3),
    width: str = "int32",
    given: str = "",
) -> None:
    extents = np.asarray(shape, width)
    wanted = of.given(extents.shape, width, extents) if given == "shape" else of.constant(extents)
    number = of.numbers((), dtype)
    value = of.given((), dtype, number) if given == "value" else of.constant(number)
    of.emit("FILL", [wanted, value], [of.same(value)], "FillOptions")


def _zeros(of: Draft, dtype: str, shape: Sequence[int] = (2, 3)) -> None:
    data = of.given(tuple(shape), dtype)
    of.emit("ZEROS_LIKE", [data], [of.result(dtype)], "ZerosLikeOptions")


def _shapes() -> Iterator[Case]:
    for width in ("int32", "int64"):
        yield Case("SHAPE", f"{width}-read", partial(_shape, kind="SHAPE", width=width))
        yield Case(
            "SHAPE",
            f"{width}-alone",
            partial(_alone, width=width),
            delegate_reason=_WIDE[width],
        )
    for shape in ((), (4,), (2, 1, 1, 3)):
        yield Case("RANK", f"rank-{len(shape)}", partial(_shape, kind="RANK", shape=shape))
    for bounds in ((0, 5, 1), (3, -4, -2), (1, 8, 3)):
        for dtype in ("int32", "int64", "float32"):
            yield Case(
                "RANGE",
                f"{dtype}-" + "-".join(map(str, bounds)),
                partial(_range, dtype=dtype, bounds=bounds),
                delegate_reason=_WIDE.get(dtype, ""),
            )
    yield Case("RANGE", "float32-fractions", partial(_range, dtype="float32", bounds=(0, 1, 0.1)))
    yield Case(
        "RANGE",
        "int32-given",
        partial(_range, dtype="int32", bounds=(0, 5, 1), source="given"),
        reason="its start is computed, and a constant is wanted",
    )
    for dtype in ("float32", "int32", "bool", "int8"):
        yield Case("FILL", dtype, partial(_fill, dtype=dtype))
    for width in ("int32", "int64"):
        yield Case("FILL", f"float32-{width}", partial(_fill, dtype="float32", width=width))
    yield Case("FILL", "float32-scalar", partial(_fill, dtype="float32", shape=()))
    yield Case("FILL", "int64", partial(_fill, dtype="int64"), delegate_reason=_WIDE["int64"])
    yield Case("FILL", "float32-given-value", partial(_fill, dtype="float32", given="value"))
    yield Case(
        "FILL",
        "float32-given-shape",
        partial(_fill, dtype="float32", given="shape"),
        delegate_reason=OF_A_RUN,
    )
    yield Case(
        "FILL",
        "bool-given-value",
        partial(_fill, dtype="bool", given="value"),
        reason="its value is computed, and a constant is wanted",
    )
    for dtype in ("float32", "int32"):
        yield Case("ZEROS_LIKE", dtype, partial(_zeros, dtype=dtype))
    yield Case("ZEROS_LIKE", "int64", partial(_zeros, dtype="int64"), reason="is INT64")


def cases() -> Iterator[Case]:
    yield from _reductions()
    yield from _choices()
    yield from _shapes()
