# SPDX-License-Identifier: Apache-2.0
"""A virtual device's life: boot it, find the one that runs, stop it."""

import contextlib
import fcntl
import json
import logging
import shutil
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from halyard import paths
from halyard.errors import ConfigError, HalyardError, VmError
from halyard.vm import initramfs, kernel, qemu, sanitizers
from halyard.vm.accelerator import Accel, Kvm
from halyard.vm.machine_type import MACHINES, X86_64, Machine

_LOG = logging.getLogger(__name__)

# Called with each stage that is over and its seconds.
StageListener = Callable[[str, float], None]
# Asks the device behind that port for an answer; raises HalyardError while there is none.
Probe = Callable[[int], None]

_POLL = 0.02
# Seconds that a guest on KVM, where its kernel starts in one, has until it says so.
_KVM_FIRST_SIGN = 15.0
# Before a virtual device's name in that of its folder; no name has it.
_NAMED = "+"


@dataclass(frozen=True)
class VmOptions:
    memory: int = 1024  # MiB; at least sanitizers.MEMORY where programs are sanitized
    processors: int = 2
    properties: Mapping[str, str] = field(default_factory=dict)
    # The environment of its daemons, and of all that adbd starts.
    environment: Mapping[str, str] = field(default_factory=dict)
    timeout: float = 60.0  # seconds until adb answers
    machine: Machine = X86_64
    name: str = ""  # of several; empty: the one that has none
    accel: Accel = Accel.AUTO


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
    memory: int = 0  # as in VmOptions; 0: not known
    processors: int = 0
    properties: Mapping[str, str] = field(default_factory=dict)
    accel: str = Accel.TCG.value

    @property
    def is_emulated(self) -> bool:
        return self.accel != Accel.KVM.value

    def differences(self, options: VmOptions, asked: Collection[str]) -> list[str]:
        """Where it is not what the options ask for, of those that are named."""
        wanted = {
            "memory": (self.memory, options.memory),
            "processors": (self.processors, options.processors),
            "properties": (dict(self.properties), dict(options.properties)),
            "accel": (self.accel, options.accel.value),
        }
        return [
            f"{name} {_told(here)}, not {_told(there)}"
            for name, (here, there) in wanted.items()
            if name in asked and here != there and there != Accel.AUTO.value
        ]

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
    with paths.Temporary("vm") as folder:
        running, machine = boot(folder, options, probe, on_stage, outlive=False)
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
    found = kernel.find(options.machine, paths.cache())
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
    memory = max(options.memory, sanitizers.MEMORY) if sanitized else options.memory
    files = qemu.QemuOptions(
        machine=options.machine,
        kernel=found.image,
        initramfs=root,
        console=folder / "console",
        log=folder / "qemu.log",
        memory=memory,
        processors=options.processors,
    )
    running, accel = _start(files, options, probe, watch, outlive=outlive)
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
        memory=options.memory,
        processors=options.processors,
        properties=options.properties,
        accel=accel.value,
    )


def _told(value: object) -> str:
    if not isinstance(value, dict):
        return str(value)
    return ", ".join(f"{name}={each}" for name, each in sorted(value.items())) or "none"


def _start(
    files: qemu.QemuOptions,
    options: VmOptions,
    probe: Probe,
    watch: "_Stopwatch",
    *,
    outlive: bool,
) -> tuple[qemu.Qemu, Accel]:
    """A guest that answers, on KVM where that works, unless the options say what to take."""
    kvm = Kvm(paths.cache() / "kvm.json")
    ways = kvm.ways(options.machine, options.accel)
    for way in ways:
        on_kvm = way is Accel.KVM
        try:
            running = _boot_guest(
                replace(files, kvm=on_kvm), options.timeout, probe, watch, outlive=outlive
            )
        except VmError as error:
            if not on_kvm:
                raise
            reason = error.message.splitlines()[0]
            kvm.keep(reason)
            if way is ways[-1]:
                message = f"on KVM: {reason}; --accel tcg emulates"
                raise VmError(message, console=error.console) from error
            _LOG.info("no KVM, so it is emulated: %s", reason)
            watch.over("KVM tried in vain")
        else:
            if on_kvm:
                kvm.keep("")
            return running, way
    raise AssertionError("there is a way at least")


def _boot_guest(
    files: qemu.QemuOptions, timeout: float, probe: Probe, watch: "_Stopwatch", *, outlive: bool
) -> qemu.Qemu:
    running = qemu.start(files, outlive=outlive)
    try:
        watch.over("QEMU started")
        # Where virtualisation is there but does not work, a guest may stand still from the start.
        first_sign = min(_KVM_FIRST_SIGN, timeout) if files.kvm else timeout
        _await_guest(running, files.console, watch, timeout, first_sign)
        _await_answer(running, files.console, probe, timeout)
        watch.over("adb answers")
    except BaseException:
        running.stop()
        raise
    return running


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


def _await_guest(
    running: qemu.Qemu, console: Path, watch: _Stopwatch, timeout: float, first_sign: float
) -> None:
    """Until the guest says that adbd listens. A connection before that would hang in QEMU. It has
    to say something within `first_sign` seconds."""
    begin = time.monotonic()
    end = begin + timeout
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
        if not seen and time.monotonic() > begin + first_sign:
            raise VmError(f"the guest's kernel did not start in {first_sign:g} s")
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
    """The virtual device that `halyard vm start` leaves running, one per user, architecture and
    name."""

    def __init__(
        self, folder: Path | None = None, machine: Machine = X86_64, name: str = ""
    ) -> None:
        own = f"{_NAMED}{name}" if name else ""
        self._folder = folder or paths.state() / f"vm{machine.suffix}{own}"

    @classmethod
    def names(cls, machine: Machine) -> list[str]:
        """Of those that have been started with a name, whether they run or not."""
        before = f"vm{machine.suffix}{_NAMED}"
        found = paths.state().glob(f"{before}*/vm.json")
        return sorted(path.parent.name.removeprefix(before) for path in found)

    def running(self) -> VirtualMachine | None:
        with self._locked():
            return self._read()

    def start(
        self,
        options: VmOptions,
        probe: Probe,
        on_stage: StageListener | None = None,
        *,
        asked: Collection[str] = (),
    ) -> tuple[VirtualMachine, bool]:
        """The one that runs, or a new one; and whether it is new. ConfigError if the one that runs
        differs in what is asked for: fields of the options."""
        with self._locked():
            machine = self._read()
            if machine is not None:
                differs = machine.differences(options, asked)
                if differs:
                    raise ConfigError(
                        f"the virtual device that runs has {'; '.join(differs)}: "
                        "halyard vm stop ends it"
                    )
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
        machine = self._recorded()
        if machine is not None and not machine.is_running():
            machine = None
        self._end_others(machine)
        return machine

    def _recorded(self) -> VirtualMachine | None:
        try:
            return VirtualMachine(**json.loads(self._record.read_text()))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError) as error:
            _LOG.warning("%s is not understood (%s) and is ignored", self._record, error)
            return None

    def _end_others(self, machine: VirtualMachine | None) -> None:
        """The process that boots one holds the lock: what runs without a record was left by one
        that was killed before it was done."""
        for pid in qemu.with_console(self._files / "console"):
            born = qemu.start_time(pid)
            if born is not None and (machine is None or pid != machine.pid):
                qemu.end(pid, born)
                _LOG.warning("ended process %d, a virtual device whose start was killed", pid)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Two commands at a time would boot two."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
