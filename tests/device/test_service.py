# SPDX-License-Identifier: Apache-2.0
"""The service's life on a device with a kernel binder."""

import contextlib

import pytest

from halyard.devices import ServiceOptions, VirtualDevice
from halyard.devices.adb_service import list_services, registered
from halyard.errors import HalyardError, ServiceError
from halyard.programs import native
from tests.waiting import awaited

PROGRAM = f"/vendor/bin/hw/{native.SERVICE}"


def test_it_registers_every_version_and_ends_with_0_on_sigterm(device: VirtualDevice) -> None:
    service = device.start_service()
    assert service.interfaces == [
        f"android.hardware.neuralnetworks@1.{minor}::IDevice/halyard-default" for minor in range(4)
    ]
    assert service.stop() == 0, service.log()


def test_it_registers_on_the_wires_that_the_manifest_has(device: VirtualDevice) -> None:
    with device.start_service(ServiceOptions(wires=[])) as service:
        awaited(lambda: len(registered(list_services(device), "halyard-default")) >= 5, service.log)
        both = registered(list_services(device), "halyard-default")
    assert both[-1] == "android.hardware.neuralnetworks.IDevice/halyard-default"
    with pytest.raises(ServiceError) as caught:
        device.start_service(ServiceOptions(wires=[], instance="halyard-undeclared"))
    assert caught.value.exit_code == 1
    assert "the device's manifest has the service on no wire" in caught.value.stderr


def test_its_system_calls_are_filtered_in_every_thread(device: VirtualDevice) -> None:
    with device.start_service(ServiceOptions(instance="halyard-filtered")) as service:
        status = f"/proc/{service.pid}/task/*/status"
        found = device.shell(f"grep -h ^Seccomp: {status}").check().stdout
        # 2: SECCOMP_MODE_FILTER
        assert set(found.split()) == {"Seccomp:", "2"}
        # Both are there: for starting, and for serving.
        found = device.shell(f"grep -h ^Seccomp_filters: {status}").check().stdout
        assert set(found.split()) == {"Seccomp_filters:", "2"}
    with device.start_service(ServiceOptions(seccomp="off", instance="halyard-free")) as service:
        found = device.shell(f"grep ^Seccomp: /proc/{service.pid}/status").check().stdout
        assert found.split() == ["Seccomp:", "0"]


def test_a_service_that_ended_is_no_longer_listed(device: VirtualDevice) -> None:
    with device.start_service(ServiceOptions(instance="halyard-gone")):
        assert registered(list_services(device), "halyard-gone")
    # Its place is free again at once.
    with device.start_service(ServiceOptions(instance="halyard-gone")):
        pass
    assert not registered(list_services(device), "halyard-gone")


def interfaces_of(device: VirtualDevice, instance: str) -> int:
    """How many are registered; 0 also where the manager does not answer."""
    with contextlib.suppress(HalyardError):
        return len(registered(list_services(device), instance))
    return 0


def test_it_registers_again_when_hwservicemanager_comes_back(device: VirtualDevice) -> None:
    with device.start_service(ServiceOptions(instance="halyard-kept")) as service:
        for _ in range(3):
            # init starts another one.
            device.shell("kill -9 $(pidof hwservicemanager)").check()
            awaited(lambda: interfaces_of(device, "halyard-kept") == 4, service.log)
        assert service.is_running()


def test_two_services_live_side_by_side(device: VirtualDevice) -> None:
    with (
        device.start_service(ServiceOptions(instance="halyard-one")),
        device.start_service(ServiceOptions(instance="halyard-two")),
    ):
        services = list_services(device)
        assert len(registered(services, "halyard-one")) == 4
        assert len(registered(services, "halyard-two")) == 4


def test_an_unknown_backend_ends_it_with_1_and_lists_the_known(device: VirtualDevice) -> None:
    with pytest.raises(ServiceError) as caught:
        device.start_service(ServiceOptions(backends=["CpuFast", "CpuRef"]))
    assert caught.value.exit_code == 1
    for name in ("CpuFast", "CpuRef", "CpuAcc", "GpuAcc"):
        assert name in caught.value.stderr


def test_a_backend_that_this_build_lacks_is_a_warning(device: VirtualDevice) -> None:
    with device.start_service(ServiceOptions(backends=["GpuAcc"])) as service:
        assert "GpuAcc" in service.log()
        assert service.is_running()


def test_a_gpu_and_a_filter_of_system_calls_are_not_had_together(device: VirtualDevice) -> None:
    with pytest.raises(ServiceError) as caught:
        device.start_service(ServiceOptions(backends=["GpuAcc", "CpuRef"], seccomp="enforce"))
    assert caught.value.exit_code == 1
    for word in ("--compute GpuAcc", "--seccomp enforce"):
        assert word in caught.value.stderr


@pytest.mark.parametrize("option", ["-h", "-V", "--list-operations"])
def test_it_answers_questions_without_starting(device: VirtualDevice, option: str) -> None:
    result = device.shell(f"{PROGRAM} {option}").check()
    assert result.stdout.strip()


@pytest.mark.parametrize("words", ["--no-such-option", "-n", "--number-of-threads 65", "extra"])
def test_a_wrong_option_is_refused(device: VirtualDevice, words: str) -> None:
    result = device.shell(f"{PROGRAM} {words}", timeout=20)
    assert result.exit_code == 1
    assert result.stderr.strip()
