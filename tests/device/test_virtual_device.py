# SPDX-License-Identifier: Apache-2.0
"""The virtual device as a device."""

import hashlib
import random
import time
from pathlib import Path

import pytest

from halyard.devices import VirtualDevice
from halyard.errors import CommandTimeout, DeviceError
from halyard.programs import native
from halyard.vm import initramfs
from tests.waiting import awaited


def test_it_runs_debians_kernel_with_all_binders(device: VirtualDevice) -> None:
    assert device.machine.kernel in device.shell("uname -r").check().stdout
    for node in ("/dev/binder", "/dev/hwbinder", "/dev/vndbinder"):
        assert device.shell(f"[ -c {node} ]").exit_code == 0, node


def test_stages_of_the_boot_are_known(device: VirtualDevice) -> None:
    stages = {"kernel", "modules", "network", "hwservicemanager", "servicemanager", "adbd"}
    assert stages <= set(device.machine.stages)
    assert all(seconds >= 0 for seconds in device.machine.stages.values())


def test_its_clock_is_this_machines(device: VirtualDevice) -> None:
    assert abs(int(device.shell("date +%s").check().stdout) - time.time()) < 120


def test_properties_are_androids(device: VirtualDevice) -> None:
    properties = device.properties()
    assert properties["ro.build.version.sdk"] == "34"
    assert properties["hwservicemanager.ready"] == "true"
    assert properties["servicemanager.ready"] == "true"


def test_a_property_can_be_set(device: VirtualDevice) -> None:
    device.shell("setprop debug.halyard.test 'some value'").check()
    assert device.properties()["debug.halyard.test"] == "some value"


def test_the_service_lies_where_a_vendor_image_has_it(device: VirtualDevice) -> None:
    path = f"/vendor/bin/hw/{native.SERVICE}"
    there = device.shell(f"sha256sum {path}").check().stdout.split()[0]
    assert there == native.digest(native.program("service"))


def test_the_vintf_fragment_lies_where_a_vendor_image_has_it(device: VirtualDevice) -> None:
    listed = device.shell("cat /vendor/etc/vintf/manifest/*.xml").check().stdout
    assert "android.hardware.neuralnetworks" in listed


def test_it_knows_which_programs_it_runs(device: VirtualDevice) -> None:
    assert device.machine.programs == initramfs.digest(
        initramfs.native_programs(device.machine.machine)
    )


def test_a_command_gives_its_streams_and_exit_code(device: VirtualDevice) -> None:
    result = device.shell("echo out; echo err >&2; exit 7")
    assert (result.stdout, result.stderr, result.exit_code) == ("out\n", "err\n", 7)


def test_bytes_come_through_unchanged(device: VirtualDevice) -> None:
    assert device.exec("printf '\\000\\r\\n\\377'") == b"\0\r\n\xff"


@pytest.mark.parametrize("size", [0, 1, 65_536, 3_000_001])
def test_files_go_there_and_back(device: VirtualDevice, tmp_path: Path, size: int) -> None:
    content = random.Random(size).randbytes(size)
    (tmp_path / "there").write_bytes(content)
    steps: list[tuple[int, int]] = []
    remote = f"/data/local/tmp/transfer/{size}"
    device.push(tmp_path / "there", remote, progress=lambda *step: steps.append(step))
    listed = device.shell(f"sha256sum {remote}").check().stdout
    assert listed.split()[0] == hashlib.sha256(content).hexdigest()
    device.pull(remote, tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == content
    if size:
        assert steps[-1] == (size, size)


def test_a_pushed_program_keeps_its_mode(device: VirtualDevice, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/system/bin/sh\necho ran\n")
    script.chmod(0o755)
    device.push(script, "/data/local/tmp/script")
    assert device.shell("/data/local/tmp/script").check().stdout == "ran\n"


def test_a_missing_file_is_an_error_with_serial_and_path(
    device: VirtualDevice, tmp_path: Path
) -> None:
    with pytest.raises(DeviceError) as caught:
        device.pull("/data/nothing", tmp_path / "x")
    assert caught.value.serial == device.serial
    assert "/data/nothing" in caught.value.command


def test_a_folder_that_can_not_be_made_is_an_error(device: VirtualDevice, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("x")
    with pytest.raises(DeviceError, match="exit code"):
        device.push(tmp_path / "x", "/proc/nothing/x")


def test_a_command_without_end_times_out_and_the_device_goes_on(device: VirtualDevice) -> None:
    with pytest.raises(CommandTimeout) as caught:
        device.shell("echo begun; sleep 30", timeout=1)
    assert "begun" in caught.value.stdout
    assert device.shell("echo alive").stdout == "alive\n"


def test_two_connections_work_at_a_time(device: VirtualDevice) -> None:
    with VirtualDevice(device.machine) as second:
        assert second.shell("echo two").stdout == "two\n"
        assert device.shell("echo one").stdout == "one\n"
    assert device.shell("echo still").stdout == "still\n"


@pytest.mark.parametrize("name", ["hwservicemanager", "servicemanager"])
def test_a_daemon_that_dies_is_started_again(device: VirtualDevice, name: str) -> None:
    before = device.shell(f"pidof {name}").check().stdout.split()
    device.shell(f"kill -9 {before[0]}").check()
    awaited(
        lambda: device.shell(f"pidof {name}").stdout.split() not in ([], before),
        f"{name} stays away",
        seconds=20,
    )
