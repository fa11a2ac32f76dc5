# SPDX-License-Identifier: Apache-2.0
"""Attacks on a virtual device, an honest client beside them, and what a process holds."""

import os
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Self

from halyard.devices import WORK_FOLDER, Service, VirtualDevice
from halyard.errors import ProgramMissing

ROOT = Path(__file__).parents[2]

_SETTLE = 15.0
_POLL = 0.5
# Seconds that an attack has to get under way before the honest client starts.
_LEAD = 3

# What makes a service start every thread that it may have, with little memory: many clients at once
# that prepare a small model, and execute it for long.
_PEAKS: Sequence[Sequence[str | int]] = (
    ("slot-hog", "--clients", 1, "--processes", 48),
    ("sync-hog", "--clients", 2, "--processes", 48),
)
# Seconds without a new thread, and the most that each of them goes on.
_STEADY = 4.0
_LONGEST_PEAK = 30.0


def attacker_program() -> Path:
    """It is a test, so no part of the package: it lies in the build folder. ProgramMissing if it
    does not."""
    given = os.environ.get("HALYARD_NATIVE_DIR")
    path = (Path(given) if given else ROOT / "build/release") / "halyard-attacker"
    if path.is_file():
        return path
    raise ProgramMissing(f"{path} is missing: ninja -C build/release halyard_attacker")


# ---- what a process holds -----------------------------------------------------------------------


@dataclass(frozen=True)
class Footprint:
    """What a process has of the kernel's: from /proc, and from binder's own tables."""

    tasks: int
    descriptors: int
    mappings: int
    shared_mappings: int  # of memory that has a descriptor: clients' pools
    resident_kib: int
    ticks: int  # of processor time, so far
    # Of all its connections to binder; 0 where the kernel has no debugfs.
    binder_threads: int
    binder_nodes: int  # its own objects
    binder_refs: int  # others' objects
    binder_deaths: int  # notifications that it asked for
    binder_buffers: int  # received and not given back

    def without_time(self) -> "Footprint":
        return Footprint(
            **{f.name: getattr(self, f.name) for f in fields(self) if f.name != "ticks"}, ticks=0
        )


def footprint(device: VirtualDevice, pid: int) -> Footprint:
    """Of a process of the device. DeviceError if there is none."""
    proc = f"/proc/{pid}"
    marks = ("tasks", "descriptors", "mappings", "status", "stat", "binder")
    said = device.shell(
        "mount -t debugfs debugfs /sys/kernel/debug 2>/dev/null; "
        f"echo =tasks; ls {proc}/task; echo =descriptors; ls {proc}/fd; "
        f"echo =mappings; cat {proc}/maps; echo =status; cat {proc}/status; "
        f"echo =stat; cat {proc}/stat; echo =binder; cat /sys/kernel/debug/binder/proc/{pid}"
    ).stdout
    lines: dict[str, list[str]] = {mark: [] for mark in marks}
    current: list[str] = []
    for line in said.splitlines():
        if line.startswith("=") and line[1:] in lines:
            current = lines[line[1:]]
        else:
            current.append(line)
    rest = " ".join(lines["stat"]).rpartition(")")[2].split()
    resident = [line.split()[1] for line in lines["status"] if line.startswith("VmRSS:")]
    binder = [line.strip() for line in lines["binder"]]
    references = [line for line in binder if line.startswith("ref ")]
    return Footprint(
        tasks=len(lines["tasks"]),
        descriptors=len(lines["descriptors"]),
        mappings=len(lines["mappings"]),
        # A binder mapping is a device's; pools are files without a name.
        shared_mappings=sum(
            "memfd:" in line or "anon_hugepage" in line for line in lines["mappings"]
        ),
        resident_kib=int(resident[0]) if resident else 0,
        ticks=sum(int(field) for field in rest[11:13]),
        binder_threads=sum(line.startswith("thread ") for line in binder),
        binder_nodes=sum(line.startswith("node ") for line in binder),
        binder_refs=len(references),
        binder_deaths=sum(not line.endswith(" d 0000000000000000") for line in references),
        binder_buffers=sum(line.startswith("buffer ") for line in binder),
    )


def more_than(now: Footprint, before: Footprint, slack: Mapping[str, int]) -> list[str]:
    """What `now` has more of than `before`, by more than the slack for its kind."""
    return [
        f"{f.name}: {getattr(before, f.name)} before, {getattr(now, f.name)} now"
        for f in fields(Footprint)
        if f.name not in ("ticks", "resident_kib")
        and getattr(now, f.name) > getattr(before, f.name) + slack.get(f.name, 0)
    ]


def await_footprint(
    device: VirtualDevice,
    pid: int,
    before: Footprint,
    slack: Mapping[str, int] | None = None,
    timeout: float = _SETTLE,
) -> Footprint:
    """The footprint once it is no larger than before; fails if that does not come."""
    end = time.monotonic() + timeout
    while True:
        now = footprint(device, pid)
        left = more_than(now, before, slack or {})
        if not left:
            return now
        assert time.monotonic() < end, left
        time.sleep(_POLL)


