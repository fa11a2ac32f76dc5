# SPDX-License-Identifier: Apache-2.0
"""A virtual device's life: boot it, find the one that runs, stop it."""

import contextlib
import fcntl
import json
import logging
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from halyard import folders
from halyard.errors import HalyardError, VmError
from halyard.vm import initramfs, kernel, qemu, sanitizers
from halyard.vm.machine import MACHINES, X86_64, Machine

_LOG = logging.getLogger(__name__)

# Called with each stage that is over and its seconds.
StageListener = Callable[[str, float], None]
# Asks the device behind that port for an answer; raises HalyardError while there is none.
Probe = Callable[[int], None]

_POLL = 0.02


@dataclass(frozen=True)
class VmOptions:
    memory: int = 1024  # MiB; at least sanitizers.MEMORY where programs are sanitized
    processors: int = 2
    properties: Mapping[str, str] = field(default_factory=dict)
    # What its daemons find in theirs, and all that adbd starts.
    environment: Mapping[str, str] = field(default_factory=dict)
    timeout: float = 60.0  # seconds until adb answers
    machine: Machine = X86_64


@dataclass(frozen=True)
class VirtualMachine:
    """One that runs."""

    pid: int
    born: int  # qemu.start_time, so that another process with this id is not taken for it
    port: int  # on 127.0.0.1
    folder: str
    kernel: str
    programs: str  # initramfs.digest
    started: float  # seconds since 1970
    stages: Mapping[str, float]  # seconds that each stage of its start took, in order
    sanitized: bool = False  # whether its programs were built with sanitizers
    architecture: str = X86_64.name  # one of MACHINES

    @property
    def boot_seconds(self) -> float:
        return sum(self.stages.values())

    @property
    def machine(self) -> Machine:
        return MACHINES[self.architecture]

    @property
    def console(self) -> Path:
        return Path(self.folder) / "console"

    def is_running(self) -> bool:
        return qemu.start_time(self.pid) == self.born

    def stop(self) -> None:
        if self.is_running():
            qemu.end(self.pid, self.born)


# ---- one for a command --------------------------------------------------------------------------


@contextlib.contextmanager
def booted(
    options: VmOptions, probe: Probe, on_stage: StageListener | None = None
) -> Iterator[VirtualMachine]:
    """One of one's own, stopped at the end of the context."""
    with tempfile.TemporaryDirectory(prefix="halyard-vm-") as folder:
        running, machine = boot(Path(folder), options, probe, on_stage, outlive=False)
        try:
            yield machine
        finally:
            running.stop()


def boot(
    folder: Path,
    options: VmOptions,
    probe: Probe,
    on_stage: StageListener | None = None,
    *,
    outlive: bool,
) -> tuple[qemu.Qemu, VirtualMachine]:
    """Starts one whose files lie in `folder`, and waits until `probe` succeeds."""
    watch = _Stopwatch(on_stage)
    # First of all: the kernel may be downloaded for half a minute.
    programs = initramfs.native_programs(options.machine)
    found = kernel.find(options.machine, folders.cache())
    watch.over("kernel found")
    sanitized = sanitizers.sanitized(programs.values())
    root = folder / "initramfs"
    root.write_bytes(
        initramfs.build(
            options.machine,
            found,
            programs=programs,
            properties=options.properties,
            environment={**(sanitizers.ENVIRONMENT if sanitized else {}), **options.environment},
            busybox=initramfs.busybox_of(options.machine),
        )
    )
    watch.over("initramfs built")
    console = folder / "console"
    running = qemu.start(
        qemu.QemuOptions(
            machine=options.machine,
            kernel=found.image,
            initramfs=root,
            console=console,
            log=folder / "qemu.log",
            memory=max(options.memory, sanitizers.MEMORY) if sanitized else options.memory,
            processors=options.processors,
        ),
        outlive=outlive,
    )
    try:
        watch.over("QEMU started")
        _await_guest(running, console, watch, options.timeout)
        _await_answer(running, console, probe, options.timeout)
        watch.over("adb answers")
    except BaseException:
        running.stop()
        raise
    # QEMU has read it.
    root.unlink()
    return running, VirtualMachine(
        pid=running.pid,
        born=running.born,
        port=running.port,
        folder=str(folder),
        kernel=found.release,
        programs=initramfs.digest(programs),
        started=time.time(),
        stages=watch.stages,
        sanitized=sanitized,
        architecture=options.machine.name,
    )


