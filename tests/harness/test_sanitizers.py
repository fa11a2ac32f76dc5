# SPDX-License-Identifier: Apache-2.0
"""Sanitized programs for the virtual device: known as such, given what they need, and heard."""

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from halyard.devices import AdbDevice, ServiceOptions, VirtualDevice
from halyard.errors import VmError
from halyard.vm import initramfs, kernel, qemu, sanitizers, virtual_machine
from halyard.vm.virtual_machine import VirtualMachine, VmOptions


def compiled(folder: Path, *flags: str) -> Path:
    (folder / "program.c").write_text("int main(void) { return 0; }")
    done = subprocess.run(
        ["cc", "program.c", "-o", "program", *flags], cwd=folder, capture_output=True, timeout=60
    )
    if done.returncode != 0:
        pytest.skip(f"no compiler with {flags}: {done.stderr.decode().strip()}")
    return folder / "program"


@pytest.mark.parametrize(
    "flags",
    [
        ["-fsanitize=address"],
        ["-fsanitize=address,undefined", "-static-libasan", "-static-libubsan"],
        ["-fsanitize=thread"],
    ],
    ids=" ".join,
)
def test_sanitized_programs_are_known_as_such(tmp_path: Path, flags: list[str]) -> None:
    assert sanitizers.sanitized([Path("/bin/ls"), compiled(tmp_path, *flags)])


def test_others_are_not(tmp_path: Path) -> None:
    assert not sanitizers.sanitized([Path("/bin/ls"), compiled(tmp_path)])


def test_findings_are_given_once_and_all(tmp_path: Path) -> None:
    command = sanitizers.TAKE_FINDINGS.replace("/data/local/tmp", str(tmp_path))
    (tmp_path / "finding.1").write_text("first\n")
    (tmp_path / "finding.22").write_text("second\n")
    (tmp_path / "other").write_text("no finding\n")
    for expected in ("first\nsecond\n", ""):
        done = subprocess.run(
            [initramfs.BUSYBOX, "sh", "-c", command], capture_output=True, text=True, timeout=20
        )
        assert (done.returncode, done.stdout) == (0, expected)
    assert (tmp_path / "other").is_file()


@pytest.mark.parametrize("sanitized", [False, True])
def test_a_machine_of_sanitized_programs_tells_them_and_has_memory_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sanitized: bool
) -> None:
    program = compiled(tmp_path, *(["-fsanitize=address"] if sanitized else []))
    built: dict[str, Any] = {}

    def build(*_: object, **options: Any) -> bytes:
        built.update(options)
        return b""

    def start(options: qemu.QemuOptions, **_: object) -> qemu.Qemu:
        built["memory"] = options.memory
        raise VmError("as far as this test goes")

    found = kernel.Kernel(release="6.1", image=tmp_path / "kernel", modules=(), origin="a test")
    monkeypatch.setattr(kernel, "find", lambda *_: found)
    monkeypatch.setattr(initramfs, "native_programs", lambda _: {"/system/bin/adbd": program})
    monkeypatch.setattr(initramfs, "build", build)
    monkeypatch.setattr(qemu, "start", start)
    with pytest.raises(VmError, match="as far as"):
        virtual_machine.boot(tmp_path, VmOptions(memory=512), lambda _: None, outlive=False)
    assert built["memory"] == (sanitizers.MEMORY if sanitized else 512)
    assert built["environment"] == (sanitizers.ENVIRONMENT if sanitized else {})


MACHINE = VirtualMachine(
    pid=0, born=0, port=1, folder="", kernel="", programs="", started=0.0, stages={}
)


@pytest.mark.parametrize(
    ("sanitized", "backend", "asked", "expected"),
    [
        (False, "CpuRef", None, "enforce"),
        (True, "CpuRef", None, "off"),
        (True, "CpuRef", "log", "log"),
        (False, "CpuRef", "off", "off"),
        (False, "GpuAcc:device=1", None, "off"),
        (False, "GpuAcc", "enforce", "enforce"),
    ],
)
def test_only_a_service_without_sanitizers_and_gpus_is_restricted(
    monkeypatch: pytest.MonkeyPatch, sanitized: bool, backend: str, asked: str | None, expected: str
) -> None:
    started: list[ServiceOptions] = []
    monkeypatch.setattr(
        AdbDevice, "start_service", lambda _, options: started.append(options), raising=True
    )
    monkeypatch.setattr(VirtualDevice, "is_outdated", False)
    device = VirtualDevice(replace(MACHINE, sanitized=sanitized))
    device.start_service(ServiceOptions(backends=[backend], seccomp=asked))
    assert [options.seccomp for options in started] == [expected]
