# SPDX-License-Identifier: Apache-2.0
"""Functions of each element, and softmaxes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from tests.litert.operator_files.case import REAL, Case, Draft
from tests.random_tflite.sketch import Value


def _one(
    of: Draft,
    kind: str,
    dtype: str = "float32",
    shape: Sequence[int] = (2, 3, 4),
    result: str = "",
    options: str = "",
    low: float = -4.0,
    high: float = 4.0,
    like: bool = False,
    span: float = 0.0,
    fixed: tuple[float, int] | None = None,
    quantised: tuple[float, int] | None = None,
    **fields: Any,
) -> None:
    """`fixed`: the result's quantisation; `quantised`: the input's."""
    values = None
    if dtype == "float32":
        values = np.asarray(of.random.uniform(low, high, shape)).astype(np.float32)
    a = of.given(
        tuple(shape), dtype, values, Value(0, (), dtype, *quantised) if quantised else None
    )
    if fixed is not None and dtype != "float32":
        output = of.fixed(result or dtype, *fixed)
    else:
        output = of.same(a) if like else of.result(result or dtype, span=span)
    of.emit(kind, [a], [output], options, **fields)


_RANKS: tuple[Sequence[int], ...] = ((), (5,), (2, 3), (2, 3, 4), (2, 1, 3, 2), (1, 2, 2, 2, 3))


def _functions() -> Iterator[Case]:
    plain: dict[str, dict[str, Any]] = {
        "ABS": {},
        "CEIL": {},
        "ELU": {},
        "EXP": {"tolerance": 2e-5},
        "FLOOR": {},
        "HARD_SWISH": {},
        "LOGISTIC": {"tolerance": 2e-5},
        "NEG": {},
        "RELU": {},
        "RELU6": {},
        "RELU_0_TO_1": {},
        "RELU_N1_TO_1": {},
        "SIN": {"tolerance": 2e-5},
        "SQUARE": {},
        "TANH": {"tolerance": 2e-5},
    }
    del plain["CEIL"]
    for kind, more in plain.items():
        for shape in _RANKS:
            yield Case(
                kind, f"float32-rank-{len(shape)}", partial(_one, kind=kind, shape=shape), **more
            )
    for kind in ("LOG", "RSQRT", "SQRT"):
        for shape in _RANKS:
            yield Case(
                kind,
                f"float32-rank-{len(shape)}",
                partial(_one, kind=kind, shape=shape, low=0.1),
                tolerance=2e-5,
            )
    for kind in ("ABS", "NEG"):
        yield Case(kind, "int32", partial(_one, kind=kind, dtype="int32"))
    for approximate in (False, True):
        for dtype in REAL:
            yield Case(
                "GELU",
                f"{dtype}-{'tanh' if approximate else 'erf'}",
                partial(
                    _one,
                    kind="GELU",
                    dtype=dtype,
                    options="GeluOptions",
                    approximate=approximate,
                    span=4.0,
                ),
                tolerance=2e-5,
            )
    for dtype in ("int8", "uint8"):
        steps = (1 / 256, -128 if dtype == "int8" else 0)
        yield Case("LOGISTIC", dtype, partial(_one, kind="LOGISTIC", dtype=dtype, fixed=steps))
        steps = (1 / 128, 0 if dtype == "int8" else 128)
        yield Case("TANH", dtype, partial(_one, kind="TANH", dtype=dtype, fixed=steps))
        for kind in ("RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1"):
            yield Case(kind, dtype, partial(_one, kind=kind, dtype=dtype, span=6.0))
            yield Case(
                kind, f"{dtype}-same-scale", partial(_one, kind=kind, dtype=dtype, like=True)
            )
        yield Case("HARD_SWISH", dtype, partial(_one, kind="HARD_SWISH", dtype=dtype, span=4.0))
    for kind in ("ABS", "ELU", "EXP"):
        yield Case(kind, "int8", partial(_one, kind=kind, dtype="int8", span=4.0))
    for kind in ("LOG", "RSQRT", "SQRT"):
        # LiteRT's RSQRT takes no negative number, quantised or not.
        yield Case(
            kind,
            "int8",
            partial(_one, kind=kind, dtype="int8", quantised=(0.02, -129 + 1), span=4.0),
        )
    for dtype in REAL:
        for alpha in (0.1, 1.5):
            yield Case(
                "LEAKY_RELU",
                f"{dtype}-{alpha}",
                partial(
                    _one,
                    kind="LEAKY_RELU",
                    dtype=dtype,
                    options="LeakyReluOptions",
                    alpha=alpha,
                    span=4.0,
                ),
            )
    yield Case(
        "LEAKY_RELU",
        "float32-negative",
        partial(_one, kind="LEAKY_RELU", options="LeakyReluOptions", alpha=-0.3),
    )
    yield Case(
        "LEAKY_RELU",
        "int8-negative",
        partial(
            _one, kind="LEAKY_RELU", dtype="int8", options="LeakyReluOptions", alpha=-0.3, span=4.0
        ),
        reason="which is no scale for 8 bits",
    )
    yield Case("LOGICAL_NOT", "bool", partial(_one, kind="LOGICAL_NOT", dtype="bool"))
    yield Case(
        "LOGISTIC",
        "int16",
        partial(_one, kind="LOGISTIC", dtype="int16", fixed=(1 / 32768, 0)),
        reason="QUANT16_SYMM",
    )


def _softmaxes() -> Iterator[Case]:
    for kind in ("SOFTMAX", "LOG_SOFTMAX"):
        options = "SoftmaxOptions" if kind == "SOFTMAX" else "LogSoftmaxOptions"
        for shape in ((7,), (3, 7), (2, 3, 5), (1, 2, 3, 4)):
            fields: dict[str, Any] = {"beta": 1.0} if kind == "SOFTMAX" else {}
            yield Case(
                kind,
                f"float32-rank-{len(shape)}",
                partial(_one, kind=kind, shape=shape, options=options, **fields),
                tolerance=2e-5,
            )
        for dtype in ("int8", "uint8"):
            least = -128 if dtype == "int8" else 0
            steps = (1 / 256, least) if kind == "SOFTMAX" else (16 / 256, least + 255)
            yield Case(
                kind,
                dtype,
                partial(
                    _one,
                    kind=kind,
                    dtype=dtype,
                    shape=(3, 7),
                    options=options,
                    fixed=steps,
                    **fields,
                ),
            )
    for beta in (0.5, 2.0):
        for dtype in REAL:
            yield Case(
                "SOFTMAX",
                f"{dtype}-beta-{beta}",
                partial(
                    _one,
                    kind="SOFTMAX",
                    dtype=dtype,
                    shape=(3, 7),
                    options="SoftmaxOptions",
                    fixed=(1 / 256, -128 if dtype == "int8" else 0),
                    beta=beta,
                ),
                tolerance=2e-5,
            )


def _prelu(of: Draft, dtype: str, shape: Sequence[int], slopes: Sequence[int], stored: str) -> None:
    a = of.given(tuple(shape), dtype)
    values = of.numbers(tuple(slopes), dtype)
    if stored == "half":
        slope: int | Value = of.half(values)
    elif stored == "hybrid":
        slope = of.hybrid(slopes, [0.01])
    else:
        slope = (
            of.constant(values) if stored == "constant" else of.given(tuple(slopes), dtype, values)
        )
    of.emit("PRELU", [a, slope], [of.result(dtype, span=8.0)])


def _prelus() -> Iterator[Case]:
    for dtype in REAL:
        for slopes in ((4,), (1, 1, 4), (2, 3, 4), (1, 3, 1)):
            shape = "x".join(map(str, slopes))
            yield Case(
                "PRELU",
                f"{dtype}-{shape}",
                partial(_prelu, dtype=dtype, shape=(1, 2, 3, 4), slopes=slopes, stored="constant"),
            )
    for stored in ("given", "half"):
        yield Case(
            "PRELU",
            f"float32-{stored}",
            partial(_prelu, dtype="float32", shape=(2, 3, 4), slopes=(1, 1, 4), stored=stored),
        )


def cases() -> Iterator[Case]:
    yield from _functions()
    yield from _softmaxes()
    yield from _prelus()
