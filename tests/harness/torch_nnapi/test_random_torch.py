# SPDX-License-Identifier: Apache-2.0
"""Random modules of PyTorch, exported to ONNX (from TorchScript, and from torch.export) and for
NNAPI: the driver computes what PyTorch computes of the module, floats as near as sums in another
order are, 8 bits within a step in each layer.

A module follows from --seed and its number; --random-seconds says how long it goes on. What the
file says otherwise than the module is the exporter's fault, and counted.
"""

import time
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install torch")
pytest.importorskip("onnxscript", reason="onnxscript, torch.onnx's own need, is not installed")
pytest.importorskip("onnxruntime")

import torch

from halyard.devices.host import HostDevice
from tests.random_torch.exporting import WAYS, NotExported, exported, generate
from tests.random_torch.judging import _apart, check

# PyTorch warns of its own ways.
pytestmark = pytest.mark.filterwarnings("ignore")

_BUNDLE = len(WAYS)
# Other tests share --random-seconds, too.
_SHARE = 1 / 3
_SHOWN = 8


@pytest.fixture
def host() -> Iterator[HostDevice]:
    with HostDevice() as device:
        yield device


def test_random_modules_compute_what_pytorch_computes(
    host: HostDevice, steady_seed: int, pytestconfig: pytest.Config
) -> None:
    tally, wrong, first = Counter[str](), list[str](), 0
    ends = time.monotonic() + pytestconfig.getoption("random_seconds") * _SHARE
    while not wrong and (first < 2 * _BUNDLE or time.monotonic() < ends):
        wrong = check(host, steady_seed, range(first, first + _BUNDLE), tally)
        first += _BUNDLE
    print(f"seed {steady_seed}: {first} modules, {dict(+tally)}")
    assert not wrong, f"--seed {steady_seed}:\n" + "\n".join(wrong[:_SHOWN])
    # Else nothing would have been tested.
    assert sum(count for word, count in tally.items() if word.endswith("whole")) > first / 3


@pytest.mark.parametrize("way", sorted(set(WAYS)))
def test_modules_can_be_made_again(way: str) -> None:
    first, second = (generate(7, 3, way) for _ in range(2))
    assert first.words == second.words
    for one, other in zip(first.inputs, second.inputs, strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("way", sorted(set(WAYS)))
def test_most_modules_are_exported(way: str) -> None:
    made = 0
    for number in range(4):
        try:
            made += bool(exported(5, number, way).content)
        except NotExported:
            continue
    assert made >= 2


def test_a_wrong_value_is_seen() -> None:
    wanted = np.array([1.0, 2.0, 3.0], "f4")
    assert _apart(wanted.copy(), wanted, wanted.astype("f8")) == ""
    assert _apart(wanted + np.float32(0.01), wanted, wanted.astype("f8")).startswith("3 of 3")
    bytes_of = np.array([3, 5], "u1")
    assert _apart(bytes_of + np.uint8(1), bytes_of, bytes_of) == ""
    assert _apart(bytes_of + np.uint8(2), bytes_of, bytes_of).startswith("2 of 2")
