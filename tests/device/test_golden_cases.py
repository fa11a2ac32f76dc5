# SPDX-License-Identifier: Apache-2.0
"""Golden cases through kernel binder, as an app's runtime would send them.

Every case whose operations the service has runs asynchronously at the lowest HAL version that can
carry it, and synchronously at 1.3. There are five times as many other ways (a version in between,
the other mode, derived cases), of which a random sample runs. tests/harness/test_conformance.py
runs all cases and derived cases in-process.
"""

import contextlib
import itertools
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest

from halyard import hal_version, native
from halyard.conformance import GoldenCase
from halyard.devices import Service, VirtualDevice
from halyard.proto import halyard_pb2 as pb
from halyard.runner import Target
from tests.golden_cases import (
    SECONDS_PER_CASE,
    assert_as_expected,
    judge,
    lowest_version,
    passed,
    runnable,
    variants,
)

SAMPLED = 200


@dataclass(frozen=True, order=True)
class Way:
    """How a case reaches the service."""

    version: pb.HalVersion
    mode: pb.ExecutionMode

    def __str__(self) -> str:
        mode = pb.ExecutionMode.Name(self.mode).removeprefix("EXECUTION_MODE_").lower()
        return f"HAL {hal_version.format(self.version)} {mode}"


# executeSynchronously came with 1.2.
WAYS = [Way(version, pb.EXECUTION_MODE_ASYNC) for version in hal_version.ALL] + [
    Way(pb.HAL_VERSION_1_2, pb.EXECUTION_MODE_SYNC),
    Way(pb.HAL_VERSION_1_3, pb.EXECUTION_MODE_SYNC),
]
NEWEST = WAYS[-1]


def lowest(case: GoldenCase) -> Way:
    return Way(lowest_version(case), pb.EXECUTION_MODE_ASYNC)


@dataclass(frozen=True)
class Holdings:
    """What a service holds for its clients."""

    models: int
    descriptors: int
    shared_memories: int  # mapped

    @classmethod
    def of(cls, device: VirtualDevice, service: Service) -> "Holdings":
        [models] = service.report()["live_models"]
        descriptors = device.shell(f"ls /proc/{service.pid}/fd").check().stdout.split()
        maps = device.shell(f"cat /proc/{service.pid}/maps").check().stdout.splitlines()
        shared = [line for line in maps if line.split()[1].endswith("s")]
        return cls(int(models), len(descriptors), len(shared))


@contextlib.contextmanager
def nothing_left_behind(device: VirtualDevice, service: Service) -> Iterator[None]:
    """Within, clients come and go; afterwards the service lives, and holds no more than before."""
    before = Holdings.of(device, service)
    yield
    assert service.is_running(), service.log()
    # It hears of the last client's death by and by.
    deadline = time.monotonic() + 15
    while True:
        now = Holdings.of(device, service)
        if (
            now.models == 0
            and now.descriptors <= before.descriptors
            and now.shared_memories <= before.shared_memories
        ):
            return
        assert time.monotonic() < deadline, f"{before} has become {now}"
        time.sleep(0.2)


@pytest.fixture(scope="module")
def golden_cases(device: VirtualDevice) -> list[GoldenCase]:
    """The golden cases whose operations the service lists."""
    program = f"/vendor/bin/hw/{native.SERVICE}"
    return runnable(device.shell(f"{program} --list-operations").check().stdout)


def run(
    device: VirtualDevice,
    service: Service,
    way: Way,
    cases: Sequence[GoldenCase],
    capsys: pytest.CaptureFixture[str],
) -> None:
    options = pb.RunOptions(hal_version=way.version, mode=way.mode, timeout_s=SECONDS_PER_CASE)
    verdicts = judge(device, Target.hidl(service.instance), cases, options)
    with capsys.disabled():
        print(f"\n{way}, over binder: {passed(verdicts)}")
    assert_as_expected(verdicts)


@pytest.mark.parametrize("version", hal_version.ALL, ids=hal_version.format)
def test_cases_pass_through_the_lowest_hal_that_carries_them(
    golden_cases: list[GoldenCase],
    device: VirtualDevice,
    service: Service,
    version: pb.HalVersion,
    capsys: pytest.CaptureFixture[str],
) -> None:
    cases = [case for case in golden_cases if lowest_version(case) == version]
    assert cases
    with nothing_left_behind(device, service):
        run(device, service, Way(version, pb.EXECUTION_MODE_ASYNC), cases, capsys)


def test_cases_pass_through_the_newest_hal_synchronously(
    golden_cases: list[GoldenCase],
    device: VirtualDevice,
    service: Service,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with nothing_left_behind(device, service):
        run(device, service, NEWEST, golden_cases, capsys)


def test_a_sample_of_all_other_ways_and_variants_passes(
    golden_cases: list[GoldenCase],
    device: VirtualDevice,
    service: Service,
    capsys: pytest.CaptureFixture[str],
) -> None:
    others = [
        (way, case)
        for case in golden_cases
        for way in WAYS
        if way.version >= lowest_version(case) and way not in (lowest(case), NEWEST)
    ] + [
        (way, variant)
        for variant in variants(golden_cases)
        for way in WAYS
        if way.version >= lowest_version(variant)
    ]
    seed = random.randrange(2**32)
    with capsys.disabled():
        print(f"\n{SAMPLED} of {len(others)} with seed {seed}")
    sample = sorted(random.Random(seed).sample(others, SAMPLED), key=lambda pair: pair[0])
    with nothing_left_behind(device, service):
        for way, pairs in itertools.groupby(sample, key=lambda pair: pair[0]):
            run(device, service, way, [case for _, case in pairs], capsys)
