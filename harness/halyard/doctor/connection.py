# SPDX-License-Identifier: Apache-2.0
"""adb, as far as this machine goes: its version, and what a server says of the phone."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping

from halyard.devices.config import DeviceConfig
from halyard.doctor.finding import Finding, ok, problem, warning

# The first whose shell keeps stdout and exit codes.
_OLDEST = (1, 0, 36)
_SERVER = ("127.0.0.1", 5037)
_PATIENCE = 2.0
_LARGEST = 1 << 16

# A server's names of states in which nothing can be done, and their remedies.
_STATES = {
    "unauthorized": ("the phone has not allowed this machine", "say yes on its screen", ""),
    "offline": ("the phone does not answer", "plug it in again", "adb reconnect offline"),
    "no": (
        "this user may not open the USB device",
        "add a rule for udev (Debian: apt install android-sdk-platform-tools-common), or be root",
        "",
    ),
    "recovery": ("the phone is in recovery", "boot it", "adb reboot"),
    "sideload": ("the phone waits for an update", "boot it", "adb reboot"),
    "bootloader": ("the phone is in its bootloader", "boot it", "fastboot reboot"),
}


def adb() -> Iterator[Finding]:
    """The program, which halyard needs not: it speaks the protocol itself."""
    program = shutil.which("adb")
    if program is None:
        yield ok("adb is not installed, and not needed")
        return
    said = subprocess.run([program, "version"], capture_output=True, text=True, timeout=10).stdout
    found = re.search(r"version (\d+)\.(\d+)\.(\d+)", said)
    version = tuple(map(int, found.groups())) if found else None
    if version is None or version < _OLDEST:
        yield warning(
            f"{program} is of version {'.'.join(map(str, version or ())) or 'unknown'}",
            "its own commands keep no exit codes before 1.0.36: update it",
            "sudo apt install adb",
        )
    else:
        yield ok(f"{program} is of version {'.'.join(map(str, version))}")


def states() -> Mapping[str, str]:
    """A running adb server's state of each device; empty where none runs: it is not started, as it
    would take the phones."""
    try:
        with socket.create_connection(_SERVER, _PATIENCE) as connection:
            connection.settimeout(_PATIENCE)
            connection.sendall(b"000chost:devices")
            said = b""
            while len(said) < _LARGEST and (part := connection.recv(4096)):
                said += part
    except OSError:
        return {}
    return parse_states(said.decode(errors="replace"))


def parse_states(answer: str) -> Mapping[str, str]:
    """OKAY, the length as four hexadecimal digits, and lines of a serial and a state."""
    if not answer.startswith("OKAY"):
        return {}
    lines = [line.split(None, 1) for line in answer[8:].splitlines()]
    return {words[0]: words[1].split()[0] for words in lines if len(words) == 2}


def failed(config: DeviceConfig, error: str, there: Mapping[str, str]) -> Finding:
    """Why a device could not be opened, and what to do."""
    text = " ".join(error.split())
    serial = config.serial or next(iter(there), "")
    state = there.get(serial, "")
    if config.kind == "adb" and state in _STATES:
        seen, fix, command = _STATES[state]
        return problem(f"{serial} is {state}: {seen}", fix, command)
    if config.kind == "adb" and config.transport == "usb" and state == "device":
        return problem(
            f"the adb server of this machine holds {serial}: {text}",
            "end it: halyard speaks to the phone itself",
            "adb kill-server",
        )
    if re.search(r"auth|rejected|public key", text, re.IGNORECASE):
        return problem(
            f"the device refuses this machine's key: {text}",
            "unlock its screen and say yes there, then ask again; where no question comes, revoke "
            "its authorisations (developer options)",
        )
    if config.kind == "virtual":
        return problem(
            f"the virtual device does not boot: {text}",
            "see its console; --accel tcg emulates where KVM is to blame",
            "halyard vm --help",
        )
    if config.transport == "tcp" and config.kind == "adb":
        address = f"{config.host}:{config.port}"
        return problem(
            f"no adb answers at {address}: {text}",
            "with the phone on USB, tell its adbd to listen; see that both are on one network",
            f"adb tcpip {config.port}",
        )
    return problem(
        f"it can't be opened: {text}",
        "see that USB debugging is on (developer options) and that the cable carries data",
        "halyard devices",
    )
