# SPDX-License-Identifier: Apache-2.0
"""NaN and infinities in models of floats, in what they read and in their constants: CpuAcc gives
them where CpuRef does, on every instruction set of this processor, with the passes and without
(docs/numerics.md)."""

from collections.abc import Iterator

import pytest

from halyard.devices.host import HostDevice
from halyard.proto import halyard_pb2 as pb
from tests.random_models.special_values import (
    Results,
    difference,
    has_special_values,
    instruction_sets,
    poisoned,
    poisoned_chains,
    run_all,
)

_CASES = 10  # of each operation
_CHAINS = 64


@pytest.fixture(scope="module")
def host() -> Iterator[HostDevice]:
    with HostDevice() as device:
        yield device


@pytest.fixture(scope="module")
def cases(steady_seed: int) -> list[pb.TestCase]:
    return poisoned(steady_seed, _CASES) + poisoned_chains(steady_seed, _CHAINS)


@pytest.fixture(scope="module")
def expected(host: HostDevice, cases: list[pb.TestCase]) -> Results:
    return run_all(host, cases, backends=["CpuRef"], options=["--no-optimize"])


def test_passes_leave_them_where_they_are(
    host: HostDevice, cases: list[pb.TestCase], expected: Results, steady_seed: int
) -> None:
    _compare(cases, expected, run_all(host, cases, backends=["CpuRef"]), steady_seed)


@pytest.mark.parametrize("passes", [True, False], ids=["passes", "no_passes"])
def test_go_through_every_instruction_set_as_through_the_reference(
    passes: bool,
    host: HostDevice,
    cases: list[pb.TestCase],
    expected: Results,
    steady_seed: int,
) -> None:
    sets = instruction_sets(host)
    assert "portable" in sets
    for name in sets:
        options = ["--cpu-features", name, *([] if passes else ["--no-optimize"])]
        found = run_all(host, cases, backends=["CpuAcc", "CpuRef"], options=options)
        _compare(cases, expected, found, steady_seed, name)


def test_most_outputs_hold_some(cases: list[pb.TestCase], expected: Results) -> None:
    """That the models are not such as lose them."""
    touched = sum(
        has_special_values(case, result) for case, result in zip(cases, expected, strict=True)
    )
    assert touched > len(cases) / 3


def _compare(
    cases: list[pb.TestCase], expected: Results, found: Results, seed: int, where: str = ""
) -> None:
    wrong = [
        f"{case.name}: {reason}"
        for case, one, other in zip(cases, expected, found, strict=True)
        if (reason := difference(case, one, other))
    ]
    assert not wrong, "\n".join([f"{where} --seed {seed}", *wrong[:10]])
