# SPDX-License-Identifier: Apache-2.0
"""Whether /vendor can be written, and what is to be done where it can't."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from halyard.devices.root import RootShell


@dataclass(frozen=True)
class Mount:
    """The file system that a folder lies in."""

    source: str
    point: str
    kind: str
    options: frozenset[str]

    @property
    def is_read_only(self) -> bool:
        return "ro" in self.options


def mount_of(folder: str, mounts: str) -> Mount | None:
    """From what /proc/mounts says: of those around the folder the innermost, the last where one
    lies over another."""
    found: Mount | None = None
    for line in mounts.splitlines():
        fields = line.split()
        if len(fields) < 4 or not PurePosixPath(folder).is_relative_to(fields[1]):
            continue
        if found is None or len(fields[1]) >= len(found.point):
            found = Mount(fields[0], fields[1], fields[2], frozenset(fields[3].split(",")))
    return found


def is_writable(root: RootShell, folder: str) -> bool:
    """Asked by writing: what mounts say is not all, with snapshots and full file systems."""
    probe = shlex.quote(f"{folder}/.halyard-probe")
    return root.shell(f"touch {probe} && rm {probe}").exit_code == 0


def next_step(mount: Mount | None, properties: Mapping[str, str], name: str) -> str:
    """For a person, why it can't be written and what to type."""
    verity = properties.get("ro.boot.veritymode", "")
    where = f"{mount.point} ({mount.kind} on {mount.source})" if mount else "/vendor"
    work = f"; or have the program alone below /data: halyard deploy --device {name} --work"
    if properties.get("ro.kernel.qemu") == "1" or properties.get("ro.boot.qemu") == "1":
        return (
            f"{where} of this emulator can't be written: start it with "
            f"`emulator -writable-system`, then `adb root`, `adb remount`{work}"
        )
    if properties.get("ro.boot.flash.locked") == "1":
        return (
            f"{where} can't be written, and the bootloader is locked, so that verified boot stays: "
            f"unlock it (`fastboot flashing unlock`, which wipes the device){work}"
        )
    if verity not in ("", "disabled"):
        return (
            f"{where} is guarded by dm-verity (ro.boot.veritymode is {verity}): `adb root`, "
            f"`adb disable-verity`, `adb reboot`, then `adb root`, `adb remount`{work}"
        )
    return (
        f"{where} is read-only: `adb root`, `adb remount`, which lays an overlay over it where the "
        f"image has no room, and may ask for a reboot{work}"
    )
