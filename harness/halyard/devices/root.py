# SPDX-License-Identifier: Apache-2.0
"""Commands as root: adb's own shell where it is, or by su."""

import shlex
from collections.abc import Callable

from halyard.devices.device import CommandResult, Device

# Makes of a command one that root runs.
Wrap = Callable[[str], str]

# Of userdebug builds and of Magisk, whose su takes no program's name.
_WAYS: tuple[tuple[str, Wrap], ...] = (
    ("adb's shell is root", lambda command: command),
    ("by su", lambda command: f"su 0 sh -c {shlex.quote(command)}"),
    ("by su -c", lambda command: f"su -c {shlex.quote(command)}"),
)


class RootShell:
    """Runs commands as root where the device lets us, and as the shell's user otherwise."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self.way = ""  # how it is root, in words; empty: it is not
        self._wrap: Wrap = lambda command: command
        for way, wrap in _WAYS:
            said = device.shell(wrap("id -u"))
            if said.exit_code == 0 and said.stdout.strip() == "0":
                self.way, self._wrap = way, wrap
                return

    @property
    def is_root(self) -> bool:
        return bool(self.way)

    def shell(self, command: str, timeout: float = 60.0) -> CommandResult:
        return self._device.shell(self._wrap(command), timeout)

    def exec(self, command: str, timeout: float = 60.0) -> bytes:
        return self._device.exec(self._wrap(command), timeout)
