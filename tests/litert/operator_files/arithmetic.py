# SPDX-License-Identifier: Apache-2.0
"""Operators that compute each element from two or three at its place."""

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
    SIGN_BIT,
    TANH,
    Case,
    Draft,
)
from tests.random_tflite.sketch import Value

# Extents of two operands.
_SHAPES: dict[str, tuple[Sequence[int], Sequence[int]]] = {
    "same": ((2, 3, 4), (2, 3, 4)),
    "row": ((2, 3, 4), (4,)),
    "scalar": ((2, 3, 4), ()),
    "scalars": ((), ()),
    "both": ((2, 1, 4), (3, 1)),
    "of-four": ((2, 3, 1, 2), (1, 3, 4, 1)),
    "reversed": ((5,), (2, 3, 5)),
}

_FUSED = (("relu", RELU), ("relu1", RELU1), ("relu6", RELU6))


def _operand(of: Draft, shape: Sequence[int], dtype: str, source: str, low: float = 0.0) -> Value:
    """`low`: the least magnitude of a float, for divisors."""
    values = of.numbers(tuple(shape), dtype, 4.0)
    if low and dtype == "float32":
        values = np.copysign(np.abs(values) + np.float32(low), values).astype(np.float32)
    if low and dtype in ("int32", "int64"):
        values = np.where(values == 0, 3, values).astype(dtype)
    return of.constant(values) if source == "constant" else of.given(tuple(shape), dtype, values)


def _two(
    of: Draft,
    kind: str,
    dtype: str,
    shapes: tuple[Sequence[int], Sequence[int]] = _SHAPES["same"],
    options: str = "",
    source: str = "given",
    result: str = "",
    low: float = 0.0,
    shared: bool = False,
    span: float = 8.0,
    **fields: Any,
) -> None:
    a = _operand(of, shapes[0], dtype, "given")
    if shared:
        values = of.numbers(tuple(shapes[1]), dtype)
        b = (
            of.like(values, dtype, a)
            if source == "constant"
            else of.given(tuple(shapes[1]), dtype, values, a)
        )
    else:
        b = _operand(of, shapes[1], dtype, source, low)
    if result == "same":
        output = of.same(a)
    else:
        output = of.result(result or dtype, span=0.0 if result else span)
    of.emit(kind, [a, b], [output], options, **fields)


def _arithmetic() -> Iterator[Case]:
    for kind, types in (
        ("ADD", (*REAL, "int32")),
        ("SUB", (*REAL, "int32")),
        ("MUL", (*REAL, "int32")),
        ("DIV", ("float32", "int32")),
    ):
        options = f"{kind.capitalize()}Options"
        make = partial(partial, _two, kind=kind, options=options, low=0.5 if kind == "DIV" else 0)
        for dtype in types:
            for name, shapes in _SHAPES.items():
                yield Case(kind, f"{dtype}-{name}", make(dtype=dtype, shapes=shapes))
            yield Case(kind, f"{dtype}-constant", make(dtype=dtype, source="constant"))
            if kind == "DIV" and dtype == "int32":
                yield Case(
                    kind,
                    "int32-relu",
                    make(dtype=dtype, fusedActivationFunction=RELU),
                    reason="it divides whole numbers, with an activation",
                )
                continue
            for name, fused in _FUSED:
                yield Case(
                    kind, f"{dtype}-{name}", make(dtype=dtype, fusedActivationFunction=fused)
                )
        for name, fused in (("TANH", TANH), ("SIGN_BIT", SIGN_BIT)):
            yield Case(
                kind,
                f"float32-{name.lower()}",
                make(dtype="float32", fusedActivationFunction=fused),
                reason=f"its fused activation is {name}, which TFLite's kernels leave away",
            )
        if kind == "DIV":
            yield Case(kind, "uint8", _quotient)
        else:
            yield Case(
                kind,
                "int64",
                make(dtype="int64"),
                reason="is INT64, which the engine has for constants only",
            )
        if kind in ("ADD", "SUB"):
            yield Case(kind, "int8-pot", make(dtype="int8", potScaleInt16=False))
    yield Case(
        "ADD",
        "int16",
        partial(_two, kind="ADD", dtype="int16", options="AddOptions"),
        reason="QUANT16_SYMM",
    )


def _quotient(of: Draft) -> None:
    a = of.given((3, 4), "uint8")
    values = np.asarray(of.random.integers(40, 256, (3, 4)), np.uint8)
    b = of.given((3, 4), "uint8", values, Value(0, (), "uint8", 0.05, 10))
    of.emit("DIV", [a, b], [of.result("uint8", span=3.0)], "DivOptions")


