# SPDX-License-Identifier: Apache-2.0
"""Random ONNX graphs around each operator that is mapped, converted and run, against ONNX Runtime.

Floats have to be close, quantised values within a step; whole numbers and truth values are exact. A
graph follows from --seed, its operator and its number; --random-seconds says how long all operators
may take together, of which these tests have a share. Nothing may end in another exception than a
reason, and no graph that runs may be said to contradict itself.
"""

import time
from collections import Counter
from collections.abc import Iterator

import pytest

from halyard.devices.host import HostDevice
from halyard.onnx.reading.operators import OPERATORS
from tests.harness.on_many_parts import run_all
from tests.random_onnx import GENERATORS, generate
from tests.random_onnx.judging import conclude, described, judged

pytest.importorskip("onnxruntime")

# Graphs that run together; an operator has at least as many.
_BUNDLE = 5
_SHARE = 1 / 6 / len(GENERATORS)

# Which stand between what is generated for others.
_BETWEEN = {"DequantizeLinear", "QuantizeLinear"}


@pytest.fixture(scope="module")
def host() -> Iterator[HostDevice]:
    with HostDevice() as device:
        yield device


@pytest.fixture(scope="module")
def tallies(pytestconfig: pytest.Config) -> Iterator[dict[str, Counter[str]]]:
    """By operator: where graphs ran. Shown at the end with -v."""
    found: dict[str, Counter[str]] = {}
    yield found
    capture = pytestconfig.pluginmanager.get_plugin("capturemanager")
    if capture is not None and pytestconfig.get_verbosity() > 0:
        with capture.global_and_fixture_disabled():
            total: Counter[str] = sum(found.values(), Counter())
            for name, tally in [*sorted(found.items()), ("all", total)]:
                words = ", ".join(f"{count} {where}" for where, count in sorted(tally.items()))
                print(f"  {name:24} {words}")


@pytest.mark.parametrize("operator", sorted(GENERATORS))
def test_random_graph_agrees_with_a_reference(
    operator: str,
    host: HostDevice,
    tallies: dict[str, Counter[str]],
    steady_seed: int,
    pytestconfig: pytest.Config,
) -> None:
    tally = tallies.setdefault(operator, Counter())
    end = time.monotonic() + pytestconfig.getoption("random_seconds") * _SHARE
    number = 0
    while number == 0 or time.monotonic() < end:
        numbers = range(number, number + _BUNDLE)
        number += _BUNDLE
        judgements = [judged(generate(steady_seed, each, operator)) for each in numbers]
        run_all(host, [each.run for each in judgements if each.run is not None])
        for each, judgement in zip(numbers, judgements, strict=True):
            has_reference = judgement.expected is not None
            tally[judgement.where if has_reference else "without a reference"] += 1
            fault = conclude(judgement)
            if fault:
                text = f"graph {each}: {fault}\n{described(judgement.graph)}\n--seed {steady_seed}"
                pytest.fail(text, pytrace=False)


def test_every_operator_has_a_generator() -> None:
    assert {name for name in OPERATORS if "::" not in name} - _BETWEEN <= set(GENERATORS)


def test_graphs_can_be_made_again() -> None:
    for operator in GENERATORS:
        first, second = (generate(7, 3, operator) for _ in range(2))
        assert first.model.SerializeToString(deterministic=True) == (
            second.model.SerializeToString(deterministic=True)
        ), operator


def test_most_graphs_have_a_reference_and_run_on_nnapi() -> None:
    """Else the others show nothing."""
    tally = Counter(
        judgement.where if judgement.expected is not None else "without a reference"
        for judgement in (judged(generate(1, number)) for number in range(120))
    )
    assert tally["without a reference"] < 12, tally
    assert tally["whole"] + tally["parts"] > 96, tally
