# SPDX-License-Identifier: Apache-2.0
"""Whole folders to and from a device. Files and folders go; what is neither does not."""

import shlex
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from halyard.devices.device import Device
from halyard.errors import DeviceError, TooMuchSent

# Told how many files are done, of how many, and which is next.
Listener = Callable[[int, int, str], None]

# Folders that one command makes.
_AT_ONCE = 50


def push_folder(device: Device, local: Path, remote: str, listener: Listener) -> list[int]:
    """Copies a folder as `remote`, which is made; what lies there already stays. A link goes as the
    file that it leads to. The sizes of the files."""
    folders, files = [PurePosixPath(remote)], []
    for path in sorted(local.rglob("*")):
        place = PurePosixPath(remote, *path.relative_to(local).parts)
        if path.is_dir() and not path.is_symlink():
            folders.append(place)
        elif path.is_file():
            files.append((path, place))
    for at in range(0, len(folders), _AT_ONCE):
        names = " ".join(shlex.quote(str(each)) for each in folders[at : at + _AT_ONCE])
        device.shell(f"mkdir -p {names}").check()
    for number, (path, place) in enumerate(files):
        listener(number, len(files), path.name)
        device.push(path, str(place))
    return [path.stat().st_size for path, _ in files]


def pull_folder(device: Device, remote: str, local: Path, listener: Listener) -> list[int]:
    """The same the other way round. Names are the device's: one that would lead out of the folder
    is refused."""
    root = remote.rstrip("/") or "/"
    folders = _found(device, root, "d")
    files = _found(device, root, "f")
    for place in (*folders, *files):
        if place.is_absolute() or ".." in place.parts:
            raise DeviceError(f"it names a file that lies elsewhere: {place}", serial=device.serial)
    for place in (PurePosixPath(), *folders):
        (local / place).mkdir(parents=True, exist_ok=True)
    sizes: list[int] = []
    for number, place in enumerate(files):
        listener(number, len(files), place.name)
        if sum(sizes) > device.limits.file:
            raise TooMuchSent(
                f"the folder is larger than {device.limits.file / 2**20:g} MiB",
                serial=device.serial,
                command=f"pull {remote} {local}",
            )
        device.pull(f"{root}/{place}", local / place)
        sizes.append((local / place).stat().st_size)
    return sizes


def _found(device: Device, root: str, kind: str) -> list[PurePosixPath]:
    """Paths below, from there."""
    said = device.exec(f"cd {shlex.quote(root)} && find . -mindepth 1 -type {kind} -print0")
    names = [name.decode(errors="surrogateescape") for name in said.split(b"\0") if name]
    return [PurePosixPath(name) for name in names]