def await_rest(device: VirtualDevice, pid: int, timeout: float = _SETTLE) -> None:
    """Until the process computes no more."""
    end = time.monotonic() + timeout
    ticks = footprint(device, pid).ticks
    while True:
        time.sleep(2.0)
        now = footprint(device, pid).ticks
        if now - ticks < 20:  # of 200, or of 400 on two processors
            return
        assert time.monotonic() < end, f"it still computes: {now - ticks} ticks in two seconds"
        ticks = now


# ---- attacks ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fight:
    """What became of an honest client beside an attack."""

    attack: str  # what the attack said
    failure: str  # of the honest client; empty: all its calls were answered
    worst: Mapping[str, int]  # microseconds, by kind of call
    calls: Mapping[str, int]


class Attacker:
    """The program on a device, against one service."""

    def __init__(self, device: VirtualDevice, service: Service) -> None:
        self._device = device
        self._target = shlex.quote(f"hidl:{service.instance}")
        self._remote = f"{WORK_FOLDER}/halyard-attacker"
        local = attacker_program()
        size = device.shell(f"stat -c %s {self._remote} 2>/dev/null").stdout.strip()
        if size != str(local.stat().st_size):
            device.push(local, self._remote)

    def command(self, *words: str | int) -> str:
        """A command line for the device's shell."""
        return (
            shlex.join([self._remote])
            + f" --target {self._target} "
            + shlex.join([str(word) for word in words])
        )

    def run(self, *words: str | int, timeout: float = 120.0) -> str:
        """One to its end. CommandFailed if it could not be carried out."""
        said = self._device.shell(self.command(*words), timeout).check().stdout
        print(said)
        return said

    def start(self, *words: str | int) -> "Running":
        return Running(self._device, self.command(*words))

    def honest(self, seconds: int = 4, timeout: float = 180.0) -> Fight:
        return self._judge("", self.command("steady", "--seconds", seconds), timeout)

    def beside(
        self, *words: str | int, seconds: int = 8, timeout: float = 240.0, calls: str = "all"
    ) -> Fight:
        """An attack that goes on for as long as the honest client beside it calls.

        `calls`: "all", or "essentials".
        """
        with self.start(*words, "--seconds", seconds + 120) as running:
            time.sleep(_LEAD)
            steady = self.command("steady", "--seconds", seconds, "--against", calls)
            fight = self._judge("", steady, timeout)
            said = running.said()
        print(f"the attack: {said.strip()}")
        return Fight(said, fight.failure, fight.worst, fight.calls)

    def _judge(self, attack: str, steady: str, timeout: float) -> Fight:
        done = self._device.shell(steady, timeout)
        print(done.stdout, done.stderr)
        rows = [line.split("\t") for line in done.stdout.splitlines() if line.count("\t") == 3]
        worst = {row[0]: int(row[3]) for row in rows}
        print("worst, in milliseconds:", {kind: us / 1000 for kind, us in worst.items()})
        return Fight(
            attack=attack,
            failure="" if done.exit_code == 0 else done.stderr.strip() or "it died",
            worst=worst,
            calls={row[0]: int(row[1]) for row in rows},
        )


class Running:
    """An attack in the background, in a session of its own; killed on leaving."""

    def __init__(self, device: VirtualDevice, command: str) -> None:
        self._device = device
        self._log = f"{WORK_FOLDER}/attack.log"
        started = device.shell(f"setsid {command} >{self._log} 2>&1 </dev/null & echo $!").check()
        self.pid = int(started.stdout)

    def said(self) -> str:
        return self._device.shell(f"cat {self._log}").stdout

    def kill(self) -> None:
        """All of its processes at once, by SIGKILL."""
        self._device.shell(f"kill -9 -- -{self.pid} 2>/dev/null; rm -f {self._log}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


def assert_served(fight: Fight, kinds: Sequence[str] = ()) -> None:
    """Every call was answered: those of `kinds`, or all that an honest client makes."""
    assert fight.failure == ""
    for kind in kinds:
        assert fight.calls.get(kind, 0) > 0, f"{kind} was never called"


def start_threads(device: VirtualDevice, service: Service) -> None:
    """Makes a service start the threads that it starts as it needs them: the kernel asks for binder
    threads, and schedulers for slots. They stay for good, each with its stack and what the
    allocator keeps for it, so whoever looks for growth has them first.

    The clients are gone afterwards; what ran for them ends by and by.
    """
    attacker = Attacker(device, service)
    for words in _PEAKS:
        with attacker.start(*words, "--seconds", int(2 * _LONGEST_PEAK)):
            begin = grew = time.monotonic()
            most = 0
            while time.monotonic() < min(grew + _STEADY, begin + _LONGEST_PEAK):
                time.sleep(_POLL)
                threads = footprint(device, service.pid).tasks
                if threads > most:
                    most, grew = threads, time.monotonic()
        await_rest(device, service.pid)
