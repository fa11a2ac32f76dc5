# SPDX-License-Identifier: Apache-2.0
"""The golden cases through NNAPI's C functions: the runner loads the library as any program does,
and tells it each model call by call."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from halyard.conformance.suite import Way, judge
from halyard.devices.host import HostDevice
from halyard.programs import native
from halyard.runner.execution import Target
from tests.conftest import Bundle


@pytest.fixture(scope="module")
def host() -> Iterator[HostDevice]:
    with HostDevice() as device:
        yield device


def built(name: str) -> Path:
    path = native.folder() / name
    if not path.exists():
        pytest.skip(f"there is no {path}: sanitizer and static builds have none")
    return path


def test_of_libneuralnetworks(golden_case: str, bundle: Bundle, host: HostDevice) -> None:
    target = Target.ndk(built("libneuralnetworks.so"))
    bundle.check(golden_case, lambda cases: judge(host, target, cases, Way()))


def test_of_a_support_library(golden_case: str, bundle: Bundle, host: HostDevice) -> None:
    target = Target.ndk_support_library(built("libhalyard_nnapi_sl.so"))
    bundle.check(golden_case, lambda cases: judge(host, target, cases, Way()))


def test_cut_between_devices(
    golden_case: str, bundle: Bundle, host: HostDevice, seed: int, listed_operations: set[str]
) -> None:
    """Of two devices the first refuses half of all operations, others each time; the second one has
    these."""
    names = sorted(listed_operations)
    refused = ",".join(random.Random(seed).sample(names, len(names) // 2))
    devices = f"in-process --name first -u {refused}; in-process --name second -c CpuRef"
    target = Target.ndk(built("libneuralnetworks.so"), devices)
    bundle.check(golden_case, lambda cases: judge(host, target, cases, Way()))
