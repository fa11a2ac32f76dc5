# SPDX-License-Identifier: Apache-2.0
"""One virtual device for all tests of this folder, and one service for those that do not end it."""

from collections.abc import Iterator

import pytest

from halyard.devices import Service, ServiceOptions, VirtualDevice
from halyard.vm.virtual_machine import VmOptions

_HERE = "tests/device/"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith(_HERE):
            item.add_marker(pytest.mark.device)
    if not config.getoption("thorough"):
        left_out = [item for item in items if item.get_closest_marker("thorough") is not None]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session")
def device(pytestconfig: pytest.Config) -> Iterator[VirtualDevice]:
    with VirtualDevice.boot(VmOptions(timeout=180)) as device:
        machine = device.machine
        stages = ", ".join(f"{name} {seconds:.1f}" for name, seconds in machine.stages.items())
        reporter = pytestconfig.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            reporter.write_line(
                f"\nvirtual device at {device.serial}: Linux {machine.kernel}, "
                f"booted in {machine.boot_seconds:.1f} s ({stages})"
            )
        yield device


@pytest.fixture(scope="module")
def service(device: VirtualDevice) -> Iterator[Service]:
    """A service of the module's. Leaving it checks that it lived to the end, and ended in order."""
    with device.start_service(ServiceOptions(backends=["CpuRef"])) as service:
        yield service
        assert service.is_running(), service.log()
        assert service.stop() == 0, service.log()
