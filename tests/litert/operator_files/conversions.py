# SPDX-License-Identifier: Apache-2.0
"""Changes of type, and choices between elements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from tests.litert.operator_files.case import REAL, Case, Draft
from tests.random_tflite.sketch import Value


def _cast(of: Draft, source: str, result: str, constant: bool = False) -> None:
    values = of.numbers((2, 3), source, 9.0)
    a = of.constant(values) if constant else of.given((2, 3), source, values)
    numbers = {"float32": 0, "int32": 2, "uint8": 3, "int64": 4, "bool": 6, "int16": 7, "int8": 9}
    of.emit(
        "CAST",
        [a],
        [Value(of.graph.tensor((), result), (), result)],
        "CastOptions",
        inDataType=numbers[source],
        outDataType=numbers[result],
    )


def _casts() -> Iterator[Case]:
    for source in ("float32", "int32", "bool"):
        for result in ("float32", "int32", "bool"):
            yield Case("CAST", f"{source}-{result}", partial(_cast, source=source, result=result))
    for source in ("float32", "int32"):
        yield Case(
            "CAST",
            f"{source}-int64",
            partial(_cast, source=source, result="int64"),
            reason="is INT64",
        )
    for source in ("int64",):
        yield Case(
            "CAST",
            f"{source}-float32",
            partial(_cast, source=source, result="float32"),
            reason="is INT64",
        )
        for result in ("float32", "int32"):
            yield Case(
                "CAST",
                f"constant-{source}-{result}",
                partial(_cast, source=source, result=result, constant=True),
            )


def _quantize(of: Draft, source: str, result: str) -> None:
    values = of.numbers((3, 5), source, 4.0)
    output = of.result(result, span=5.0)
    of.emit("QUANTIZE", [of.given((3, 5), source, values)], [output], "QuantizeOptions")


def _dequantize(of: Draft, source: str, constant: bool = False, channels: bool = False) -> None:
    if channels:
        steps = np.asarray(of.random.integers(-127, 128, (3, 5)), np.int8)
        a: int | Value = of.graph.constant(steps, "int8", [0.01, 0.02, 0.03])
    elif source == "int4":
        steps = np.asarray(of.random.integers(-7, 8, (3, 5)), np.int8)
        a = of.narrow(steps, [0.1])
    elif source == "float16":
        values = of.numbers((3, 5), source)
        a = of.graph.constant(values, source) if constant else of.given((3, 5), source, values)
    else:
        values = of.numbers((3, 5), source)
        a = of.constant(values) if constant else of.given((3, 5), source, values)
    of.emit("DEQUANTIZE", [a], [of.result("float32")], "DequantizeOptions")


def _quantisations() -> Iterator[Case]:
    for source in REAL:
        for result in ("int8", "uint8"):
            yield Case(
                "QUANTIZE", f"{source}-{result}", partial(_quantize, source=source, result=result)
            )
    yield Case(
        "QUANTIZE",
        "float32-int16",
        partial(_quantize, source="float32", result="int16"),
        reason="into QUANT16_SYMM",
    )
    for source in ("int8", "uint8", "float16", "int16"):
        for constant in (False, True):
            yield Case(
                "DEQUANTIZE",
                f"{'constant-' * constant}{source}",
                partial(_dequantize, source=source, constant=constant),
            )
    yield Case("DEQUANTIZE", "constant-int4", partial(_dequantize, source="int4"))
    yield Case(
        "DEQUANTIZE", "constant-int8-channels", partial(_dequantize, source="int8", channels=True)
    )


def _choose(
    of: Draft,
    kind: str,
    dtype: str,
    condition: Sequence[int],
    first: Sequence[int],
    second: Sequence[int],
    scales: str = "same",
) -> None:
    truth = of.given(tuple(condition), "bool")
    a = of.given(tuple(first), dtype)
    b = of.given(tuple(second), dtype, like=a if scales == "same" else None)
    options = "SelectOptions" if kind == "SELECT" else "SelectV2Options"
    of.emit(kind, [truth, a, b], [of.same(a)], options)


def _choices() -> Iterator[Case]:
    whole = (2, 3, 4)
    for kind in ("SELECT", "SELECT_V2"):
        for dtype in (*REAL, "int32", "bool"):
            yield Case(
                kind,
                f"{dtype}-same",
                partial(
                    _choose, kind=kind, dtype=dtype, condition=whole, first=whole, second=whole
                ),
            )
        yield Case(
            kind,
            "int64",
            partial(_choose, kind=kind, dtype="int64", condition=whole, first=whole, second=whole),
            reason="is INT64",
        )
    for dtype in ("float32", "int8"):
        yield Case(
            "SELECT",
            f"{dtype}-rows",
            partial(_choose, kind="SELECT", dtype=dtype, condition=(2,), first=whole, second=whole),
        )
        yield Case(
            "SELECT",
            f"{dtype}-scalar",
            partial(_choose, kind="SELECT", dtype=dtype, condition=(), first=whole, second=whole),
        )
        for name, shapes in {
            "scalar": ((), whole, whole),
            "row": ((4,), whole, whole),
            "values": (whole, (), (3, 1)),
            "all": ((2, 1, 1), (3, 1), (4,)),
        }.items():
            yield Case(
                "SELECT_V2",
                f"{dtype}-{name}",
                partial(
                    _choose,
                    kind="SELECT_V2",
                    dtype=dtype,
                    condition=shapes[0],
                    first=shapes[1],
                    second=shapes[2],
                ),
            )
    yield Case(
        "SELECT_V2",
        "int8-scales",
        partial(
            _choose,
            kind="SELECT_V2",
            dtype="int8",
            condition=whole,
            first=whole,
            second=whole,
            scales="own",
        ),
        reason="what it chooses from has another scale than its output",
    )


def cases() -> Iterator[Case]:
    yield from _casts()
    yield from _quantisations()
    yield from _choices()
