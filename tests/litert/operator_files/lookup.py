# SPDX-License-Identifier: Apache-2.0
"""Rows that are found by number or by key, and projections by hashing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from tests.litert.operator_files.case import Case, Draft
from tests.random_tflite.sketch import Value


def _embedding(of: Draft, stored: str, result: str = "float32") -> None:
    rows = np.asarray([3, 0, 3, 1], "int32")
    numbers = of.given(rows.shape, "int32", rows)
    shape = (5, 2, 3)
    if stored == "float32":
        table: Value | int = of.constant(of.numbers(shape, "float32"))
    elif stored == "given":
        table = of.given(shape, "float32")
    elif stored == "same":
        table = of.constant(of.numbers(shape, result))
    elif stored == "channels":
        table = of.hybrid((5, 6), [0.01 * (each + 1) for each in range(5)])
    elif stored == "int4":
        table = of.hybrid((5, 6), [0.02], bits=4)
    elif stored == "uint8":
        table = of.constant(of.numbers(shape, "uint8"))
    else:
        table = of.hybrid(shape, [0.02])
    output = of.same(table) if isinstance(table, Value) and stored == "same" else of.result(result)
    of.emit("EMBEDDING_LOOKUP", [numbers, table], [output])


def _hashtable(of: Draft, dtype: str, shape: Sequence[int] = (4, 3)) -> None:
    keys = np.asarray([-3, 1, 4, 9], "int32")
    lookups = np.asarray([4, 2, -3, 9, 99], "int32")
    given = [of.given((5,), "int32", lookups), of.given((4,), "int32", keys)]
    values = of.given(tuple(shape), dtype)
    hits = of.fixed("uint8", 1.0, 0)
    of.emit("HASHTABLE_LOOKUP", [*given, values], [of.same(values), hits])


def _projection(of: Draft, kind: int, dtype: str = "float32", weighted: bool = False) -> None:
    hashes = of.constant(of.numbers((3, 4), "float32"))
    data = of.given((5, 2), dtype)
    weights = [of.given((5,), "float32")] if weighted else []
    given = [hashes, data, *weights]
    of.emit("LSH_PROJECTION", given, [of.result("int32")], "LSHProjectionOptions", type=kind)


def _lookups() -> Iterator[Case]:
    kind = "EMBEDDING_LOOKUP"
    for stored in ("float32", "given", "int8", "channels", "int4"):
        hybrid = 1e-5 if stored in ("int8", "channels", "int4") else 0.0
        yield Case(kind, stored, partial(_embedding, stored=stored), hybrid=hybrid)
    for result in ("int8", "int32"):
        yield Case(kind, f"same-{result}", partial(_embedding, stored="same", result=result))
    yield Case(
        kind,
        "uint8",
        partial(_embedding, stored="uint8"),
        reason="its table is UINT8, and its result FLOAT32",
        runs=0,
    )
    for dtype in ("float32", "int32"):
        yield Case("HASHTABLE_LOOKUP", dtype, partial(_hashtable, dtype=dtype))
    yield Case("HASHTABLE_LOOKUP", "list", partial(_hashtable, dtype="float32", shape=(4,)))
    for number, name in ((1, "sparse"), (2, "dense")):
        for dtype in ("float32", "int32"):
            for weighted in (False, True):
                yield Case(
                    "LSH_PROJECTION",
                    f"{dtype}-{name}{'-weighted' * weighted}",
                    partial(_projection, kind=number, dtype=dtype, weighted=weighted),
                )
    yield Case(
        "LSH_PROJECTION",
        "unknown",
        partial(_projection, kind=0),
        reason="its type is 0",
        runs=0,
    )


def cases() -> Iterator[Case]:
    yield from _lookups()
