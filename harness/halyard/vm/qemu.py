# SPDX-License-Identifier: Apache-2.0
"""QEMU as a process: its command line, its port on this machine, its end."""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from halyard.errors import ProgramMissing, VmError
from halyard.vm.machine_type import Machine

_MONITOR_TIMEOUT = 20.0


@dataclass(frozen=True)
class QemuOptions:
    machine: Machine
    kernel: Path
    initramfs: Path
    console: Path  # what the guest writes to its console
    log: Path  # what QEMU itself has to say
    memory: int = 1024  # MiB
    processors: int = 2
    guest_port: int = 5555
    kvm: bool = False  # instead of emulation


def command_line(options: QemuOptions, monitor: int) -> list[str]:
    """The command; `monitor` is the descriptor of the socket on which QEMU answers."""
    machine = options.machine
    kernel_arguments = (
        f"console={machine.console}",
        "quiet",
        "panic=-1",
        *machine.kernel_arguments,
        f"halyard.time={int(time.time())}",
    )
    # The kernel picks the port of this machine: one that is asked for first and then given to QEMU
    # could be taken in between. The guest can't reach out (restrict).
    network = f"user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:0-10.0.2.15:{options.guest_port}"
    return [
        machine.qemu,
        *(machine.kvm_arguments if options.kvm else machine.arguments),
        *("-accel", "kvm" if options.kvm else "tcg,thread=multi"),
        *("-smp", str(options.processors), "-m", str(options.memory)),
        *("-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"),
        *("-kernel", str(options.kernel), "-initrd", str(options.initramfs)),
        *("-append", " ".join(kernel_arguments)),
        *("-netdev", network, "-device", f"{machine.net_device},netdev=net"),
        *("-serial", _serial(options.console)),
        *("-chardev", f"socket,id=monitor,fd={monitor}"),
        *("-mon", "chardev=monitor,mode=control"),
    ]


def _serial(console: Path) -> str:
    return f"file:{console}"


@dataclass
class Qemu:
    """One that runs."""

    pid: int
    born: int  # start_time
    port: int  # of this machine, on 127.0.0.1, that leads to the guest's
    # None where it outlives this process: it has another parent then.
    child: subprocess.Popen[bytes] | None

    def is_running(self) -> bool:
        return start_time(self.pid) == self.born

    def stop(self) -> None:
        end(self.pid, self.born)
        if self.child is not None:
            self.child.wait()


def start(options: QemuOptions, *, outlive: bool) -> Qemu:
    """Starts QEMU. With `outlive` it goes on after this process; otherwise it is ended with it."""
    program = shutil.which(options.machine.qemu)
    if program is None:
        raise ProgramMissing(
            f"{options.machine.qemu} is missing: install Debian's {options.machine.qemu_package}"
        )
    ours, theirs = socket.socketpair()
    with ours:
        ours.settimeout(_MONITOR_TIMEOUT)
        with theirs, options.log.open("wb") as log:
            command = command_line(options, theirs.fileno())
            launch = _launch_to_stay if outlive else _launch_child
            pid, child = launch(command, theirs.fileno(), log, options.log)
        born = start_time(pid)
        if born is None:
            if child is not None:
                child.wait()
            raise VmError(f"QEMU did not start: {_said(options.log)}")
        running = Qemu(pid, born, 0, child)
        try:
            running.port = _forwarded_port(_ask(ours, "info usernet"), options.guest_port)
        except (OSError, ValueError) as error:
            running.stop()
            raise VmError(f"QEMU did not start: {_said(options.log) or error}") from error
        except BaseException:
            running.stop()
            raise
    return running


def _launch_child(
    command: list[str], monitor: int, log: IO[bytes], _: Path
) -> tuple[int, subprocess.Popen[bytes]]:
    child = subprocess.Popen(
        # The kernel ends it even if this process is killed.
        ["setpriv", "--pdeathsig", "TERM", *command],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        pass_fds=[monitor],
        # Ctrl-C at the terminal is for this process, which then ends QEMU in order.
        start_new_session=True,
    )
    return child.pid, child


def _launch_to_stay(
    command: list[str], monitor: int, log: IO[bytes], log_path: Path
) -> tuple[int, None]:
    pid_file = log_path.with_suffix(".pid")
    done = subprocess.run(
        [*command, "-daemonize", "-pidfile", str(pid_file)],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        pass_fds=[monitor],
    )
    if done.returncode != 0:
        raise VmError(f"QEMU did not start: {_said(log_path)}")
    return int(pid_file.read_text()), None


def _said(log: Path) -> str:
    return log.read_text(errors="replace").strip()


def _ask(connection: socket.socket, command: str) -> str:
    """One command of QEMU's human monitor, sent by its machine protocol (QMP)."""
    with connection.makefile("rw", encoding="utf-8") as stream:

        def call(request: dict[str, object]) -> object:
            stream.write(json.dumps(request) + "\n")
            stream.flush()
            while line := stream.readline():
                answer = json.loads(line)
                if "return" in answer:
                    return answer["return"]
                if "error" in answer:
                    raise ValueError(f"monitor: {answer['error']}")
            raise ValueError("it ended at once")

        stream.readline()  # its greeting
        call({"execute": "qmp_capabilities"})
        arguments = {"command-line": command}
        return str(call({"execute": "human-monitor-command", "arguments": arguments}))


def _forwarded_port(usernet: str, guest_port: int) -> int:
    # Columns: protocol with state, descriptor, this machine's address and port, the guest's.
    found = re.search(rf"TCP\[HOST_FORWARD\]\s+\d+\s+\S+\s+(\d+)\s+\S+\s+{guest_port}\b", usernet)
    if found is None:
        raise ValueError(f"no forwarded port in {usernet!r}")
    return int(found[1])


# ---- processes ----------------------------------------------------------------------------------


def start_time(pid: int) -> int | None:
    """When a process started, in clock ticks since boot; None if there is none (or a zombie).

    With its id it names a process for good: ids are used again.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The name, in parentheses, may hold anything; the fields behind it are numbers.
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in {"Z", "X"} else int(fields[19])


def with_console(console: Path) -> Sequence[int]:
    """The processes of QEMU whose guest writes to that file: where nothing is left that knows them
    by their ids."""
    wanted = _serial(console).encode()
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                words = (folder / "cmdline").read_bytes().split(b"\0")
                if wanted in words and b"-netdev" in words:
                    found.append(int(folder.name))
    return found


def end(pid: int, born: int, timeout: float = 5.0) -> None:
    """SIGTERM, then SIGKILL; returns once that process is gone."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if start_time(pid) != born:
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
        deadline = time.monotonic() + timeout
        while start_time(pid) == born and time.monotonic() < deadline:
            time.sleep(0.01)


def tail(path: Path, lines: int = 25) -> str:
    try:
        text = path.read_bytes().decode(errors="replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-lines:])


def stages(console: str) -> Sequence[tuple[str, float]]:
    """The guest's account of its start: each stage, and the seconds on its clock."""
    return [
        (name, float(seconds))
        for name, seconds in re.findall(
            r"^halyard: stage (\S+) ([\d.]+)\s*$", console, re.MULTILINE
        )
    ]


def failure(console: str) -> str | None:
    """Why the guest gave up, if it did."""
    found = re.search(
        r"^halyard: failed: (.+?)\s*$|(Kernel panic - .+?)\s*$", console, re.MULTILINE
    )
    return (found[1] or found[2]) if found else None
