# SPDX-License-Identifier: Apache-2.0
"""NNAPI's C functions over services, through kernel binder: golden cases that the runner tells the
library call by call, as an app does."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from halyard.conformance.suite import Suite, Way, judge
from halyard.devices import WORK_FOLDER, Service, ServiceOptions, VirtualDevice, Wire
from halyard.errors import TargetUnreachable
from halyard.programs import native
from halyard.proto import halyard_pb2 as pb
from halyard.runner.execution import Target, run_cases
from tests.conftest import Bundle
from tests.device.test_golden_cases import nothing_left_behind

if not (native.folder() / native.LIBRARY).exists():
    pytest.skip("sanitizer and static builds have no library", allow_module_level=True)


@pytest.fixture(scope="module")
def library(device: VirtualDevice) -> Path:
    """Where it lies on the device."""
    remote = f"{WORK_FOLDER}/{native.LIBRARY}"
    device.push(native.library(native.LIBRARY), remote)
    return Path(remote)


@pytest.mark.newest_hal("1.3")
@pytest.mark.sample(120)
def test_over_hidl(
    golden_case: str, bundle: Bundle, device: VirtualDevice, service: Service, library: Path
) -> None:
    target = Target.ndk(library, f"hidl:{service.instance}")
    bundle.check(golden_case, lambda cases: judge(device, target, cases, Way()))


@pytest.fixture(scope="module")
def refused(listed_operations: set[str], seed: int) -> list[str]:
    """A half of all operations."""
    names = sorted(listed_operations)
    return random.Random(seed).sample(names, len(names) // 2)


@pytest.fixture(scope="module")
def aidl_service(device: VirtualDevice, refused: list[str]) -> Iterator[Service]:
    options = ServiceOptions(wires=[Wire.AIDL], backends=["CpuRef"], unsupported=refused)
    with device.start_service(options) as service, nothing_left_behind(device, service):
        yield service


@pytest.mark.newest_hal("AIDL-4")
@pytest.mark.sample(120)
def test_cut_between_aidl_and_the_process(
    golden_case: str, bundle: Bundle, device: VirtualDevice, aidl_service: Service, library: Path
) -> None:
    """What the service refuses runs in the program, with tensors that both of them reach."""
    devices = f"aidl:{aidl_service.instance}; in-process -c CpuRef"
    target = Target.ndk(library, devices)
    bundle.check(golden_case, lambda cases: judge(device, target, cases, Way()))


def test_a_service_that_is_not_there_leaves_no_devices(
    device: VirtualDevice, library: Path, suite: Suite
) -> None:
    [case] = suite.load(["add"])
    target = Target.ndk(library, "hidl:nowhere")
    with pytest.raises(TargetUnreachable) as caught:
        run_cases(device, [case.test_case], pb.RunOptions(), target)
    assert "device nowhere: " in caught.value.stderr
    assert "IDevice/nowhere is not registered" in caught.value.stderr