def _pairs() -> Iterator[Case]:
    for kind in ("MAXIMUM", "MINIMUM"):
        for dtype in (*REAL, "int32"):
            for name, shapes in _SHAPES.items():
                yield Case(
                    kind,
                    f"{dtype}-{name}",
                    partial(
                        _two,
                        kind=kind,
                        dtype=dtype,
                        shapes=shapes,
                        options="MaximumMinimumOptions",
                        shared=True,
                        result="same",
                    ),
                )
        yield Case(
            kind,
            "int64",
            partial(_two, kind=kind, dtype="int64", options="MaximumMinimumOptions"),
            reason="is INT64, which the engine has for constants only",
        )
    for kind in ("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL"):
        options = "".join(word.capitalize() for word in kind.split("_")) + "Options"
        types = (
            *REAL,
            "int32",
            *(("bool",) if kind.endswith("EQUAL") and "S" not in kind and "G" not in kind else ()),
        )
        for dtype in types:
            for name in ("same", "row", "scalar", "of-four"):
                yield Case(
                    kind,
                    f"{dtype}-{name}",
                    partial(
                        _two,
                        kind=kind,
                        dtype=dtype,
                        shapes=_SHAPES[name],
                        options=options,
                        result="bool",
                    ),
                )
            yield Case(
                kind,
                f"{dtype}-constant",
                partial(
                    _two,
                    kind=kind,
                    dtype=dtype,
                    options=options,
                    source="constant",
                    shared=True,
                    result="bool",
                ),
            )
        yield Case(
            kind,
            "int64",
            partial(_two, kind=kind, dtype="int64", options=options, result="bool"),
            reason="is INT64, which the engine has for constants only",
        )
    for kind in ("LOGICAL_AND", "LOGICAL_OR"):
        for name in ("same", "row", "scalar", "of-four"):
            yield Case(
                kind, f"bool-{name}", partial(_two, kind=kind, dtype="bool", shapes=_SHAPES[name])
            )
    for name in ("same", "row", "scalar", "of-four"):
        for dtype in ("float32", "int32"):
            yield Case(
                "FLOOR_DIV",
                f"{dtype}-{name}",
                partial(_two, kind="FLOOR_DIV", dtype=dtype, shapes=_SHAPES[name], low=0.5),
            )
        for dtype in ("float32", "int8", "int32"):
            yield Case(
                "SQUARED_DIFFERENCE",
                f"{dtype}-{name}",
                partial(
                    _two,
                    kind="SQUARED_DIFFERENCE",
                    dtype=dtype,
                    shapes=_SHAPES[name],
                    options="SquaredDifferenceOptions",
                ),
            )
        yield Case("POW", f"float32-{name}", partial(_power, shapes=_SHAPES[name]), tolerance=3e-5)
    yield Case("POW", "int32", partial(_power, dtype="int32"), reason="INT32")


def _power(
    of: Draft, shapes: tuple[Sequence[int], Sequence[int]] = _SHAPES["same"], dtype: str = "float32"
) -> None:
    a, b = (
        of.given(
            tuple(shape),
            dtype,
            np.asarray(np.abs(of.numbers(tuple(shape), dtype)) + least, dtype),
        )
        for shape, least in zip(shapes, (1, 0), strict=True)
    )
    of.emit("POW", [a, b], [of.result(dtype)], "PowOptions")


def _sum(of: Draft, dtype: str, count: int, source: str = "given") -> None:
    parts = [of.given((2, 3), dtype) for _ in range(count)]
    if source == "constant":
        parts.append(of.constant(of.numbers((2, 3), dtype)))
    of.emit("ADD_N", parts, [of.result(dtype)], "AddNOptions")


def _sums() -> Iterator[Case]:
    for dtype in ("float32", "int32"):
        for count in (2, 3, 5):
            yield Case("ADD_N", f"{dtype}-{count}", partial(_sum, dtype=dtype, count=count))
        yield Case(
            "ADD_N", f"{dtype}-constant", partial(_sum, dtype=dtype, count=2, source="constant")
        )
    yield Case(
        "ADD_N",
        "int8",
        partial(_sum, dtype="int8", count=2),
        reason="it adds 8-bit numbers",
        runs=0,
    )


def cases() -> Iterator[Case]:
    yield from _arithmetic()
    yield from _pairs()
    yield from _sums()
