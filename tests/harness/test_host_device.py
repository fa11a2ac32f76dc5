# SPDX-License-Identifier: Apache-2.0
"""This machine as a device."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from halyard.devices import HostDevice
from halyard.errors import CommandFailed, CommandTimeout, DeviceError, ServiceError


@pytest.fixture
def device() -> Iterator[HostDevice]:
    with HostDevice() as device:
        yield device


def test_files_go_there_and_back(device: HostDevice, tmp_path: Path) -> None:
    local = tmp_path / "file"
    local.write_bytes(bytes(range(256)))
    local.chmod(0o750)
    device.push(local, "/data/local/tmp/folder/file")
    assert device.path("/data/local/tmp/folder/file").stat().st_mode & 0o777 == 0o750
    device.pull("/data/local/tmp/folder/file", tmp_path / "back/file")
    assert (tmp_path / "back/file").read_bytes() == bytes(range(256))


def test_paths_stay_below_the_root(device: HostDevice, tmp_path: Path) -> None:
    local = tmp_path / "file"
    local.write_text("x")
    with pytest.raises(DeviceError, match="leaves the device's root"):
        device.push(local, "/data/../../outside")


def test_commands_run_in_the_root(device: HostDevice) -> None:
    assert device.shell('ls -d data && [ "$ROOT" = "$PWD" ]').check().stdout == "data\n"


def test_a_command_gives_its_streams_and_exit_code(device: HostDevice) -> None:
    result = device.shell("echo out; echo err >&2; exit 4")
    assert (result.stdout, result.stderr, result.exit_code) == ("out\n", "err\n", 4)


def test_exec_raises_on_failure(device: HostDevice) -> None:
    assert device.exec("printf '\\377'") == b"\xff"
    with pytest.raises(CommandFailed, match="host: the command failed"):
        device.exec("exit 1")


def test_a_timeout_carries_command_and_output(device: HostDevice) -> None:
    with pytest.raises(CommandTimeout) as caught:
        device.shell("echo begun; sleep 60", timeout=0.3)
    assert caught.value.serial == "host"
    assert caught.value.stdout == "begun\n"


def test_a_missing_file_is_an_error_with_its_name(device: HostDevice, tmp_path: Path) -> None:
    with pytest.raises(DeviceError, match="/data/nothing"):
        device.pull("/data/nothing", tmp_path / "x")


def test_a_service_is_refused_with_the_way_out(device: HostDevice) -> None:
    with pytest.raises(ServiceError, match="--device vm"):
        device.start_service()


def test_the_root_goes_with_the_device(device: HostDevice) -> None:
    root = device.root
    device.close()
    assert not root.exists()
