# SPDX-License-Identifier: Apache-2.0
"""The service's life on a device, with scripts that stand for the service and the runner."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from halyard import native
from halyard.devices.adb import AdbDevice
from halyard.devices.device import ServiceOptions
from halyard.errors import ServiceError
from tests.harness.fake_link import FakeLink

# What hwservicemanager knows is a file.
RUNNER = """#!/bin/sh
[ "$1" = --list-services ] && cat {registry}
[ "$*" = "--target hidl:halyard-default --report" ] && printf 'backend\\tA\\nbackend\\tB\\nn\\t0\\n'
exit 0
"""

SERVICE = """#!/bin/sh
echo "started with $*"
while [ $# -gt 0 ]; do [ "$1" = -n ] && name=$2; shift; done
for version in 1.0 1.1 1.2 1.3; do
    echo "android.hardware.neuralnetworks@$version::IDevice/$name"
done >{registry}
trap 'echo ending; : >{registry}; exit {code}' TERM
while :; do sleep 0.05; done
"""


@pytest.fixture
def link(tmp_path: Path) -> FakeLink:
    return FakeLink(tmp_path / "device")


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    path = tmp_path / "registry"
    path.write_text("android.hidl.manager@1.0::IServiceManager/default\n")
    return path


@pytest.fixture
def programs(tmp_path: Path, registry: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "native"
    folder.mkdir()
    write(folder / native.RUNNER, RUNNER.format(registry=registry))
    write(folder / native.SERVICE, SERVICE.format(registry=registry, code=0))
    monkeypatch.setenv("HALYARD_NATIVE_DIR", str(folder))
    return folder


@pytest.fixture
def device(link: FakeLink, programs: Path) -> Iterator[AdbDevice]:
    with AdbDevice(link, "SERIAL7") as device:
        yield device


def write(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def test_a_service_that_is_not_on_the_device_is_pushed(device: AdbDevice, link: FakeLink) -> None:
    with device.start_service():
        pass
    assert any(native.SERVICE in pushed for pushed in link.pushed)


def test_a_service_on_the_device_is_used(device: AdbDevice, link: FakeLink, registry: Path) -> None:
    there = link.path(f"/vendor/bin/hw/{native.SERVICE}")
    there.parent.mkdir(parents=True)
    write(there, SERVICE.format(registry=registry, code=0))
    with device.start_service():
        pass
    assert not any(native.SERVICE in pushed for pushed in link.pushed)


def test_a_started_service_is_registered_and_ends_in_order(device: AdbDevice) -> None:
    service = device.start_service(ServiceOptions(instance="some-name", backends=["CpuRef"]))
    assert service.interfaces == [
        f"android.hardware.neuralnetworks@1.{minor}::IDevice/some-name" for minor in range(4)
    ]
    assert service.is_running()
    os.kill(service.pid, 0)
    assert service.stop() == 0
    assert not service.is_running()
    assert service.log().splitlines() == ["started with -v -c CpuRef -n some-name", "ending"]


def test_a_service_reports_on_itself(device: AdbDevice) -> None:
    with device.start_service() as service:
        assert service.report() == {"backend": ["A", "B"], "n": ["0"]}


def test_the_exit_code_is_the_services(device: AdbDevice, programs: Path, registry: Path) -> None:
    write(programs / native.SERVICE, SERVICE.format(registry=registry, code=7))
    assert device.start_service().stop() == 7


def test_a_service_that_ends_at_once_is_an_error_with_its_log(
    device: AdbDevice, programs: Path
) -> None:
    write(programs / native.SERVICE, "#!/bin/sh\necho 'no backend Foo' >&2\nexit 1\n")
    with pytest.raises(ServiceError) as caught:
        device.start_service()
    assert caught.value.exit_code == 1
    assert "no backend Foo" in caught.value.stderr
    assert caught.value.serial == "SERIAL7"


def test_a_service_that_does_not_register_is_stopped(
    device: AdbDevice, programs: Path, tmp_path: Path
) -> None:
    pid = tmp_path / "pid"
    write(programs / native.SERVICE, f"#!/bin/sh\necho $$ >{pid}\nexec sleep 60\n")
    with pytest.raises(ServiceError, match=r"not registered 0\.3 s on"):
        device.start_service(ServiceOptions(timeout=0.3))
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_a_name_that_is_taken_is_refused(device: AdbDevice, registry: Path) -> None:
    registry.write_text("android.hardware.neuralnetworks@1.2::IDevice/halyard-default\n")
    with pytest.raises(ServiceError, match="registered already"):
        device.start_service()


def test_leaving_the_context_stops_it(device: AdbDevice) -> None:
    with pytest.raises(ZeroDivisionError), device.start_service() as service:
        raise ZeroDivisionError
    assert not service.is_running()


def test_options_are_the_services() -> None:
    options = ServiceOptions(
        instance="a-b",
        backends=("CpuAcc", "CpuRef"),
        threads=2,
        unsupported=(1, 3),
        verbose=False,
        arguments=("-d", "/data/dump"),
        program="/vendor/bin/hw/x",
    )
    assert options.command_line() == [
        "/vendor/bin/hw/x",
        *("-c", "CpuAcc,CpuRef"),
        *("--number-of-threads", "2"),
        *("-u", "1,3"),
        *("-n", "a-b"),
        *("-d", "/data/dump"),
    ]
