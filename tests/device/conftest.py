# SPDX-License-Identifier: Apache-2.0
"""One virtual device for all tests of this folder, and one service for those that do not end it.

Where the programs were built with sanitizers, what these find on the device fails the test that was
running, and what they find as the device ends, the last one.
"""

from collections.abc import Callable, Iterator, Mapping

import pytest

from halyard.devices import Service, ServiceOptions, VirtualDevice
from halyard.errors import HalyardError
from halyard.vm import initramfs, sanitizers
from halyard.vm.virtual_machine import VmOptions
from tests.device.siege import (  # noqa: F401
    honest_seconds,
    manager,
    manager_siege,
    siege,
    victim,
)

_HERE = "tests/device/"

# Claims that a sanitizer takes the ground from, by the beginning of the test's identifier.
_NOT_SANITIZED: Mapping[str, str] = {
    "test_service.py::test_its_system_calls_are_filtered_in_every_thread": "sanitizers make system "
    "calls of their own, so no filter is installed",
    "test_attacks.py::test_constants_in_models_count_as_memory": "shadow and freed memory that is "
    "kept for a while add to what a sanitized service takes",
    "test_attacks.py::test_executions_that_are_kept_count_as_memory": "as with constants",
    "test_deployment.py": "a service is deployed with its filter of system calls, and sanitizers "
    "make others",
}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    unfit = _NOT_SANITIZED if _programs_are_sanitized() else {}
    for item in items:
        if item.nodeid.startswith(_HERE):
            item.add_marker(pytest.mark.device)
            for name, reason in unfit.items():
                if item.nodeid.startswith(_HERE + name):
                    item.add_marker(pytest.mark.skip(reason=reason))
    if not config.getoption("thorough"):
        left_out = [item for item in items if item.get_closest_marker("thorough") is not None]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def _programs_are_sanitized() -> bool:
    try:
        return sanitizers.sanitized(initramfs.native_programs(VmOptions.machine).values())
    except HalyardError:
        # The device tells what is wrong with the programs.
        return False


def assert_nothing_found(device: VirtualDevice) -> None:
    """Shows what sanitizers have found since this was asked last, and fails."""
    findings = device.take_findings()
    assert not findings, f"sanitizers found on the device:\n{findings}"


@pytest.fixture(scope="session")
def say(pytestconfig: pytest.Config) -> Callable[[str], None]:
    """Prints a line while a test runs, past what captures its output: for what takes long."""
    plugins = pytestconfig.pluginmanager
    reporter = plugins.get_plugin("terminalreporter")
    capture = plugins.get_plugin("capturemanager")

    def write(text: str) -> None:
        if reporter is not None and capture is not None:
            with capture.global_and_fixture_disabled():
                reporter.ensure_newline()
                reporter.write_line(text, flush=True)

    return write


@pytest.fixture(scope="session")
def device(say: Callable[[str], None]) -> Iterator[VirtualDevice]:
    with VirtualDevice.boot(VmOptions(timeout=180)) as device:
        machine = device.machine
        stages = ", ".join(f"{name} {seconds:.1f}" for name, seconds in machine.stages.items())
        say(
            f"virtual device at {device.serial}: Linux {machine.kernel}, "
            f"booted in {machine.boot_seconds:.1f} s ({stages})"
        )
        yield device
        assert_nothing_found(device)


@pytest.fixture(autouse=True)
def _nothing_found(request: pytest.FixtureRequest) -> Iterator[None]:
    """It comes before a test's own services, so that they have ended when it looks."""
    yield
    if "device" in request.fixturenames:
        assert_nothing_found(request.getfixturevalue("device"))


@pytest.fixture(scope="module")
def service(device: VirtualDevice) -> Iterator[Service]:
    """A service of the module's. Leaving it checks that it lived to the end, and ended in order."""
    with device.start_service(ServiceOptions(backends=["CpuRef"])) as service:
        yield service
        assert service.is_running(), service.log()
        code = service.stop()
        assert_nothing_found(device)
        assert code == 0, service.log()