class _Stopwatch:
    def __init__(self, listener: StageListener | None) -> None:
        self.stages: dict[str, float] = {}
        self._listener = listener
        self._last = time.monotonic()

    def over(self, stage: str) -> None:
        now = time.monotonic()
        self.stages[stage] = now - self._last
        self._last = now
        _LOG.info("%s: %.2f s", stage, self.stages[stage])
        if self._listener:
            self._listener(stage, self.stages[stage])


def _await_guest(running: qemu.Qemu, console: Path, watch: _Stopwatch, timeout: float) -> None:
    """Until the guest says that adbd listens. A connection before that would hang in QEMU."""
    end = time.monotonic() + timeout
    seen = 0
    while True:
        ended = not running.is_running()
        text = console.read_text(errors="replace") if console.exists() else ""
        reached = qemu.stages(text)
        for name, _ in reached[seen:]:
            watch.over(name)
        seen = len(reached)
        if any(name == "adbd" for name, _ in reached):
            return
        reason = qemu.failure(text)
        if reason is not None:
            # It may still be writing why.
            time.sleep(0.2)
            raise VmError(f"the virtual device gave up: {reason}", console=qemu.tail(console))
        if ended:
            raise VmError("QEMU ended while the device booted", console=qemu.tail(console))
        if time.monotonic() > end:
            raise VmError(f"the device did not boot in {timeout:g} s", console=qemu.tail(console))
        time.sleep(_POLL)


def _await_answer(running: qemu.Qemu, console: Path, probe: Probe, timeout: float) -> None:
    end = time.monotonic() + timeout
    while True:
        try:
            probe(running.port)
        except HalyardError as error:
            if not running.is_running() or time.monotonic() > end:
                raise VmError(
                    f"adb does not answer: {error}", console=qemu.tail(console)
                ) from error
            time.sleep(_POLL)
        else:
            return


# ---- the one that stays -------------------------------------------------------------------------


class Resident:
    """The virtual device that `halyard vm start` leaves running, one per user and architecture."""

    def __init__(self, folder: Path | None = None, machine: Machine = X86_64) -> None:
        self._folder = folder or folders.state() / f"vm{machine.suffix}"

    def running(self) -> VirtualMachine | None:
        with self._locked():
            return self._read()

    def start(
        self, options: VmOptions, probe: Probe, on_stage: StageListener | None = None
    ) -> tuple[VirtualMachine, bool]:
        """The one that runs, or a new one; and whether it is new."""
        with self._locked():
            machine = self._read()
            if machine is not None:
                return machine, False
            shutil.rmtree(self._files, ignore_errors=True)
            self._files.mkdir(parents=True)
            _, machine = boot(self._files, options, probe, on_stage, outlive=True)
            new = self._record.with_suffix(".new")
            new.write_text(json.dumps(asdict(machine), indent=2))
            new.replace(self._record)
            return machine, True

    def stop(self) -> VirtualMachine | None:
        """Stops it; None if none ran."""
        with self._locked():
            machine = self._read()
            if machine is not None:
                machine.stop()
            self._record.unlink(missing_ok=True)
            return machine

    @property
    def _files(self) -> Path:
        return self._folder / "files"

    @property
    def _record(self) -> Path:
        return self._folder / "vm.json"

    def _read(self) -> VirtualMachine | None:
        try:
            machine = VirtualMachine(**json.loads(self._record.read_text()))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError) as error:
            _LOG.warning("%s is not understood (%s) and is ignored", self._record, error)
            return None
        return machine if machine.is_running() else None

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Two commands at a time would boot two."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
