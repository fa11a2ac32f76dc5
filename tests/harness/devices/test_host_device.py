# SPDX-License-Identifier: Apache-2.0
"""This machine as a device."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from halyard.devices import HostDevice, open_config
from halyard.devices.config import parse
from halyard.errors import (
    CommandFailed,
    CommandTimeout,
    DeviceError,
    ProgramMissing,
    ServiceError,
)
from halyard.programs import native
from halyard.vm.machine_type import ARM64, X86_64


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


# ---- one that stands for another architecture ----------------------------------------------------


@pytest.fixture
def arm64_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine of the other architecture, with a QEMU that says how it was called."""
    monkeypatch.setattr("platform.machine", lambda: X86_64.uname)
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / native.RUNNER).write_text("no program")
    monkeypatch.setenv("HALYARD_NATIVE_DIR_AARCH64", str(programs))
    emulator = tmp_path / ARM64.qemu_user
    emulator.write_text('#!/bin/sh\nfor word; do echo "[$word]"; done\n')
    emulator.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return programs


@pytest.mark.parametrize(
    ("fields", "cpu"), [({}, "max"), ({"cpu": "cortex-a53"}, "cortex-a53")], ids=["any", "chosen"]
)
def test_qemu_runs_the_programs_of_another_architecture(
    arm64_programs: Path, fields: dict[str, str], cpu: str
) -> None:
    with open_config(parse({"kind": "host", "machine": "arm64", **fields})) as device:
        assert device.serial == "host-arm64"
        assert device.properties()["ro.product.cpu.abi"] == "aarch64"
        said = device.shell(f"{device.put_program(native.RUNNER)} 'two words'").check().stdout
    program = str(arm64_programs / native.RUNNER)
    assert said.splitlines() == ["[-cpu]", f"[{cpu}]", f"[{program}]", "[two words]"]


def test_this_machines_architecture_needs_no_emulator(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("platform.machine", lambda: ARM64.uname)
    monkeypatch.setenv("HALYARD_NATIVE_DIR", str(tmp_path))
    (tmp_path / native.RUNNER).write_text("a program")
    with HostDevice(ARM64) as device:
        assert device.put_program(native.RUNNER) == str(tmp_path / native.RUNNER)


def test_a_missing_emulator_names_its_package(
    arm64_programs: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(ProgramMissing, match="install Debian's qemu-user-static"):
        HostDevice(ARM64)


def test_programs_that_are_not_built_for_it_are_named_with_what_builds_them(
    arm64_programs: Path,
) -> None:
    (arm64_programs / native.RUNNER).unlink()
    with HostDevice(ARM64) as device, pytest.raises(ProgramMissing, match="make arm64"):
        device.put_program(native.RUNNER)
