# SPDX-License-Identifier: Apache-2.0
"""Whose something on a device is: a process of the harness, which may be dead by now."""

import hashlib
import os
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from halyard.vm import qemu


@dataclass(frozen=True)
class Owner:
    """The process. `place`: its machine and process namespace."""

    place: str
    boot: str
    pid: int
    born: int

    @classmethod
    def here(cls) -> Self:
        return cls(_place(), _boot(), os.getpid(), qemu.start_time(os.getpid()) or 0)

    @classmethod
    def parse(cls, text: str) -> Self | None:
        try:
            place, boot, pid, born = text.split()
            return cls(place, boot, int(pid), int(born))
        except ValueError:
            return None

    def text(self) -> str:
        return f"{self.place} {self.boot} {self.pid} {self.born}"

    def is_dead(self) -> bool:
        """Whether it is known to have ended: of another machine's process that can't be known."""
        if self.place != _place():
            return False
        return self.boot != _boot() or qemu.start_time(self.pid) != self.born

    def digest(self) -> str:
        """Of the machine and its boot."""
        return hashlib.sha256(f"{self.place} {self.boot}".encode()).hexdigest()[:16]

    def __str__(self) -> str:
        return f"process {self.pid} on {self.place.partition('/')[0]}"


def _place() -> str:
    name = "".join(socket.gethostname().split()) or "localhost"
    try:
        return f"{name}/{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        return name


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return "-"
