# SPDX-License-Identifier: Apache-2.0
"""Deploying and undoing. Both can be called again, whatever moment they ended at before."""

from __future__ import annotations

import shlex
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from halyard.deploy import ground
from halyard.deploy.journal import PART, Entry, Journal
from halyard.deploy.payload import Item, Payload
from halyard.devices import Device, run_files, service_folder
from halyard.devices.adb_service import list_services
from halyard.doctor import places
from halyard.doctor.checks import Check
from halyard.doctor.examination import checked
from halyard.doctor.finding import Finding, Verdict
from halyard.doctor.gpu import gpu
from halyard.doctor.init_script import MadeFolder, parse
from halyard.doctor.patient import Patient
from halyard.doctor.process import process
from halyard.doctor.registration import registration
from halyard.doctor.selinux import selinux
from halyard.errors import DeviceError, HalyardError
from halyard.programs.linkage import HEAD_BYTES, linkage

# Told what is being done.
Listener = Callable[[str], None]

_RUN = f"{places.DEPLOYMENT}/run"
_CHECKS = (Check("process", process), Check("registration", registration))
_CHECKS_OF_A_START = (Check("selinux", selinux), Check("gpu", gpu))
_BIONIC_LOADER = "/system/bin/linker64"
_POLL = 0.2
_START_TIMEOUT = 20.0
_STOP_TIMEOUT = 10.0


@dataclass(frozen=True)
class Change:
    """An item's action, in a word: put, replace, remove; make of a folder."""

    word: str
    item: Item | MadeFolder

    @property
    def target(self) -> str:
        return self.item.target if isinstance(self.item, Item) else self.item.path


