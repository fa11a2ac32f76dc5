# SPDX-License-Identifier: Apache-2.0
"""What a device's shell gives, and how to ask it for more than adb carries.

adb's exec service carries one stream of bytes and no exit code. A command is therefore wrapped:
its stderr goes into a file on the device, and a line with a random marker follows its stdout, with
the exit code, and then the stderr.
"""

import re
import secrets
import shlex
from dataclasses import dataclass, field

_PROPERTY = re.compile(r"^\[(?P<name>[^\]]+)\]: \[(?P<value>.*)\]\r?$", re.MULTILINE)
# Thermal zones report thousandths of a degree; a zone that is off reports nonsense.
_PLAUSIBLE = range(-40_000, 200_000)


@dataclass(frozen=True)
class WrappedCommand:
    """A command as it goes to the device, and how to read what comes back."""

    command: str
    scratch: str = "/data/local/tmp"
    marker: str = field(default_factory=lambda: f"halyard-{secrets.token_hex(8)}")

    def text(self) -> str:
        errors = f"{self.scratch}/.{self.marker}"
        # The command is a word of its own, so that no quote or `exit` in it reaches the wrapping.
        return (
            f"sh -c {shlex.quote(self.command)} </dev/null 2>{errors}; "
            f"echo {self.marker} $?; cat {errors}; rm -f {errors}"
        )

    def parse(self, output: bytes) -> tuple[int, bytes, bytes] | None:
        """Exit code, stdout, stderr; None if the output breaks off before the marker is whole."""
        stdout, found, rest = output.rpartition(self.marker.encode() + b" ")
        code, newline, stderr = rest.partition(b"\n")
        if not found or not newline or not code.strip().isdigit():
            return None
        return int(code), stdout, stderr


def parse_properties(text: str) -> dict[str, str]:
    """getprop's lines."""
    return {found["name"]: found["value"] for found in _PROPERTY.finditer(text)}


def parse_temperature(text: str) -> float | None:
    """The hottest of the zones, one a line."""
    zones = [int(line) for line in text.split() if re.fullmatch(r"-?\d+", line)]
    plausible = [zone for zone in zones if zone in _PLAUSIBLE]
    return max(plausible) / 1000 if plausible else None
