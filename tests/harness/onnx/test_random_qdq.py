# SPDX-License-Identifier: Apache-2.0
"""Random ONNX graphs of 8 bits: of what comes to an operator the driver makes what ONNX Runtime
makes of it with real numbers, but for a step.

A graph follows from --seed and its number; --random-seconds says how long it goes on.
"""

import time
from collections import Counter
from collections.abc import Iterator

import pytest

pytest.importorskip("onnxruntime")

from halyard.devices.host import HostDevice
from tests.random_qdq import STAGES, generate
from tests.random_qdq.judging import check

_BUNDLE = 25
# Other tests share --random-seconds, too.
_SHARE = 1 / 6
_SHOWN = 8


@pytest.fixture
def host() -> Iterator[HostDevice]:
    with HostDevice() as device:
        yield device


def test_random_graphs_of_8_bits_are_within_a_step(
    host: HostDevice, steady_seed: int, pytestconfig: pytest.Config
) -> None:
    tally, wrong, first = Counter[str](), list[str](), 0
    ends = time.monotonic() + pytestconfig.getoption("random_seconds") * _SHARE
    while not wrong and (first < 2 * _BUNDLE or time.monotonic() < ends):
        wrong = check(host, steady_seed, range(first, first + _BUNDLE), tally)
        first += _BUNDLE
    print(f"seed {steady_seed}: {dict(tally)}")
    assert not wrong, f"--seed {steady_seed}:\n" + "\n".join(wrong[:_SHOWN])
    # Were they the host's, nothing would have been tested.
    assert tally["whole"] > first * 0.9
    assert tally["a step off"] < tally["values"] / 50


def test_graphs_can_be_made_again() -> None:
    for number in range(10):
        first, second = (generate(7, number) for _ in range(2))
        assert first.model.SerializeToString(deterministic=True) == (
            second.model.SerializeToString(deterministic=True)
        )


def test_every_stage_is_drawn() -> None:
    drawn = {node.op_type for number in range(250) for node in generate(5, number).model.graph.node}
    assert len(drawn & set(STAGES)) > 0.9 * len(set(STAGES) - {"Itself"})
