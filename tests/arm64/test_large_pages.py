# SPDX-License-Identifier: Apache-2.0
"""The arm64 service on a kernel with pages of 16 KiB, as phones may have since Android 15."""

from collections.abc import Iterator

import pytest

from halyard.conformance.suite import judge
from halyard.devices import Service, ServiceOptions, VirtualDevice, Wire
from halyard.programs import native
from halyard.runner.execution import Target
from halyard.vm.machine_type import ARM64_16K
from halyard.vm.virtual_machine import VmOptions
from tests.conftest import Bundle
from tests.device.test_golden_cases import NEWEST, NEWEST_AIDL, nothing_left_behind

pytestmark = [pytest.mark.device, pytest.mark.newest_hal("1.3")]

# Those of what maps memory, and of what clients give it to map.
_MAPPING_TESTS = "*Mapping*:*Memory*:*Parcel*:*BinderDevice*"


@pytest.fixture(scope="module")
def device() -> Iterator[VirtualDevice]:
    with VirtualDevice.boot(VmOptions(machine=ARM64_16K, timeout=180)) as device:
        yield device


@pytest.fixture(scope="module")
def service(device: VirtualDevice) -> Iterator[Service]:
    """On both wires; it holds nothing of its clients at the end, and ends in order."""
    with device.start_service(ServiceOptions(wires=(Wire.HIDL, Wire.AIDL))) as service:
        with nothing_left_behind(device, service):
            yield service
        assert service.stop() == 0, service.log()


def test_its_pages_have_16_kibibytes(device: VirtualDevice) -> None:
    assert device.shell("grep -m 1 KernelPageSize /proc/self/smaps").check().stdout.split() == [
        "KernelPageSize:",
        "16",
        "kB",
    ]


def test_tests_of_memory_hold_with_them(device: VirtualDevice) -> None:
    program = native.folder(ARM64_16K.uname) / "hal_tests"
    if not program.is_file():
        pytest.skip("hal_tests is not built for arm64: make test-arm64 builds it")
    device.push(program, "/data/local/tmp/hal_tests")
    ran = device.shell(
        f"/data/local/tmp/hal_tests --gtest_brief=1 --gtest_filter='{_MAPPING_TESTS}' 2>&1",
        timeout=300,
    )
    assert ran.exit_code == 0, ran.stdout
    assert "[  PASSED  ]" in ran.stdout, ran.stdout


@pytest.mark.sample(20)
def test_over_hidl(
    golden_case: str, bundle: Bundle, device: VirtualDevice, service: Service
) -> None:
    target = Target.hidl(service.instance)
    bundle.check(golden_case, lambda cases: judge(device, target, cases, NEWEST))


@pytest.mark.sample(20)
def test_over_aidl(
    golden_case: str, bundle: Bundle, device: VirtualDevice, service: Service
) -> None:
    target = Target.aidl(service.instance)
    bundle.check(golden_case, lambda cases: judge(device, target, cases, NEWEST_AIDL))
