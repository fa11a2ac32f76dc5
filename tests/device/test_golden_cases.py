# SPDX-License-Identifier: Apache-2.0
"""Golden cases through kernel binder, as an app's runtime would send them.

A random sample of the cases whose operations the service has runs asynchronously at the lowest HAL
version that can carry them, and synchronously at 1.3; another sample runs one of the many other
ways (a version in between, the other mode, derived cases). `--no-sample` runs all of them, and
tests/harness/conformance/test_conformance.py runs all cases and derived cases in-process.
"""

import contextlib
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest

from halyard.cases import Case
from halyard.conformance.suite import WAYS, Way, judge, judge_each, lowest_versions
from halyard.devices import Service, ServiceOptions, VirtualDevice, Wire
from halyard.proto import halyard_pb2 as pb
from halyard.runner.execution import Target
from tests.conftest import Bundle
from tests.waiting import awaited

pytestmark = pytest.mark.newest_hal("1.3")  # a HIDL service has no later one

NEWEST = Way(pb.HAL_VERSION_1_3, pb.EXECUTION_MODE_SYNC)
NEWEST_AIDL = Way(pb.HAL_VERSION_AIDL_4, pb.EXECUTION_MODE_SYNC)


@dataclass(frozen=True)
class Holdings:
    """The resources that a service holds for its clients."""

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
    now = before

    def holds_no_more() -> bool:
        nonlocal now
        now = Holdings.of(device, service)
        return (
            now.models == 0
            and now.descriptors <= before.descriptors
            and now.shared_memories <= before.shared_memories
        )

    awaited(holds_no_more, lambda: f"{before} has become {now}", seconds=15)


@pytest.fixture(scope="module", autouse=True)
def _nothing_left_behind(device: VirtualDevice, service: Service) -> Iterator[None]:
    with nothing_left_behind(device, service):
        yield


@pytest.mark.sample(150)
def test_lowest_hal_asynchronously(
    golden_case: str, bundle: Bundle, device: VirtualDevice, service: Service
) -> None:
    """Through the lowest HAL version that carries the case."""
    bundle.check(
        golden_case,
        lambda cases: judge_each(
            device,
            Target.hidl(service.instance),
            cases,
            {name: Way(version) for name, version in lowest_versions(cases).items()},
        ),
    )


@pytest.mark.sample(150)
def test_newest_hal_synchronously(
    golden_case: str, bundle: Bundle, device: VirtualDevice, service: Service
) -> None:
    target = Target.hidl(service.instance)
    bundle.check(golden_case, lambda cases: judge(device, target, cases, NEWEST))


@pytest.mark.sample(100)
def test_any_other_way(
    any_case: str, bundle: Bundle, seed: int, device: VirtualDevice, service: Service
) -> None:
    target = Target.hidl(service.instance)
    bundle.check(any_case, lambda cases: judge_each(device, target, cases, other_ways(cases, seed)))


@pytest.fixture(scope="module")
def aidl_service(device: VirtualDevice) -> Iterator[Service]:
    """One on AIDL alone, under the name that the device declares."""
    options = ServiceOptions(wires=[Wire.AIDL], backends=["CpuRef"])
    with (
        device.start_service(options) as service,
        nothing_left_behind(device, service),
    ):
        yield service


@pytest.mark.newest_hal("AIDL-4")
@pytest.mark.sample(150)
def test_newest_aidl(
    golden_case: str, bundle: Bundle, device: VirtualDevice, aidl_service: Service
) -> None:
    """Those of the later operations among them, 102 to 105."""
    target = Target.aidl(aidl_service.instance)
    bundle.check(golden_case, lambda cases: judge(device, target, cases, NEWEST_AIDL))


@pytest.mark.newest_hal("AIDL-4")
@pytest.mark.sample(100)
def test_lowest_aidl(
    golden_case: str, bundle: Bundle, device: VirtualDevice, aidl_service: Service
) -> None:
    """Through the lowest version of AIDL that carries the case."""
    bundle.check(
        golden_case,
        lambda cases: judge_each(
            device,
            Target.aidl(aidl_service.instance),
            cases,
            {
                name: Way(max(version, pb.HAL_VERSION_AIDL_1), pb.EXECUTION_MODE_SYNC)
                for name, version in lowest_versions(cases).items()
            },
        ),
    )


def other_ways(cases: Sequence[Case], seed: int) -> dict[str, Way]:
    """For each case one of the ways, at random, that the tests above don't take."""
    lowest = lowest_versions(cases)
    return {
        name: random.Random(f"{seed} {name}").choice(
            [way for way in WAYS if way.version >= version and way not in (Way(version), NEWEST)]
            or [NEWEST]
        )
        for name, version in lowest.items()
    }
