# SPDX-License-Identifier: Apache-2.0
"""INT64 of ONNX on NNAPI, which has 32 bits: values that are known to fit are computed there,
others on the host."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto

from halyard.model import Array
from tests.harness.on_parts import operations
from tests.harness.onnx_cases import Case, check, floats
from tests.harness.onnx_models import Graph

pytest.importorskip("onnxruntime")

INT64 = TensorProto.INT64


# ---- whole numbers ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [TensorProto.INT64, TensorProto.INT32])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_computed_indices_count_from_the_end_where_they_are_negative(
    axis: int, kind: int, tmp_path: Path
) -> None:
    table = floats(4, 4, 3)
    dtype = "i8" if kind == TensorProto.INT64 else "i4"
    where = np.array([[-1, 0], [-3, 2]], dtype)

    def build(g: Graph) -> str:
        return g.op("Gather", g.constant(table), g.input("ids", where.shape, kind), axis=axis)

    check(Case(13, build, [where], np.take(table, where, axis=axis)), tmp_path)


def test_a_computed_scalar_takes_one_place(tmp_path: Path) -> None:
    table, where = floats(4, 3), np.array(-2)

    def build(g: Graph) -> str:
        return g.op("Gather", g.constant(table), g.input("id", (), INT64), axis=0)

    check(Case(13, build, [where], table[-2]), tmp_path)


def test_places_that_an_operator_found_are_not_looked_at_again(tmp_path: Path) -> None:
    table, x = floats(5, 3), floats(2, 5, seed=1)

    def build(g: Graph) -> str:
        return g.op("Gather", g.constant(table), g.op("ArgMax", g.input("x", (2, 5)), axis=1))

    conversion = check(Case(13, build, [x], table[x.argmax(axis=1)][:, None]), tmp_path)
    assert "SELECT" not in operations(conversion)


WIDE = np.array([2**31 - 1, -(2**31), 7])
ARITHMETIC: dict[str, tuple[Callable[[Graph, str], str], Array]] = {
    "add": (lambda g, x: g.op("Add", x, g.ints(1)), WIDE + 1),
    "sub": (lambda g, x: g.op("Sub", g.ints(-2), x), -2 - WIDE),
    "mul": (lambda g, x: g.op("Mul", x, x), WIDE * WIDE),
    "neg": (lambda g, x: g.op("Neg", x), -WIDE),
    "abs": (lambda g, x: g.op("Abs", x), np.abs(WIDE)),
}


@pytest.mark.parametrize("name", ARITHMETIC)
def test_int64_that_may_go_beyond_32_bits_is_left_to_the_host(name: str, tmp_path: Path) -> None:
    build, expected = ARITHMETIC[name]
    case = Case(13, lambda g: build(g, g.input("x", (3,), INT64)), [WIDE], expected, mapped=False)
    [reason] = [each.reason for each in check(case, tmp_path).unmapped]
    assert "is of INT64 and may go beyond 32 bits, in which NNAPI computes" in reason


def test_reals_become_int64_on_the_host(tmp_path: Path) -> None:
    x = np.array([1e10, -3e9, 1.5], "f4")
    build = lambda g: g.op("Cast", g.input("x", (3,)), to=INT64)  # noqa: E731
    check(Case(13, build, [x], x.astype("i8"), mapped=False), tmp_path)


def test_what_reads_int64_beyond_32_bits_is_left_to_the_host_as_well(tmp_path: Path) -> None:
    """It would not come into NNAPI's part."""

    def build(g: Graph) -> str:
        wide = g.op("Mul", g.input("x", (3,), INT64), g.ints(2))
        return g.op("Reshape", wide, g.ints(3, 1))

    case = Case(13, build, [WIDE], (WIDE * 2)[:, None], mapped=False)
    assert len(check(case, tmp_path).unmapped) == 2


def test_reals_of_int64_beyond_32_bits_are_the_hosts(tmp_path: Path) -> None:
    def build(g: Graph) -> str:
        return g.op("Cast", g.op("Mul", g.input("x", (3,), INT64), g.ints(2)), to=TensorProto.FLOAT)

    case = Case(13, build, [WIDE], (WIDE * 2).astype("f4"), mapped=False)
    assert len(check(case, tmp_path).unmapped) == 2


def test_places_that_the_host_computed_are_taken(tmp_path: Path) -> None:
    """They are within the table, or the file would not run at all."""
    table, x = floats(5, 3), np.array([1.5, -2.25, 4.0], "f4")

    def build(g: Graph) -> str:
        return g.op("Gather", g.constant(table), g.op("Cast", g.input("x", (3,)), to=INT64))

    conversion = check(Case(13, build, [x], table[x.astype(int)], mapped=False), tmp_path)
    assert [each.operator.split()[1] for each in conversion.unmapped] == ["Cast"]


def test_int64_whose_range_is_known_is_computed_on_nnapi(tmp_path: Path) -> None:
    x = floats(2, 5)

    def build(g: Graph) -> str:
        found = g.op("Add", g.op("ArgMax", g.input("x", (2, 5)), axis=1), g.ints(4))
        return g.op("Mul", found, g.op("Neg", found))

    found = x.argmax(axis=1)[:, None] + 4
    check(Case(13, build, [x], -found * found), tmp_path)


def test_ranges_of_a_long_chain_are_found_in_no_time(tmp_path: Path) -> None:
    """Each value is read twice: looked at once each, or a graph of 200 operators takes for ever."""

    def build(g: Graph) -> str:
        x = g.op("ArgMax", g.input("x", (2, 5)), axis=1)
        for _ in range(200):
            x = g.op("Max", x, g.op("Min", x, x))
        return x

    x = floats(2, 5)
    check(Case(13, build, [x], x.argmax(axis=1)[:, None]), tmp_path)
