# SPDX-License-Identifier: Apache-2.0
"""A phone whose shell is this machine's: what is particular to Android are small programs and files
that a test puts there."""

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from halyard.devices.device import CommandResult, Limits, Progress, Service, ServiceOptions
from halyard.devices.shell import parse_properties
from halyard.errors import DeviceUnreachable
from halyard.programs import native

_PLACES = re.compile(r"(?<![\w.*])/(data|vendor|proc|sys|dev|odm|system)/(?!null)")


class FakePhone:
    """A Device. Its folders lie below `root`; `tool` puts a program into its shell's path."""

    has_binder = True
    is_emulated = False
    serial = "PHONE7"

    def __init__(self, folder: Path) -> None:
        self.limits = Limits()
        self.root = folder / "root"
        self.tools = folder / "tools"
        self.tools.mkdir(parents=True)
        self.commands: list[str] = []
        self.is_gone = False
        # At which command, by a part of it or by their number, the connection breaks; and whether
        # that had run by then.
        self.breaks_at = ""
        self.lasts: int | None = None
        self.ran_before_it_broke = False
        (self.root / "data/local/tmp").mkdir(parents=True)
        for name in ("getenforce", "logcat", "dmesg", "getprop", "su", "pidof"):
            self.tool(name, "exit 1")
        self.tool("id", "echo 0")

    def path(self, remote: str) -> Path:
        return self.root / remote.lstrip("/")

    def tool(self, name: str, script: str) -> None:
        path = self.tools / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def says(self, name: str, text: str) -> None:
        """Sets a program's output, whatever it is asked."""
        said = self.tools / f"{name}.text"
        said.write_text(text)
        self.tool(name, f"cat {said}")

    def file(self, remote: str, text: str | bytes, mode: int = 0o644) -> None:
        path = self.path(remote)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        path.chmod(mode)

    def set(self, **properties: str) -> None:
        """As getprop prints them; `__` in a name stands for a dot."""
        lines = [f"[{name.replace('__', '.')}]: [{value}]" for name, value in properties.items()]
        self.says("getprop", "\n".join(lines) + "\n")

    # ---- a Device ---------------------------------------------------------------------------

    def shell(self, command: str, timeout: float = 60.0) -> CommandResult:
        self.commands.append(command)
        breaks = bool(self.breaks_at) and self.breaks_at in command
        breaks = breaks or (self.lasts is not None and len(self.commands) > self.lasts)
        if self.is_gone or (breaks and not self.ran_before_it_broke):
            self.is_gone = True
            raise DeviceUnreachable("the connection broke", serial=self.serial, command=command)
        done = self._run(command, timeout)
        if breaks:
            self.is_gone = True
            raise DeviceUnreachable("the connection broke", serial=self.serial, command=command)
        return CommandResult(
            command=command,
            exit_code=done.returncode,
            stdout=self._told(done.stdout).decode(errors="replace"),
            stderr=self._told(done.stderr).decode(errors="replace"),
            seconds=0.0,
            serial=self.serial,
        )

    def exec(self, command: str, timeout: float = 60.0) -> bytes:
        self.shell(command, timeout).check()
        return self._run(command, timeout).stdout

    def _run(self, command: str, timeout: float) -> "subprocess.CompletedProcess[bytes]":
        here = _PLACES.sub(rf"{self.root}/\1/", command)
        return subprocess.run(
            ["/bin/sh", "-c", here],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout,
            cwd=self.root,
            env={"PATH": f"{self.tools}:/usr/bin:/bin", "LC_ALL": "C"},
        )

    def _told(self, said: bytes) -> bytes:
        return said.replace(str(self.root).encode(), b"")

    def push(self, local: Path, remote: str, *, progress: Progress | None = None) -> None:
        if self.is_gone:
            raise DeviceUnreachable("the connection broke", serial=self.serial, command="push")
        self.file(remote, local.read_bytes(), local.stat().st_mode & 0o777)

    def pull(self, remote: str, local: Path, *, progress: Progress | None = None) -> None:
        local.write_bytes(self.path(remote).read_bytes())

    def put_program(self, name: str) -> str:
        return str(self.tools / name)

    def registers(self, *names: str) -> None:
        """Sets the names that the runner finds with the service managers."""
        self.says(native.RUNNER, "\n".join(names) + "\n")

    def start_service(self, options: ServiceOptions | None = None) -> Service:
        raise AssertionError("nothing here starts a service so")

    def properties(self) -> Mapping[str, str]:
        return parse_properties(self.shell("getprop").stdout)

    def temperature(self) -> float | None:
        return None

    def close(self) -> None:
        return

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
