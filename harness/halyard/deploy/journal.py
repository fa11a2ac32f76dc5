# SPDX-License-Identifier: Apache-2.0
"""The journal of a deployment's changes on a device, kept there, so that all of them can be taken
back.

Each change is written down before it is made, and what was there is kept before that. So whatever
moment a deployment ends at, the journal tells of every change, and perhaps of one that was not
made, which to take back does no harm.

Root acts on what it says, so it lies in a folder that is root's own, mode 0700, below folders that
no other user can write into. Anything else at its place is refused; nothing of it is read.
"""

from __future__ import annotations

import re
import shlex
from pathlib import PurePosixPath
from typing import Literal

import msgspec

from halyard.devices.device import CommandResult
from halyard.devices.owner import Owner
from halyard.devices.root import RootShell
from halyard.doctor import places
from halyard.errors import HalyardError

_FOLDER = places.DEPLOYMENT
_ABOVE = tuple(str(path) for path in PurePosixPath(_FOLDER).parents)[:-1]  # but for /
# For the shell: whether the folder is its user's, root's, alone. A link's mode is 777.
_OWN = f'[ -d {_FOLDER} ] && [ -O {_FOLDER} ] && [ "$(stat -c %a {_FOLDER})" = 700 ]'
_FILE = f"{places.DEPLOYMENT}/journal"
_BACKUPS = f"{places.DEPLOYMENT}/backup"
_OWNER = f"{places.DEPLOYMENT}/owner"
# The end of the name under which a file is written before it takes its place.
PART = ".halyard-part"

Kind = Literal["file", "folder", "data", "mount", "stopped"]

# The service's file in its own folder (driver/prepare/cache_key.cc).
_KEY = "compilation_cache.key"


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """A change.

    file: `target` was written or removed; what was there is `backup`, none: nothing. folder: it was
    made. data: the service's own folder was made, in which it may have put its key. mount: it was
    read-only. stopped: init's service ran.
    """

    kind: Kind
    target: str
    backup: str = ""
    label: str = ""

    def is_sound(self) -> bool:
        """Whether a deployment can have written it."""
        path = PurePosixPath(self.target)
        return (
            (self.kind == "stopped" or (path.is_absolute() and ".." not in path.parts))
            and re.fullmatch(r"[^\0-\x1f\x7f]+", self.target) is not None
            and re.fullmatch(r"[0-9]{0,9}", self.backup) is not None
            and re.fullmatch(r"[\w:.,-]*", self.label) is not None
        )


class Journal:
    """Commands are run as root. HalyardError where others could have written what is there."""

    def __init__(self, root: RootShell, serial: str) -> None:
        self._root = root
        self._serial = serial
        self._check_folder()
        text = root.shell(f"cat {_FILE} 2>/dev/null").stdout
        self._ends_whole = not text or text.endswith("\n")
        self.entries = [entry for line in text.splitlines() if (entry := _parsed(line))]
        for entry in self.entries:
            if not entry.is_sound():
                raise HalyardError(
                    f"{serial}: {_FILE} has a line that no deployment writes "
                    f"({entry.kind} {entry.target[:80]!r}): nothing is taken back"
                )

    @property
    def is_empty(self) -> bool:
        return not self.entries

    def targets(self) -> set[str]:
        return {entry.target for entry in self.entries if entry.kind == "file"}

    def run(self, command: str) -> CommandResult:
        """DeviceError unless it goes well."""
        return self._root.shell(command).check()

    def _check_folder(self) -> None:
        """That the folder, where there is one, is root's own. A folder that others may write into
        can be swapped between a look and its use, so those above count as well."""
        said = self.run(
            f"for f in {' '.join(_ABOVE)}; do case $(stat -L -c %a $f 2>/dev/null) in *[2367]) "
            f"echo $f; exit;; esac; done; [ -e {_FOLDER} ] || [ -L {_FOLDER} ] || exit 0; "
            f"{_OWN} || echo {_FOLDER}"
        ).stdout.strip()
        if not said:
            return
        if said == _FOLDER:
            raise HalyardError(
                f"{self._serial}: {_FOLDER} is not a folder of root's alone (owner root, mode "
                "700), so that nothing in it is believed: look at it, and remove it"
            )
        raise HalyardError(
            f"{self._serial}: {said} can be written by everybody, so that root can keep nothing "
            f"below it: chmod o-w {said}"
        )

    # ---- writing ----------------------------------------------------------------------------

    def take(self) -> None:
        """Makes the folder, for one deployment at a time. HalyardError if another one is at it."""
        self.run(
            f"mkdir -p {_ABOVE[0]} && {{ [ -e {_FOLDER} ] || mkdir -m 700 {_FOLDER}; }} && {_OWN}"
        )
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
        # A link is kept as one. A reader of the backup's name can rely on all of it.
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
                kept = shlex.quote(f"{_BACKUPS}/{entry.backup}")
                self.run(f"rm -f {part} && cp -a {kept} {part}{label} && mv -f {part} {quoted}")
            case "file":
                self.run(f"rm -f {part} {quoted}")
            case "folder":
                # Files that others have put there since stay.
                self._root.shell(f"rmdir {quoted} 2>/dev/null")
            case "data":
                self._root.shell(
                    f"rm -f {quoted}/{_KEY} {quoted}/{_KEY}.*; rmdir {part} {quoted} 2>/dev/null"
                )
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
