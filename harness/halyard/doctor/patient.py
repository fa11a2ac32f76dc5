# SPDX-License-Identifier: Apache-2.0
"""The device that is examined: what several checks ask of it is asked once."""

from __future__ import annotations

import re
import shlex
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from halyard.devices.adb_service import list_services
from halyard.devices.device import CommandResult, Device
from halyard.devices.root import RootShell
from halyard.doctor import places
from halyard.errors import DeviceError

_FILE_MARK = "==halyard=="
# Of a file that a check reads: a manifest or a script is some kilobytes.
_LARGEST_FILE = 1 << 20


@dataclass(frozen=True)
class Process:
    """One that runs a driver's program."""

    pid: int
    words: Sequence[str]  # its command line
    user: int
    born: float  # seconds after the device booted

    @property
    def program(self) -> str:
        return self.words[0]

    @property
    def instance(self) -> str:
        """As its options have it, in any of the ways of getopt."""
        return option(self.words, "-n", "--service-name") or "halyard-default"


def option(words: Sequence[str], short: str, long: str) -> str:
    """The value of an option on a command line; empty where it is not there."""
    for index, word in enumerate(words):
        if word in (short, long):
            return words[index + 1] if index + 1 < len(words) else ""
        if word.startswith(f"{long}="):
            return word.partition("=")[2]
        if word.startswith(short) and not word.startswith("--") and len(word) > len(short):
            return word[len(short) :]
    return ""


def signal_name(number: int) -> str:
    """As Linux has it on the processors of Android."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


@dataclass(frozen=True)
class DeviceFile:
    path: str
    mode: int
    changed: float  # seconds since 1970
    text: str


class Patient:
    """`name` is the device's on the command line, for the commands that findings tell."""

    def __init__(self, device: Device, name: str, instance: str) -> None:
        self.device = device
        self.name = name
        self.instance = instance

    # ---- asking -----------------------------------------------------------------------------

    @cached_property
    def root(self) -> RootShell:
        return RootShell(self.device)

    def shell(self, command: str, timeout: float = 60.0) -> CommandResult:
        """As root where that can be had."""
        return self.root.shell(command, timeout)

    def said(self, command: str) -> str:
        """A command's output, whatever its exit code."""
        return self.shell(command).stdout.strip()

    def typed(self, command: str) -> str:
        """The line to type for a command on the device."""
        return f"halyard shell --device {shlex.quote(self.name)} -- {command}"

    @cached_property
    def properties(self) -> Mapping[str, str]:
        return self.device.properties()

    @cached_property
    def sdk(self) -> int | None:
        """The release's API level."""
        said = self.properties.get("ro.build.version.sdk", "")
        return int(said) if said.isdigit() else None

    @property
    def release(self) -> str:
        """For people."""
        number = self.properties.get("ro.build.version.release", "")
        return f"Android {number or '?'} (API {self.sdk or '?'})"

    @cached_property
    def has_init(self) -> bool:
        """Whether Android's init starts services here, and tells of them in properties."""
        return any(name.startswith("init.svc.") for name in self.properties)

    @cached_property
    def booted(self) -> float:
        """When, in seconds since 1970 on the device's own clock; 0: not known."""
        words = self.said("date +%s; cat /proc/uptime").split()
        try:
            return float(words[0]) - float(words[1])
        except (IndexError, ValueError):
            return 0.0

    @cached_property
    def managers_started(self) -> float:
        """When the younger of the service managers did, as `booted` counts; 0: not known."""
        said = self.said(
            "for p in $(pidof hwservicemanager servicemanager); do "
            "sed 's/.*) //' /proc/$p/stat | cut -d' ' -f20; done"
        ).split()
        ticks = [int(word) for word in said if word.isdigit()]
        return self.booted + max(ticks) / _TICKS if ticks and self.booted else 0.0

    # ---- files ------------------------------------------------------------------------------

    def files(self, patterns: Sequence[str]) -> list[DeviceFile]:
        """All that are there, by the shell's patterns, with their text."""
        said = self.shell(
            f'for f in {" ".join(patterns)}; do [ -f "$f" ] || continue; '
            f'echo {_FILE_MARK} $(stat -L -c \'%a %Z\' "$f") "$f"; '
            f'head -c {_LARGEST_FILE} "$f"; echo; done'
        ).stdout
        found = []
        for part in said.split(f"{_FILE_MARK} ")[1:]:
            head, _, text = part.partition("\n")
            words = head.split(" ", 2)
            if len(words) == 3 and words[1].isdigit():
                found.append(DeviceFile(words[2], int(words[0], 8), float(words[1]), text[:-1]))
        return found

    @cached_property
    def scripts(self) -> list[DeviceFile]:
        """The .rc files that name an NNAPI driver's program."""
        return [each for each in self.files(places.SCRIPTS) if places.PROGRAM_MARK in each.text]

    @cached_property
    def manifests(self) -> list[DeviceFile]:
        """The VINTF files that tell of NNAPI, by their text or their name."""
        return [
            each
            for each in self.files(places.MANIFESTS)
            if places.PROGRAM_MARK in each.text or places.PROGRAM_MARK in each.path
        ]

    # ---- the service ------------------------------------------------------------------------

    @cached_property
    def processes(self) -> list[Process]:
        """All that run a driver of NNAPI."""
        said = self.shell(
            f"for f in $(grep -la {places.PROGRAM_MARK} /proc/[0-9]*/cmdline 2>/dev/null); do "
            "d=${f%/cmdline}; echo ${d#/proc/} $(grep Uid: $d/status) "
            "$(sed 's/.*) //' $d/stat | cut -d' ' -f20); tr '\\0' '\\n' <$f; echo; done"
        ).stdout
        found = []
        for part in said.split("\n\n"):
            head, _, line = part.strip("\n").partition("\n")
            fields = re.fullmatch(r"(\d+) Uid: (\d+)[\d ]* (\d+)", head)
            words = line.split("\n")
            # A shell that names the program is none.
            name = words[0].rpartition("/")[2]
            if fields and places.PROGRAM_MARK in name:
                born = int(fields[3]) / _TICKS
                found.append(Process(int(fields[1]), words, int(fields[2]), born))
        return found

    @property
    def own_processes(self) -> list[Process]:
        """Those of the instance."""
        return [each for each in self.processes if each.instance == self.instance]

    @cached_property
    def services(self) -> list[str] | DeviceError:
        """All that is registered with the service managers, as "interface/name"; or why that can't
        be told."""
        try:
            return list_services(self.device)
        except DeviceError as error:
            return error

    @cached_property
    def kernel_log(self) -> str:
        return self.shell("dmesg 2>/dev/null | tail -n 4000").stdout


# A second, as /proc counts: USER_HZ is the same on every device of Android.
_TICKS = 100
