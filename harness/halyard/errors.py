# SPDX-License-Identifier: Apache-2.0
"""Errors. All that the harness raises on purpose are HalyardErrors."""


class HalyardError(Exception):
    """The text is for the person at the terminal: what failed, on what, and what helps."""


class ConfigError(HalyardError):
    """A device configuration, or a choice on the command line, that makes no sense."""


class NotExpressible(HalyardError):
    """A model has something that a file format, or what is written of it, has no word for."""


class PackageMissing(HalyardError):
    """A Python package that an extra brings is not installed; the text says which."""


class ProgramMissing(HalyardError):
    """A native program, or a program of the host's, that is not installed."""


class DeviceError(HalyardError):
    """Something a device was asked for failed. Carries all that is known about it."""

    def __init__(
        self,
        message: str,
        *,
        serial: str,
        command: str = "",
        stdout: str = "",
        stderr: str = "",
        exit_code: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.serial = serial
        self.command = command
        self.stdout = stdout
        self.stderr = stderr
        self.exit_code = exit_code

    def __str__(self) -> str:
        lines = [f"{self.serial}: {self.message}"]
        if self.command:
            lines.append(f"  command: {self.command}")
        if self.exit_code is not None:
            lines.append(f"  exit code: {self.exit_code}")
        for name, text in (("stdout", self.stdout), ("stderr", self.stderr)):
            if text.strip():
                lines += [f"  {name}:"] + [f"    {line}" for line in text.rstrip().splitlines()]
        return "\n".join(lines)


class CommandFailed(DeviceError):
    """A command ran and ended with another exit code than 0."""


class CommandTimeout(DeviceError):
    """A command, or a transfer, did not end in the time it was given."""


class TooMuchSent(DeviceError):
    """A device sent more than is taken from it; see Device.limits."""


class DeviceUnreachable(DeviceError):
    """There is no connection, or it broke."""


class ServiceError(DeviceError):
    """The service did not start, or ended by itself; `stderr` holds the end of its log."""


class RunnerDied(DeviceError):
    """The program that runs cases ended before it was done, by no wish of its own; it can be
    started again for the cases that it has left out."""


class TargetUnreachable(DeviceError):
    """There is no service of the name that was asked for."""


class VmError(HalyardError):
    """The virtual device did not boot or died; carries the end of its console."""

    def __init__(self, message: str, *, console: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.console = console

    def __str__(self) -> str:
        tail = self.console.rstrip().splitlines()[-25:]
        if not tail:
            return self.message
        return "\n".join([self.message, "  console:"] + [f"    {line}" for line in tail])
