# SPDX-License-Identifier: Apache-2.0
"""The virtual device in its arm64 form: the arm64 service on the binder of an arm64 kernel."""

import re
from collections.abc import Iterator

import pytest

from halyard.conformance.suite import judge
from halyard.devices import Service, ServiceOptions, VirtualDevice, config_of
from halyard.programs import native
from halyard.runner.execution import Target
from halyard.vm.machine_type import ARM64
from halyard.vm.virtual_machine import VmOptions
from tests.conftest import Bundle
from tests.device.test_golden_cases import NEWEST, nothing_left_behind

pytestmark = [pytest.mark.device, pytest.mark.newest_hal("1.3")]


@pytest.fixture(scope="module")
def device(pytestconfig: pytest.Config) -> Iterator[VirtualDevice]:
    machine = config_of("vm-arm64").emulated()
    with VirtualDevice.boot(VmOptions(machine=machine, timeout=180)) as device:
        stages = ", ".join(f"{name} {took:.1f}" for name, took in device.machine.stages.items())
        reporter = pytestconfig.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            reporter.write_line(
                f"\narm64 virtual device at {device.serial}: Linux {device.machine.kernel}, "
                f"booted in {device.machine.boot_seconds:.1f} s ({stages})"
            )
        yield device


@pytest.fixture(scope="module")
def service(device: VirtualDevice) -> Iterator[Service]:
    """Lives to the end, holds nothing of its clients then, and ends in order."""
    with device.start_service(ServiceOptions(backends=["CpuRef"])) as service:
        with nothing_left_behind(device, service):
            yield service
        assert service.stop() == 0, service.log()


def test_it_is_an_arm64_machine_with_the_programs_built_for_it(device: VirtualDevice) -> None:
    assert device.shell("uname -m").check().stdout == "aarch64\n"
    path = f"/vendor/bin/hw/{native.SERVICE}"
    there = device.shell(f"sha256sum {path}").check().stdout.split()[0]
    assert there == native.digest(native.program("service", ARM64.uname))
    assert not device.is_outdated


def test_its_service_offers_every_hal_version(service: Service) -> None:
    versions = [name.partition("@")[2].partition(":")[0] for name in service.interfaces]
    assert versions == ["1.0", "1.1", "1.2", "1.3"]


def test_its_services_system_calls_are_filtered_in_every_thread(
    device: VirtualDevice, service: Service
) -> None:
    found = device.shell(f"grep -h ^Seccomp: /proc/{service.pid}/task/*/status").check().stdout
    # 2: SECCOMP_MODE_FILTER
    assert set(found.split()) == {"Seccomp:", "2"}
    # Both are there: for starting, and for serving.
    found = device.shell(f"grep -h ^Seccomp_filters: /proc/{service.pid}/task/*/status").check()
    assert set(found.stdout.split()) == {"Seccomp_filters:", "2"}


def test_calls_that_are_not_on_the_list_end_the_caller(device: VirtualDevice) -> None:
    """The filter's own tests, on a kernel that knows arm64's system calls by arm64's numbers."""
    program = native.folder(ARM64.uname) / "hal_tests"
    if not program.is_file():
        pytest.skip("hal_tests is not built for arm64: make test-arm64 builds it")
    device.push(program, "/data/local/tmp/hal_tests")
    ran = device.shell("/data/local/tmp/hal_tests --gtest_filter='Seccomp*' 2>&1", timeout=300)
    assert ran.exit_code == 0, ran.stdout
    passed = re.search(r"\[  PASSED  \] (\d+) tests", ran.stdout)
    assert passed is not None, ran.stdout
    assert int(passed[1]) >= 10, ran.stdout


@pytest.mark.sample(100)
def test_newest_hal_synchronously(
    golden_case: str, bundle: Bundle, device: VirtualDevice, service: Service
) -> None:
    target = Target.hidl(service.instance)
    bundle.check(golden_case, lambda cases: judge(device, target, cases, NEWEST))
