# SPDX-License-Identifier: Apache-2.0
"""This machine as a device: a temporary folder is its root, and the driver runs in the runner.

It can stand for a machine of another architecture, whose native programs QEMU runs then.
"""

import platform
import shlex
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from halyard import paths
from halyard.devices.bounded import OutputTooLarge, run_bounded
from halyard.devices.device import (
    WORK_FOLDER,
    CommandResult,
    Limits,
    Progress,
    Service,
    ServiceOptions,
)
from halyard.devices.shell import parse_properties, parse_temperature
from halyard.errors import CommandTimeout, DeviceError, ProgramMissing, ServiceError, TooMuchSent
from halyard.programs import native
from halyard.vm.machine_type import Machine


class HostDevice:
    """There is no binder here, so there is no service: models run in the runner's own process.

    Device paths are absolute and lie below `root`; a shell command finds `root` as its working
    folder and in $ROOT.
    """

    has_binder = False

    def __init__(self, machine: Machine | None = None, cpu: str | None = None) -> None:
        """Of this machine's own architecture, or another's; `cpu` is the processor that QEMU
        emulates then, as `-cpu help` names it, left out: one with all extensions."""
        self.serial = "host"
        self.limits = Limits()
        self._emulator: list[str] = []
        self._uname = platform.machine()
        if machine is not None and not machine.is_here():
            self.serial = f"host{machine.suffix}"
            self._uname = machine.uname
            program = shutil.which(machine.qemu_user)
            if program is None:
                # Building those brings QEMU as well.
                native.program(native.RUNNER, machine.uname)
                raise ProgramMissing(
                    f"{machine.qemu_user} is missing: install Debian's {machine.qemu_user_package}"
                )
            self._emulator = [program, "-cpu", cpu or "max"]
        self._folder = paths.Temporary("host")
        self.root = self._folder.path
        self.path(WORK_FOLDER).mkdir(parents=True)

    @property
    def is_emulated(self) -> bool:
        return bool(self._emulator)

    def path(self, remote: str) -> Path:
        """Where a device path lies on this machine. It can't leave the root."""
        path = (self.root / remote.lstrip("/")).resolve()
        if not path.is_relative_to(self.root.resolve()):
            raise DeviceError(f"{remote} leaves the device's root", serial=self.serial)
        return path

    def push(self, local: Path, remote: str, *, progress: Progress | None = None) -> None:
        target = self.path(remote)
        self._copy(local, target, f"push {local} {remote}", progress)

    def pull(self, remote: str, local: Path, *, progress: Progress | None = None) -> None:
        source, command = self.path(remote), f"pull {remote} {local}"
        if source.is_file() and source.stat().st_size > self.limits.file:
            raise TooMuchSent(
                f"the file is larger than {self.limits.file / 2**20:g} MiB",
                serial=self.serial,
                command=command,
            )
        self._copy(source, local, command, progress)

    def _copy(self, source: Path, target: Path, what: str, progress: Progress | None) -> None:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
            size = target.stat().st_size
        except OSError as error:
            raise DeviceError(str(error), serial=self.serial, command=what) from error
        if progress:
            progress(size, size)

    def _run(self, command: str, timeout: float) -> subprocess.CompletedProcess[bytes]:
        try:
            return run_bounded(
                ["/bin/sh", "-c", command],
                self.root,
                {"PATH": "/usr/bin:/bin", "ROOT": str(self.root), "LC_ALL": "C"},
                timeout,
                self.limits.output,
            )
        except OutputTooLarge as error:
            raise TooMuchSent(str(error), serial=self.serial, command=command) from error
        except subprocess.TimeoutExpired as error:
            raise CommandTimeout(
                f"no end after {timeout:g} s",
                serial=self.serial,
                command=command,
                stdout=_text(error.stdout),
                stderr=_text(error.stderr),
            ) from error

    def shell(self, command: str, timeout: float = 60.0) -> CommandResult:
        start = time.monotonic()
        done = self._run(command, timeout)
        return CommandResult(
            command=command,
            exit_code=done.returncode,
            stdout=_text(done.stdout),
            stderr=_text(done.stderr),
            seconds=time.monotonic() - start,
            serial=self.serial,
        )

    def exec(self, command: str, timeout: float = 60.0) -> bytes:
        start = time.monotonic()
        done = self._run(command, timeout)
        CommandResult(
            command=command,
            exit_code=done.returncode,
            stdout="",
            stderr=_text(done.stderr),
            seconds=time.monotonic() - start,
            serial=self.serial,
        ).check()
        return done.stdout

    def put_program(self, name: str) -> str:
        # It runs from where it lies.
        program = str(native.program(name, self._uname))
        if not self._emulator:
            return program
        emulated = self.path(f"{WORK_FOLDER}/{name}")
        emulated.write_text(f'#!/bin/sh\nexec {shlex.join([*self._emulator, program])} "$@"\n')
        emulated.chmod(0o755)
        return str(emulated)

    def start_service(self, options: ServiceOptions | None = None) -> Service:
        raise ServiceError(
            "this machine has no Android binder, so the service can't run on it; "
            "run in-process on the host, or the service on the virtual device (--device vm)",
            serial=self.serial,
            command=" ".join((options or ServiceOptions()).command_line()),
        )

    def properties(self) -> Mapping[str, str]:
        return parse_properties(
            f"[ro.product.cpu.abi]: [{self._uname}]\n"
            f"[ro.build.fingerprint]: [{platform.platform()}]\n"
        )

    def temperature(self) -> float | None:
        return parse_temperature(
            self.shell("cat /sys/class/thermal/thermal_zone*/temp 2>/dev/null").stdout
        )

    def close(self) -> None:
        self._folder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _text(data: bytes | None) -> str:
    return (data or b"").decode(errors="replace")
