# SPDX-License-Identifier: Apache-2.0
"""Attacks on a virtual device, and an honest client beside them.

An attack is carried out by root, as whom the honest client calls, unless its words say
`--uid STRANGER`.
"""

import itertools
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from halyard.devices import WORK_FOLDER, Service, VirtualDevice
from tests.device.footprint import Footprint, await_rest
from tests.device.programs import put_test_program
from tests.waiting import awaited, comes_true

_POLL = 0.5
# Seconds that an attack has to get under way before the honest client starts.
_LEAD = 2
# An app's user, unlike that of the honest client, who is root.
STRANGER = 10066

# Seconds that an honest client waits for an answer. An emulated service with a sanitizer is many
# times slower.
_PATIENCE = 30
_PATIENCE_SANITIZED = 150

# The load that makes a service start every thread that it may have, with little memory: many
# clients at once that prepare a small model, and execute it for long.
_PEAKS: Sequence[Sequence[str | int]] = (
    ("slot-hog", "--clients", 1, "--processes", 48),
    ("sync-hog", "--clients", 2, "--processes", 48),
)
# Seconds without a new thread, and the most that each of them goes on.
_STEADY = 4.0
_LONGEST_PEAK = 30.0


@dataclass(frozen=True)
class Latency:
    """An honest client's waits for calls of one kind, in microseconds."""

    calls: int
    median: int
    p99: int
    worst: int


@dataclass(frozen=True)
class Fight:
    """The result of an honest client beside an attack."""

    attack: str  # what the attack said; empty: there was none
    failure: str  # of the honest client; empty: all its calls were answered
    latencies: Mapping[str, Latency]  # by kind of call


class Attacker:
    """The program on a device, against one service, or a name."""

    def __init__(
        self, device: VirtualDevice, service: Service | str, *, quiet: bool = False
    ) -> None:
        self._device = device
        self._quiet = quiet
        name = service if isinstance(service, str) else service.instance
        self._target = shlex.quote(f"hidl:{name}")
        self._patience = _PATIENCE_SANITIZED if device.machine.sanitized else _PATIENCE
        self._remote = put_test_program(device, "halyard-attacker")

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
        self._tell(said)
        return said

    def _tell(self, text: str) -> None:
        if not self._quiet:
            print(text)

    def start(self, *words: str | int) -> "Running":
        return Running(self._device, self.command(*words))

    def honest(self, seconds: int = 3) -> Fight:
        return self._judge("--seconds", seconds)

    def beside(self, *words: str | int, seconds: int, calls: str = "all", once: str = "") -> Fight:
        """An attack that goes on for as long as the honest client beside it calls.

        `calls`: "all", or "essentials". `once`: the honest client waits until the attack says this.
        """
        with self.start(*words, "--seconds", seconds + 4 * self._patience) as running:
            time.sleep(_LEAD)
            comes_true(lambda: once in running.said(), seconds=4 * self._patience, every=_POLL)
            fight = self._judge("--seconds", seconds, "--against", calls)
            said = running.said()
        self._tell(f"the attack: {said.strip()}")
        return replace(fight, attack=said)

    def _judge(self, *words: str | int) -> Fight:
        steady = self.command("steady", "--patience", self._patience, *words)
        # A call of each kind, all of which may take as long.
        done = self._device.shell(steady, 8 * self._patience)
        self._tell(done.stderr)
        rows = [line.split("\t") for line in done.stdout.splitlines() if line.count("\t") == 4]
        latencies = {kind: Latency(*(int(number) for number in rest)) for kind, *rest in rows}
        for kind, latency in latencies.items():
            self._tell(
                f"{kind}: median {latency.median / 1000:.1f} ms, 99th percentile "
                f"{latency.p99 / 1000:.1f} ms, worst {latency.worst / 1000:.1f} ms"
            )
        return Fight(
            attack="",
            failure="" if done.exit_code == 0 else done.stderr.strip() or "it died",
            latencies=latencies,
        )


_numbers = itertools.count()


class Running:
    """An attack in the background, in a session of its own; killed on leaving."""

    def __init__(self, device: VirtualDevice, command: str) -> None:
        self._device = device
        self._log = f"{WORK_FOLDER}/attack-{next(_numbers)}.log"
        started = device.shell(f"setsid {command} >{self._log} 2>&1 </dev/null & echo $!").check()
        self.pid = int(started.stdout)

    def said(self) -> str:
        return self._device.shell(f"cat {self._log}").stdout

    def await_saying(self, words: str, seconds: float = 180) -> str:
        """All that it has said once these words are in it; fails if they do not come."""
        awaited(
            lambda: words in self.said(),
            lambda: f"the attack does not come to {words!r}: {self.said()}",
            seconds=seconds,
            every=_POLL,
        )
        return self.said()

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
        assert kind in fight.latencies, f"{kind} was never called"


def start_threads(device: VirtualDevice, service: Service) -> None:
    """Makes a service start the threads that it starts as it needs them: the kernel asks for binder
    threads, and schedulers for slots. They stay for good, each with its stack and what the
    allocator keeps for it, so a test that looks for growth has them first.

    The clients are gone afterwards; what ran for them ends by and by.
    """
    attacker = Attacker(device, service)
    for words in _PEAKS:
        with attacker.start(*words, "--seconds", int(2 * _LONGEST_PEAK)):
            grew = time.monotonic()
            most = 0

            def is_steady() -> bool:
                nonlocal grew, most
                threads = Footprint.of(device, service.pid).threads
                if threads > most:
                    most, grew = threads, time.monotonic()
                return time.monotonic() >= grew + _STEADY

            comes_true(is_steady, seconds=_LONGEST_PEAK, every=_POLL)
        await_rest(device, service.pid)
