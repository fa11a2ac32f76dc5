# SPDX-License-Identifier: Apache-2.0
"""A phone that halyard deploy is tried on, and what lies in its image."""

import os
from pathlib import Path

import pytest

from halyard.deploy.deployment import Deployment
from halyard.deploy.payload import Payload, for_vendor
from halyard.devices.device import Wire
from halyard.doctor import places
from halyard.programs import native
from tests.harness.fake_phone import FakePhone

PROGRAM = f"{places.PROGRAM_FOLDER}/{native.AIDL_SERVICE}"
SCRIPT = f"{places.SCRIPT_FOLDER}/{native.AIDL_SERVICE}.rc"
FRAGMENT = f"{places.FRAGMENT_FOLDER}/{native.AIDL_SERVICE}.xml"
OTHER_FRAGMENT = f"{places.FRAGMENT_FOLDER}/{native.SERVICE}.xml"

OWN = "/data/vendor/halyard"

Tree = dict[str, tuple[int, int, bytes]]


def lay_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program to deploy."""
    folder = tmp_path / "native"
    folder.mkdir()
    (folder / native.SERVICE).write_text("the new program")
    monkeypatch.setenv("HALYARD_NATIVE_DIR", str(folder))


def phone_at(folder: Path) -> FakePhone:
    """One with Android's init and a driver in its image: another program, linked by a second name,
    and a fragment for HIDL. It has no folder for scripts."""
    phone = FakePhone(folder)
    phone.set(init__svc__logd="running", ro__build__version__sdk="34")
    phone.file(f"{places.PROGRAM_FOLDER}/{native.SERVICE}", "the old program", 0o751)
    phone.path(PROGRAM).symlink_to(native.SERVICE)
    phone.file(OTHER_FRAGMENT, "<manifest/>", 0o640)
    phone.file("/proc/mounts", "none / ext4 rw 0 0\n")
    phone.file("/proc/uptime", "400.00 800.00\n")
    phone.path(OWN).parent.mkdir()
    # This machine need not have such users.
    phone.tool("chown", f'echo "$@" >>{phone.tools}/chown.log')
    # Takes too long for a test.
    phone.tool("sync", "exit 0")
    old = 1_600_000_000
    for path in phone.path("/vendor").rglob("*"):
        os.utime(path, (old, old), follow_symlinks=False)
    return phone


def tree(phone: FakePhone) -> Tree:
    """Every file of the image: its mode, its time, what it holds or leads to; and folders."""
    found: Tree = {}
    for path in sorted([*phone.path("/vendor").rglob("*"), *phone.path("/data/vendor").rglob("*")]):
        status = path.lstat()
        name = str(path.relative_to(phone.root))
        if path.is_symlink():
            found[name] = (status.st_mode, int(status.st_mtime), str(path.readlink()).encode())
        elif path.is_file():
            found[name] = (status.st_mode, int(status.st_mtime), path.read_bytes())
        else:
            found[name] = (status.st_mode, 0, b"")
    return found


def payload(instance: str = "halyard-default") -> Payload:
    return for_vendor(native.program(native.SERVICE), instance, (Wire.AIDL,), ())


def deploy(phone: FakePhone, instance: str = "halyard-default") -> int:
    """How many files and folders were changed."""
    deployment = Deployment(phone, "PHONE7", instance, lambda _: None)
    changes = deployment.changes(payload(instance))
    deployment.deploy(payload(instance), changes)
    return len(changes)


def kept(phone: FakePhone, name: str, text: str) -> None:
    """A file in root's own folder."""
    phone.file(f"{places.DEPLOYMENT}/{name}", text)
    phone.path(places.DEPLOYMENT).chmod(0o700)


def undo(phone: FakePhone) -> None:
    deployment = Deployment(phone, "PHONE7", "halyard-default", lambda _: None)
    if deployment.is_there:
        deployment.undo()
