# SPDX-License-Identifier: Apache-2.0
"""What a deployment has changed on a device, kept there, so that all of it can be taken back.

Each change is written down before it is made, and what was there is kept before that. So whatever
moment a deployment ends at, the journal tells of every change, and perhaps of one that was not
made, which to take back does no harm.
"""

from __future__ import annotations

import shlex
from typing import Literal

import msgspec

from halyard.devices.device import CommandResult
from halyard.devices.owner import Owner
from halyard.devices.root import RootShell
from halyard.doctor import places
from halyard.errors import HalyardError

_FILE = f"{places.DEPLOYMENT}/journal"
_BACKUPS = f"{places.DEPLOYMENT}/backup"
_OWNER = f"{places.DEPLOYMENT}/owner"
# The end of the name under which a file is written before it takes its place.
PART = ".halyard-part"

Kind = Literal["file", "folder", "mount", "stopped"]


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """A change.

    file: `target` was written or removed; what was there is `backup`, none: nothing. folder: it was
    made. mount: it was read-only. stopped: init's service ran.
    """

    kind: Kind
    target: str
    backup: str = ""
    label: str = ""


class Journal:
    """Commands are run as root."""

    def __init__(self, root: RootShell, serial: str) -> None:
        self._root = root
        self._serial = serial
        text = root.shell(f"cat {_FILE} 2>/dev/null").stdout
        self._ends_whole = not text or text.endswith("\n")
        self.entries = [entry for line in text.splitlines() if (entry := _parsed(line))]

    @property
    def is_empty(self) -> bool:
        return not self.entries

    def targets(self) -> set[str]:
        return {entry.target for entry in self.entries if entry.kind == "file"}

    def run(self, command: str) -> CommandResult:
        """DeviceError unless it goes well."""
        return self._root.shell(command).check()

    # ---- writing ----------------------------------------------------------------------------

    def take(self) -> None:
        """Makes the folder, for one deployment at a time. HalyardError if another one is at it."""
        said = self._root.shell(f"cat {_OWNER} 2>/dev/null").stdout
        owner = Owner.parse(said)
        here = Owner.here()
        if owner is not None and owner != here and not owner.is_dead():
            raise HalyardError(
                f"{self._serial}: {owner} deploys there now: wait for its end; if it is none any "
                f"more, remove {_OWNER} on the device"
            )
        self.run(f"mkdir -p {_BACKUPS} && echo {shlex.quote(here.text())} >{_OWNER}")

    def release(self) -> None:
        self._root.shell(f"rm -f {_OWNER}")

    def note(self, entry: Entry) -> None:
        if entry in self.entries:
            return
        # A line that broke off is left as it is.
        head = "" if self._ends_whole else "\\n"
        line = shlex.quote(msgspec.json.encode(entry).decode())
        self.run(f"printf '{head}%s\\n' {line} >>{_FILE} && sync")
        self._ends_whole = True
        self.entries.append(entry)

    def keep(self, target: str) -> None:
        """Keeps what is there, before it is changed for the first time."""
        if target in self.targets():
            return
        name, quoted = str(len(self.entries)), shlex.quote(target)
        label = self._label(target)
        kept = f"{_BACKUPS}/{name}"
        # A link is kept as one. Whoever reads the backup's name can rely on all of it.
        said = self.run(
            f"if [ -e {quoted} ] || [ -L {quoted} ]; then rm -f {kept}.part && "
            f"cp -a {quoted} {kept}.part && mv -f {kept}.part {kept} && sync && echo kept; fi"
        ).stdout
        self.note(Entry("file", target, name if "kept" in said else "", label))

    def _label(self, target: str) -> str:
        said = self._root.shell(
            f"[ -e /sys/fs/selinux/enforce ] && stat -c %C {shlex.quote(target)} 2>/dev/null"
        )
        return said.stdout.strip() if said.exit_code == 0 else ""

    # ---- taking back ------------------------------------------------------------------------

    def take_back(self, entry: Entry) -> None:
        quoted = shlex.quote(entry.target)
        part = shlex.quote(entry.target + PART)
        match entry.kind:
            case "file" if entry.backup:
                label = f" && chcon {shlex.quote(entry.label)} {part}" if entry.label else ""
                self.run(
                    f"rm -f {part} && cp -a {_BACKUPS}/{entry.backup} {part}{label} && "
                    f"mv -f {part} {quoted}"
                )
            case "file":
                self.run(f"rm -f {part} {quoted}")
            case "folder":
                # What others have put there since stays.
                self._root.shell(f"rmdir {quoted} 2>/dev/null")
            case "mount":
                self._root.shell(f"sync; mount -o ro,remount {quoted}")
            case "stopped":
                self._root.shell(f"start {quoted}")

    def forget(self) -> None:
        """At the end, when all is taken back. What breaks off here leaves nothing to take back."""
        gone = f"{places.DEPLOYMENT}.gone"
        self.run(f"rm -rf {gone}; mv {places.DEPLOYMENT} {gone} && sync && rm -rf {gone}")
        self.entries = []


def _parsed(line: str) -> Entry | None:
    """None for a line that broke off: its change was not made."""
    try:
        return msgspec.json.decode(line, type=Entry)
    except msgspec.MsgspecError:
        return None
