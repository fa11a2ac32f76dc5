# SPDX-License-Identifier: Apache-2.0
"""QEMU as a process: its command line, what its guest says, its end. No machine is booted."""

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest

from halyard.errors import ProgramMissing, VmError
from halyard.vm import qemu
from halyard.vm.machine_type import ARM64, X86_64, Machine
from tests.waiting import awaited


def options(folder: Path, machine: Machine = X86_64) -> qemu.QemuOptions:
    return qemu.QemuOptions(
        machine=machine,
        kernel=folder / "kernel",
        initramfs=folder / "initramfs",
        console=folder / "console",
        log=folder / "log",
    )


def fake_qemu(folder: Path, script: str) -> Machine:
    program = folder / "qemu"
    program.write_text(f"#!{sys.executable}\n{script}")
    program.chmod(0o755)
    return dataclasses.replace(X86_64, qemu=str(program))


# Answers as QEMU's monitor does, on the descriptor that the command line names.
ANSWERING = """
import json, os, re, signal, socket, sys, time
number = int(re.search(r"id=monitor,fd=(\\d+)", " ".join(sys.argv))[1])
stream = socket.socket(fileno=number).makefile("rw")
def say(message):
    stream.write(json.dumps(message) + "\\n"); stream.flush()
say({"QMP": {}})
for line in stream:
    request = json.loads(line)
    if request["execute"] == "qmp_capabilities":
        say({"return": {}})
    else:
        say({"event": "SOMETHING"})
        columns = "TCP[HOST_FORWARD]  12  127.0.0.1 43923  10.0.2.15  5555  0  0"
        say({"return": "Hub -1 (net):\\r\\n  " + columns + "\\r\\n"})
        break
time.sleep(60)
"""


def test_the_guest_is_reached_only_from_this_machine(tmp_path: Path) -> None:
    line = " ".join(qemu.command_line(options(tmp_path), monitor=7))
    assert "hostfwd=tcp:127.0.0.1:0-10.0.2.15:5555" in line
    assert "restrict=on" in line
    assert "-accel tcg" in line
    assert "console=ttyS0" in line


def test_kvm_takes_the_processor_that_is_there(tmp_path: Path) -> None:
    words = qemu.command_line(dataclasses.replace(options(tmp_path), kvm=True), monitor=7)
    assert words[words.index("-accel") + 1] == "kvm"
    assert words[words.index("-cpu") + 1] == "host"


def test_an_arm64_machine_is_told_of_its_own_console(tmp_path: Path) -> None:
    words = qemu.command_line(options(tmp_path, ARM64), monitor=7)
    assert words[0] == "qemu-system-aarch64"
    assert "console=ttyAMA0" in words[words.index("-append") + 1].split()


def test_the_port_that_the_kernel_chose_is_asked_for(tmp_path: Path) -> None:
    running = qemu.start(options(tmp_path, fake_qemu(tmp_path, ANSWERING)), outlive=False)
    try:
        assert running.port == 43923
        assert running.is_running()
    finally:
        running.stop()
    assert not running.is_running()


def test_what_qemu_says_is_in_the_error(tmp_path: Path) -> None:
    machine = fake_qemu(tmp_path, "import sys; sys.exit('qemu: no such cpu')")
    with pytest.raises(VmError, match="QEMU did not start: qemu: no such cpu"):
        qemu.start(options(tmp_path, machine), outlive=False)


def test_a_monitor_without_a_forwarded_port_is_an_error(tmp_path: Path) -> None:
    machine = fake_qemu(tmp_path, ANSWERING.replace("HOST_FORWARD", "ESTABLISHED"))
    with pytest.raises(VmError, match="no forwarded port"):
        qemu.start(options(tmp_path, machine), outlive=False)


def test_a_missing_qemu_names_the_package(tmp_path: Path) -> None:
    machine = dataclasses.replace(X86_64, qemu="qemu-system-none")
    with pytest.raises(ProgramMissing, match="qemu-system-x86"):
        qemu.start(options(tmp_path, machine), outlive=False)


def test_a_process_that_ignores_sigterm_is_killed() -> None:
    stubborn = (
        "import signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "print('ready', flush=True)\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", stubborn], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        born = qemu.start_time(process.pid)
        assert born is not None
        qemu.end(process.pid, born, timeout=0.2)
        assert process.wait() == -9


def test_a_process_id_that_went_to_another_is_left_alone() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        born = qemu.start_time(process.pid)
        assert born is not None
        qemu.end(process.pid, born + 1)
        assert process.poll() is None
        process.communicate(b"\n")
    assert qemu.start_time(process.pid) is None


def test_a_zombie_does_not_run() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    awaited(lambda: qemu.start_time(process.pid) is None, "it counts as running", seconds=20)
    assert process.wait() == 0


CONSOLE = """[    0.1] something
halyard: stage kernel 1.50
halyard: stage modules 1.75\r
some noise halyard: stage fake 9
halyard: stage netw"""


def test_stages_are_read_from_whole_lines() -> None:
    assert qemu.stages(CONSOLE) == [("kernel", 1.5), ("modules", 1.75)]


@pytest.mark.parametrize(
    ("console", "reason"),
    [
        (CONSOLE, None),
        (CONSOLE + "\nhalyard: failed: module binder_linux\r\nmore", "module binder_linux"),
        (
            "[ 1.2] Kernel panic - not syncing: No working init found.\n[ 1.3] more",
            "Kernel panic - not syncing: No working init found.",
        ),
    ],
)
def test_a_guest_that_gave_up_says_why(console: str, reason: str | None) -> None:
    assert qemu.failure(console) == reason


def test_the_tail_of_a_missing_console_is_empty(tmp_path: Path) -> None:
    assert qemu.tail(tmp_path / "none") == ""
    (tmp_path / "console").write_bytes(b"a\nb\xff\nc\n")
    assert qemu.tail(tmp_path / "console", 2) == "b�\nc"