class Deployment:
    """On a device that is open. HalyardError where there is no root."""

    def __init__(self, device: Device, name: str, instance: str, listener: Listener) -> None:
        self._device = device
        self._name = name
        self._tell = listener
        self._instance = instance
        self._patient = Patient(device, name, instance)
        if not self._patient.root.is_root:
            raise HalyardError(
                f"{device.serial}: adb's shell is not root there, and there is no su: "
                f"halyard doctor --device {name} says more"
            )
        self._root = self._patient.root
        self._journal = Journal(self._root, device.serial)

    @property
    def is_there(self) -> bool:
        """Whether there is a deployment, a whole one or one that broke off."""
        return not self._journal.is_empty

    @property
    def has_init(self) -> bool:
        """Whether Android's init is there, which reads scripts when the device boots."""
        return self._patient.has_init

    @property
    def is_android(self) -> bool:
        """Whether programs that are linked against bionic run there."""
        return self._root.shell(f"[ -e {_BIONIC_LOADER} ]").exit_code == 0

    def check_program(self, program: Path) -> str:
        """Which kind of build it is, in words. HalyardError where that does not run there."""
        with program.open("rb") as file:
            found = linkage(file.read(HEAD_BYTES))
        if found is None or found.is_static:
            return found.words() if found else "no ELF program"
        if self._root.shell(f"[ -e {shlex.quote(found.loader)} ]").exit_code != 0:
            other = "make arm64" if found.is_bionic else "make android"
            raise HalyardError(
                f"{self._device.serial}: {program} is {found.words()}, which is not there: deploy "
                f"a build for that device ({other})"
            )
        return found.words()

    def entries(self) -> list[Entry]:
        """The changes that --undo would take back, in its order."""
        return list(reversed(self._journal.entries))

    # ---- deploying --------------------------------------------------------------------------

    def changes(self, payload: Payload) -> list[Change]:
        """The items that are not yet as they have to be."""
        names = " ".join(shlex.quote(item.target) for item in payload.items)
        said = self._root.shell(
            f'for f in {names}; do [ -f "$f" ] && echo $(sha256sum <"$f" | cut -c -64) '
            '$(stat -L -c %a "$f") "|$f"; done; true'
        ).check()
        there = {}
        for line in said.stdout.splitlines():
            words, _, target = line.partition("|")
            there[target] = words.split()
        found = []
        for item in payload.items:
            wanted = [item.digest(), f"{item.mode:o}"] if item.content is not None else None
            if there.get(item.target) != wanted:
                word = "remove" if wanted is None else "replace" if item.target in there else "put"
                found.append(Change(word, item))
        return [*found, *(Change("make", each) for each in self._missing(payload.folders))]

    def _missing(self, folders: Sequence[MadeFolder]) -> list[MadeFolder]:
        """Those that init would make. Below what is not there itself it makes none."""
        found = []
        for each in folders:
            path = shlex.quote(each.path)
            above = shlex.quote(str(PurePosixPath(each.path).parent))
            if self._root.shell(f"[ -d {above} ] && [ ! -e {path} ]").exit_code == 0:
                found.append(each)
        return found

    def needs_boot(self, changes: Sequence[Change]) -> bool:
        """Whether they take effect when Android's init starts again."""
        return self._patient.has_init and any(
            change.target.startswith("/vendor/etc/") for change in changes
        )

    def deploy(self, payload: Payload, changes: Sequence[Change]) -> None:
        """Makes the changes. ServiceError and its like leave what is done, with its journal."""
        self._journal.take()
        try:
            self._check_ground(changes)
            if changes or not self._runs(payload):
                self._stop(payload.service)
            for change in changes:
                self._tell(f"{change.word} {change.target}")
                if isinstance(change.item, Item):
                    self._make(change.item)
                else:
                    self._make_own(change.item)
            if any(change.target.endswith(".xml") for change in changes):
                self._have_managers_read()
        finally:
            self._release()

    def start(self, payload: Payload) -> list[Finding]:
        """Starts the service unless it runs; what doctor finds of it then."""
        if not self._runs(payload):
            self._tell(f"starting {payload.words[0]}")
            if self._known_to_init(payload.service):
                self._journal.run(f"start {shlex.quote(payload.service)}")
            else:
                self._launch(payload.words)
        end = time.monotonic() + _START_TIMEOUT
        while True:
            patient = Patient(self._device, self._name, payload.instance)
            findings = list(checked(patient, _CHECKS))
            good = all(each.verdict is not Verdict.PROBLEM for each in findings)
            if good or time.monotonic() > end or not patient.own_processes:
                return findings + list(checked(patient, _CHECKS_OF_A_START))
            time.sleep(_POLL)

    def _check_ground(self, changes: Sequence[Change]) -> None:
        """That what is to be changed can be, by a remount where that helps."""
        mounts = self._root.shell("cat /proc/mounts").stdout
        folders = {
            str(PurePosixPath(change.target).parent)
            for change in changes
            if isinstance(change.item, Item)
        }
        remounted: set[str] = set()
        for folder in sorted(folders):
            mount = ground.mount_of(folder, mounts)
            if mount is not None and mount.is_read_only and mount.point not in remounted:
                remounted.add(mount.point)
                self._journal.note(Entry("mount", mount.point))
                self._tell(f"remounting {mount.point}, which is read-only")
                self._root.shell(f"mount -o rw,remount {shlex.quote(mount.point)}")
            self._make_folder(folder, mount)

    def _make_folder(self, folder: str, mount: ground.Mount | None) -> None:
        missing: list[str] = []
        for each in (PurePosixPath(folder), *PurePosixPath(folder).parents):
            if self._root.shell(f"[ -d {shlex.quote(str(each))} ]").exit_code == 0:
                break
            missing.append(str(each))
        there = str(PurePosixPath(missing[-1]).parent) if missing else folder
        if not ground.is_writable(self._root, there):
            step = ground.next_step(mount, self._patient.properties, self._name)
            raise HalyardError(f"{self._device.serial}: {step}")
        for name in reversed(missing):
            self._journal.note(Entry("folder", name))
            self._journal.run(f"mkdir -p {shlex.quote(name)} && chmod 755 {shlex.quote(name)}")

    def _make_own(self, folder: MadeFolder) -> None:
        """As init does it at the next boot; where there is no init, for root, as which the service
        runs then, and which believes no folder of somebody else."""
        owner = f"{folder.user}:{folder.group}" if self._patient.has_init else "0:0"
        path, part = shlex.quote(folder.path), shlex.quote(folder.path + PART)
        self._journal.note(Entry("data", folder.path))
        # It takes its place whole. Its label follows from its name.
        self._journal.run(
            f"rm -rf {part} && mkdir -m {folder.mode:o} {part} && "
            f"chown {shlex.quote(owner)} {part} && mv {part} {path} && "
            f"{{ [ ! -e /sys/fs/selinux/enforce ] || restorecon {path} 2>/dev/null || true; }}"
        )

    def _make(self, item: Item) -> None:
        self._journal.keep(item.target)
        target, part = shlex.quote(item.target), shlex.quote(item.target + PART)
        if item.content is None:
            self._journal.run(f"rm -f {target}")
            return
        # adb's user may not write elsewhere. Nor may it be believed: others can write there, too.
        incoming = f"{run_files.new_run()}.deploy"
        with tempfile.NamedTemporaryFile() as file:
            local = item.content
            if isinstance(local, bytes):
                file.write(local)
                file.flush()
                local = Path(file.name)
            self._device.push(local, incoming)
        copied = self._root.shell(
            f"umask 077; rm -f {part} && head -c {item.size()} <{incoming} >{part}; "
            f'[ "$(sha256sum <{part} | cut -c -64)" = {item.digest()} ]'
        )
        self._device.shell(f"rm -f {incoming}")
        if copied.exit_code != 0:
            self._root.shell(f"rm -f {part}")
            raise HalyardError(
                f"{self._device.serial}: what came for {item.target} is not what was sent to "
                f"{incoming}: the disk is full, or somebody else wrote there: "
                f"{copied.stderr.strip() or 'its SHA-256 is another'}"
            )
        # It takes its place whole.
        self._journal.run(
            f"chmod {item.mode:o} {part} && chown 0:0 {part} && mv -f {part} {target} && sync"
        )
        self._label(item)

    def _label(self, item: Item) -> None:
        target = shlex.quote(item.target)
        restored = f"restorecon {target}"
        wanted = f"chcon {item.label} {target} || {restored}" if item.label else restored
        self._root.shell(f"[ ! -e /sys/fs/selinux/enforce ] || {{ {wanted}; }} 2>/dev/null")

    # ---- the service ------------------------------------------------------------------------

    def _known_to_init(self, service: str) -> bool:
        return bool(service) and f"init.svc.{service}" in self._patient.properties

    def _own_pid(self) -> int | None:
        """Of the process that a deployment started."""
        said = self._root.shell(f"cat {_RUN}/pid 2>/dev/null").stdout.split()
        return int(said[0]) if said and said[0].isdigit() else None

    def _runs(self, payload: Payload) -> bool:
        patient = Patient(self._device, self._name, payload.instance)
        return any(list(each.words) == list(payload.words) for each in patient.own_processes)

    def _stop(self, service: str) -> None:
        """Ends the service of the name. HalyardError where it is somebody else's."""
        if self._known_to_init(service):
            if self._patient.properties[f"init.svc.{service}"] == "running":
                if not self._journal.targets():
                    self._journal.note(Entry("stopped", service))
                self._tell(f"stopping {service}")
            self._root.shell(f"stop {shlex.quote(service)}")
        pid = self._own_pid()
        for each in Patient(self._device, self._name, self._instance).own_processes:
            if each.pid != pid:
                if self._known_to_init(service):
                    continue
                raise HalyardError(
                    f"{self._device.serial}: {each.instance} is served by process {each.pid}, "
                    f"which no deployment started: end it (halyard shell --device {self._name} -- "
                    f"kill {each.pid}), or deploy under another name (--instance NAME)"
                )
            self._end(each.pid)

    def _end(self, pid: int) -> None:
        self._tell(f"ending process {pid}")
        for signal in ("TERM", "KILL"):
            self._root.shell(f"kill -{signal} {pid}")
            end = time.monotonic() + _STOP_TIMEOUT
            while time.monotonic() < end:
                if self._root.shell(f"kill -0 {pid} 2>/dev/null").exit_code != 0:
                    return
                time.sleep(_POLL)

    def _launch(self, words: Sequence[str]) -> None:
        made = f"rm -rf {_RUN}; mkdir {_RUN}"
        self._journal.run(made)
        self._journal.run(service_folder.launch_command(_RUN, words))

    def _have_managers_read(self) -> None:
        """The service managers read manifests when they start. Android's can't be ended alone: all
        services would end with them."""
        if self._patient.has_init:
            return
        self._tell("having the service managers read the manifest")
        self._root.shell("kill $(pidof hwservicemanager servicemanager)")
        end = time.monotonic() + _STOP_TIMEOUT
        while time.monotonic() < end:
            time.sleep(_POLL)
            try:
                list_services(self._device)
            except DeviceError:
                continue
            return

    # ---- undoing ----------------------------------------------------------------------------

    def undo(self) -> list[Entry]:
        """Takes all back, the last change first; what it took back."""
        self._journal.take()
        entries = self.entries()
        mounts = [entry for entry in entries if entry.kind == "mount"]
        pid = self._own_pid()
        own = Patient(self._device, self._name, self._instance).processes
        try:
            for entry in mounts:
                # The device may have booted since.
                self._root.shell(f"mount -o rw,remount {shlex.quote(entry.target)}")
            for service in self._services():
                if self._known_to_init(service):
                    self._root.shell(f"stop {shlex.quote(service)}")
            if pid is not None and any(each.pid == pid for each in own):
                self._end(pid)
            for entry in entries:
                if entry.kind != "mount":
                    self._tell(f"taking back {entry.kind} {entry.target}")
                    self._journal.take_back(entry)
            if any(entry.target.endswith(".xml") for entry in entries):
                self._have_managers_read()
            for entry in mounts:
                self._journal.take_back(entry)
        except BaseException:
            self._release()
            raise
        self._journal.forget()
        return entries

    def _services(self) -> list[str]:
        """The services' names in scripts that were deployed."""
        targets = self._journal.targets()
        scripts = [shlex.quote(path) for path in targets if path.endswith(".rc")]
        return [
            section.name
            for file in (self._patient.files(scripts) if scripts else [])
            for section in parse(file.text).services
        ]

    def _release(self) -> None:
        try:
            self._journal.release()
        except DeviceError:
            # The caller has to know the first failure.
            return
