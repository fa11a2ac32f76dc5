# SPDX-License-Identifier: Apache-2.0
"""The one way to a device, whatever it is: a process on this machine, a virtual device, a phone."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from halyard.errors import CommandFailed
from halyard.programs import native
from halyard.programs.driver_options import DriverOptions

# Bytes done, and bytes in all.
Progress = Callable[[int, int], None]

# Where the harness puts what it brings.
WORK_FOLDER = "/data/local/tmp/halyard"


@dataclass
class Limits:
    """The most that is taken from a device, in bytes: it may send without end."""

    output: int = 512 * 2**20  # of a command
    file: int = 16 * 2**30


@dataclass(frozen=True)
class CommandResult:
    """The result of a command on a device."""

    command: str
    exit_code: int
    stdout: str
    stderr: str
    seconds: float
    serial: str

    def check(self) -> Self:
        """Itself, or CommandFailed if the exit code is not 0."""
        if self.exit_code != 0:
            raise CommandFailed(
                "the command failed",
                serial=self.serial,
                command=self.command,
                stdout=self.stdout,
                stderr=self.stderr,
                exit_code=self.exit_code,
            )
        return self


class Wire(StrEnum):
    """A way on which clients reach a service, each with a service manager of its own."""

    HIDL = "hidl"
    AIDL = "aidl"


@dataclass(frozen=True)
class ServiceOptions:
    """How to start the service."""

    instance: str = "halyard-default"  # -n
    # --wires, on each of which it has to be registered; none: those that the device's manifest has
    # the instance on, of which one will do.
    wires: Sequence[Wire] = (Wire.HIDL,)
    backends: Sequence[str] = ()  # none: the service's own default
    threads: int | None = None
    verbose: bool = True  # -v
    fast_math: bool = False
    unsupported: Sequence[int | str] = ()  # codes or names
    seccomp: str | None = None  # --seccomp; left out: see VirtualDevice.start_service()
    arguments: Sequence[str] = ()  # any others
    # The program on the device. It is pushed from this machine if it is not there.
    program: str = f"/vendor/bin/hw/{native.SERVICE}"
    timeout: float = 20.0  # seconds to wait until it is registered

    def asks_for_gpu(self) -> bool:
        """Whether a backend is named with which the service refuses --seccomp enforce."""
        return any(backend.partition(":")[0] == "GpuAcc" for backend in self.backends)

    def command_line(self) -> list[str]:
        words = [self.program]
        if self.verbose:
            words.append("-v")
        words += DriverOptions(
            self.backends, self.threads or 0, self.fast_math, self.unsupported
        ).words()
        if self.seccomp is not None:
            words += ["--seccomp", self.seccomp]
        if self.wires:
            words += ["--wires", ",".join(self.wires)]
        return [*words, "-n", self.instance, *self.arguments]


class Service(Protocol):
    """A service that this harness started. Leaving the context stops it."""

    @property
    def instance(self) -> str: ...

    @property
    def pid(self) -> int: ...

    @property
    def interfaces(self) -> Sequence[str]:
        """The services it registered, as "interface/name": HIDL's, oldest version first, then
        AIDL's."""
        ...

    def is_running(self) -> bool: ...

    def log(self) -> str:
        """All that it has written so far."""
        ...

    def report(self) -> Mapping[str, Sequence[str]]:
        """Its account of itself through binder: values by name."""
        ...

    def stop(self) -> int:
        """Ends it with SIGTERM (SIGKILL if that does not help) and gives its exit code."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


class Device(Protocol):
    """A device. Methods raise DeviceError, or one of its kinds. Not for two threads at a time.

    Output larger than `limits` ends with TooMuchSent."""

    limits: Limits

    @property
    def serial(self) -> str: ...

    @property
    def has_binder(self) -> bool:
        """Whether a service can be started and reached through binder."""
        ...

    @property
    def is_emulated(self) -> bool:
        """Whether its processor is: times say nothing of a real one then."""
        ...

    def push(self, local: Path, remote: str, *, progress: Progress | None = None) -> None:
        """Copies a file onto the device with its mode. Makes the folder it goes into."""
        ...

    def pull(self, remote: str, local: Path, *, progress: Progress | None = None) -> None: ...

    def shell(self, command: str, timeout: float = 60.0) -> CommandResult:
        """Runs a shell command without input; any exit code is a result, not an error."""
        ...

    def exec(self, command: str, timeout: float = 60.0) -> bytes:
        """Runs a shell command and gives its stdout as bytes. CommandFailed unless it exits 0."""
        ...

    def put_program(self, name: str) -> str:
        """The path, on the device, of a native program (native.program), pushed if need be."""
        ...

    def start_service(self, options: ServiceOptions | None = None) -> Service:
        """Starts the service and waits until it is registered. ServiceError with its log if not."""
        ...

    def properties(self) -> Mapping[str, str]: ...

    def temperature(self) -> float | None:
        """Degrees Celsius of the hottest thermal zone; None where the device has none."""
        ...

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
