# SPDX-License-Identifier: Apache-2.0
"""A device behind adb: a phone on USB or TCP, or the virtual device."""

import contextlib
import shlex
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Self, TypeVar

from halyard.devices import run_files
from halyard.devices.adb_link import AdbLink, tcp_link, usb_link
from halyard.devices.adb_service import AdbService
from halyard.devices.device import (
    WORK_FOLDER,
    CommandResult,
    Limits,
    Progress,
    Service,
    ServiceOptions,
)
from halyard.devices.link_errors import (
    LinkBroken,
    LinkError,
    LinkOverflow,
    LinkTimeout,
    LocalFileError,
)
from halyard.devices.shell import WrappedCommand, parse_properties, parse_temperature
from halyard.devices.shell_session import Sink
from halyard.errors import CommandTimeout, DeviceError, DeviceUnreachable, TooMuchSent
from halyard.programs import native

T = TypeVar("T")


class AdbDevice:
    """Connects when first used, and again after a connection that broke or timed out."""

    has_binder = True

    @property
    def is_emulated(self) -> bool:
        return False

    def __init__(
        self,
        link: AdbLink,
        serial: str,
        *,
        connect_timeout: float = 10.0,
        # Seconds that a transfer may stand still.
        transfer_timeout: float = 30.0,
    ) -> None:
        self.serial = serial
        self.limits = Limits()
        self._link = link
        self._connected = False
        self._connect_timeout = connect_timeout
        self._transfer_timeout = transfer_timeout
        self._folders: set[str] = set()
        self._programs: dict[str, str] = {}
        self._processor: str | None = None

    @classmethod
    def tcp(cls, host: str, port: int = 5555, key: Path | None = None) -> Self:
        return cls(tcp_link(host, port, key), f"{host}:{port}")

    @classmethod
    def usb(cls, serial: str | None = None, key: Path | None = None) -> Self:
        return cls(usb_link(serial, key), serial or "usb")

    # ---- connection -----------------------------------------------------------------------------

    def connect(self) -> None:
        if self._connected:
            return
        with self._reported("connect", self._connect_timeout):
            self._link.connect(self._connect_timeout)
        self._connected = True

    def _disconnect(self) -> None:
        self._connected = False
        self._link.close()

    def close(self) -> None:
        self._disconnect()

    def __enter__(self) -> Self:
        self.connect()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextlib.contextmanager
    def _reported(self, command: str, timeout: float) -> Iterator[None]:
        """Raises the link's errors as the device's. A link that can't be trusted is closed."""
        try:
            yield
        except LinkTimeout as error:
            self._disconnect()
            raise CommandTimeout(
                f"no end after {timeout:g} s ({error})",
                serial=self.serial,
                command=command,
                stdout=error.output.decode(errors="replace"),
            ) from error
        except LinkOverflow as error:
            # It goes on sending.
            self._disconnect()
            raise TooMuchSent(str(error), serial=self.serial, command=command) from error
        except LinkBroken as error:
            self._disconnect()
            raise DeviceUnreachable(str(error), serial=self.serial, command=command) from error
        except LocalFileError as error:
            # The device still sends, or waits for, the rest of the file.
            self._disconnect()
            raise DeviceError(str(error), serial=self.serial, command=command) from error
        except LinkError as error:
            raise DeviceError(str(error), serial=self.serial, command=command) from error
        except (KeyboardInterrupt, SystemExit):
            # Half an answer is still on its way.
            self._disconnect()
            raise

    # ---- commands -------------------------------------------------------------------------------

    def _run(self, command: str, timeout: float) -> tuple[int, bytes, bytes]:
        wrapped = WrappedCommand(command)
        self.connect()
        with self._reported(command, timeout):
            output = self._link.execute(wrapped.text(), timeout, self.limits.output)
        parsed = wrapped.parse(output)
        if parsed is None:
            raise DeviceError(
                "its output ended before the command did",
                serial=self.serial,
                command=command,
                stdout=output.decode(errors="replace"),
            )
        return parsed

    def shell(self, command: str, timeout: float = 60.0) -> CommandResult:
        start = time.monotonic()
        exit_code, stdout, stderr = self._run(command, timeout)
        return CommandResult(
            command=command,
            exit_code=exit_code,
            stdout=stdout.decode(errors="replace"),
            stderr=stderr.decode(errors="replace"),
            seconds=time.monotonic() - start,
            serial=self.serial,
        )

    def exec(self, command: str, timeout: float = 60.0) -> bytes:
        start = time.monotonic()
        exit_code, stdout, stderr = self._run(command, timeout)
        CommandResult(
            command=command,
            exit_code=exit_code,
            stdout="",
            stderr=stderr.decode(errors="replace"),
            seconds=time.monotonic() - start,
            serial=self.serial,
        ).check()
        return stdout

    def converse(self, source: int, sink: Sink) -> int:
        """One shell for all of the input, which comes from a descriptor; its exit code."""
        self.connect()
        with self._reported("a shell", self._transfer_timeout):
            return self._link.converse(source, sink, self._transfer_timeout)

    # ---- files ----------------------------------------------------------------------------------

    def push(self, local: Path, remote: str, *, progress: Progress | None = None) -> None:
        command = f"push {local} {remote}"
        if not local.is_file():
            raise DeviceError(f"{local} is not a file", serial=self.serial, command=command)
        folder = str(PurePosixPath(remote).parent)
        if folder not in self._folders:
            self.shell(f"mkdir -p {shlex.quote(folder)}").check()
            self._folders.add(folder)
        self._transfer(
            command, lambda: self._link.push(local, remote, self._transfer_timeout, progress)
        )

    def pull(self, remote: str, local: Path, *, progress: Progress | None = None) -> None:
        command = f"pull {remote} {local}"
        # An existing file stays whole until all of the new one has come.
        part = local.with_name(f".{local.name}.part")
        try:
            local.parent.mkdir(parents=True, exist_ok=True)
            self._transfer(
                command,
                lambda: self._link.pull(
                    remote, part, self._transfer_timeout, progress, self.limits.file
                ),
            )
            part.replace(local)
        except OSError as error:
            raise DeviceError(
                f"on this machine: {error}", serial=self.serial, command=command
            ) from error
        finally:
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)

    def _transfer(self, command: str, transfer: Callable[[], T]) -> T:
        self.connect()
        with self._reported(command, self._transfer_timeout):
            return transfer()

    def put_program(self, name: str) -> str:
        if name not in self._programs:
            if not self._programs:
                # Before anything else of a run goes there.
                run_files.remove_dead_runs(self)
            local = native.program(name, self._uname())
            remote = f"{WORK_FOLDER}/{local.name}"
            there = self.shell(f"sha256sum {shlex.quote(remote)}").stdout.split()
            if there[:1] != [native.digest(local)]:
                self._replace_program(local, remote)
            self._programs[name] = remote
        return self._programs[name]

    def _replace_program(self, local: Path, remote: str) -> None:
        """A program that runs can't be written, but it can be replaced; and a file that another
        run is still writing can't be run, so each pushes to one of its own."""
        new = f"{run_files.new_run()}.program"
        try:
            self.push(local, new)
            self.shell(f"chmod 755 {new} && mv -f {new} {shlex.quote(remote)}").check()
        except BaseException:
            # The caller has to know the first failure.
            with contextlib.suppress(DeviceError):
                self.shell(f"rm -f {new}")
            raise

    def _uname(self) -> str:
        """Its kernel's name of its processor, which tells whose programs it runs."""
        if self._processor is None:
            self._processor = self.shell("uname -m").check().stdout.strip()
        return self._processor

    # ---- the rest -------------------------------------------------------------------------------

    def start_service(self, options: ServiceOptions | None = None) -> Service:
        return AdbService.start(self, options or ServiceOptions())

    def properties(self) -> Mapping[str, str]:
        return parse_properties(self.shell("getprop").check().stdout)

    def temperature(self) -> float | None:
        return parse_temperature(
            self.shell("cat /sys/class/thermal/thermal_zone*/temp 2>/dev/null").stdout
        )
