# SPDX-License-Identifier: Apache-2.0
"""Output of a device's shell, also of more than adb carries.

adb's exec service carries one stream of bytes and no exit code. A command is therefore wrapped:
the shell around it keeps its stderr, and a line with a random marker follows its stdout, with the
exit code, and then the stderr. No file is written: a device whose disk is full has to be able to
say so.
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
    marker: str = field(default_factory=lambda: f"halyard-{secrets.token_hex(8)}")

    def text(self) -> str:
        # The command is a word of its own, so that no quote or `exit` in it reaches the wrapping.
        # Descriptor 3 is the stream to the host; it is closed for the command, which may leave
        # something running. The x keeps the newlines at the end of what is substituted.
        return (
            f"{{ errors=$({{ sh -c {shlex.quote(self.command)} </dev/null 1>&3 3>&-; "
            "code=$?; printf x; exit $code; } 2>&1); } 3>&1; "
            f'echo {self.marker} $?; printf %s "${{errors%x}}"'
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
