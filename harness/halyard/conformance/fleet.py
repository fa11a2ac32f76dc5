# SPDX-License-Identifier: Apache-2.0
"""A run on several devices at once, a thread for each: cases divided among them, or all cases on
each. The cases of a device that drops out run on the others."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from halyard.conformance.device_worker import Place, Worker
from halyard.conformance.outcome import Outcome, Status
from halyard.conformance.plan import Planned
from halyard.conformance.pool import Pool
from halyard.errors import HalyardError
from halyard.transport import hal_version

Mode = Literal["shard", "all"]

# Seconds between two looks whether the command is interrupted.
_LOOK = 0.2


@dataclass
class Turn:
    """Some cases on a device; seconds since the run began."""

    begin: float
    end: float
    cases: int


@dataclass
class Share:
    """A device's share of a run."""

    name: str
    place: Place = field(default_factory=lambda: Place("", ""))
    version: str = ""
    outcomes: dict[str, Outcome] = field(default_factory=dict)  # by the names of the plan
    turns: list[Turn] = field(default_factory=list)
    lost: str = ""  # why it dropped out
    error: HalyardError | None = None

    @property
    def busy(self) -> float:
        """Seconds in which it ran cases."""
        return sum(turn.end - turn.begin for turn in self.turns)


class Fleet:
    """`run` gives the outcomes; `shares` are complete when it has ended."""

    def __init__(self, workers: Sequence[Worker], mode: Mode) -> None:
        self._workers = workers
        self._mode = mode
        self.shares = [Share(worker.name) for worker in workers]
        self._events: queue.Queue[tuple[Share, Outcome] | tuple[Share, str] | None] = queue.Queue()
        self._begin = 0.0
        self._broken: BaseException | None = None

    def run(self, runs: Sequence[Planned]) -> Generator[tuple[Share, Outcome | str], None, None]:
        """Outcomes as they come, and why a device drops out when it does. Closing it, or an
        interruption, lets each device end its case, and closes all. HalyardError where no device
        could be opened."""
        if self._mode == "shard":
            pools = [Pool(runs, len(self._workers))] * len(self._workers)
        else:
            pools = [Pool(runs, 1, max(len(runs), 1)) for _ in self._workers]
        self._begin = time.monotonic()
        threads = [
            threading.Thread(target=self._work, args=each, name=f"halyard-{each[0].name}")
            for each in zip(self._workers, self.shares, pools, strict=True)
        ]
        for thread in threads:
            thread.start()
        ended = 0
        try:
            while ended < len(threads):
                try:
                    event = self._events.get(timeout=_LOOK)
                except queue.Empty:
                    continue
                if event is None:
                    ended += 1
                else:
                    yield event
        finally:
            for pool in pools:
                pool.stop()
            for thread in threads:
                thread.join()
        if self._broken is not None:
            raise self._broken
        errors = [share.error for share in self.shares if share.error is not None]
        if len(errors) == len(self.shares) and not any(share.outcomes for share in self.shares):
            raise errors[0]

    def _work(self, worker: Worker, share: Share, pool: Pool) -> None:
        try:
            share.place = worker.open()
            while taken := pool.take():
                self._take_turn(worker, share, pool, taken)
                if share.lost:
                    break
        except HalyardError as error:
            self._lose(share, error)
        except BaseException as error:  # noqa: BLE001
            # Else the others would wait for what it has taken.
            self._broken = error
            pool.stop()
        finally:
            share.version = getattr(worker, "version", "")
            try:
                worker.close()
            except HalyardError as error:
                self._lose(share, error)
            self._events.put(None)

    def _take_turn(self, worker: Worker, share: Share, pool: Pool, taken: list[Planned]) -> None:
        """Runs what was taken; gives back what it could not run."""
        left = {planned.name: planned for planned in taken}
        turn = Turn(time.monotonic() - self._begin, 0.0, 0)
        failure: HalyardError | None = None
        results = worker.run(taken)
        try:
            for planned, outcome in results:
                del left[planned.name]
                turn.cases += 1
                share.outcomes[planned.name] = outcome
                self._events.put((share, outcome))
                if pool.is_stopped:
                    break
        except HalyardError as error:
            failure = error
        finally:
            results.close()
            turn.end = time.monotonic() - self._begin
            share.turns.append(turn)
        if failure is None:
            pool.done()
            return
        self._lose(share, failure)
        suspect = pool.give_back(list(left.values()))
        if suspect is not None:
            outcome = _blamed(suspect, share)
            share.outcomes[suspect.name] = outcome
            self._events.put((share, outcome))

    def _lose(self, share: Share, error: HalyardError) -> None:
        if not share.lost:
            share.lost = str(error).partition("\n")[0]
            share.error = error
            self._events.put((share, share.lost))


def _blamed(planned: Planned, share: Share) -> Outcome:
    """Of a case that has brought down one device after the other."""
    case = planned.case
    return Outcome(
        name=planned.name,
        spec=case.spec,
        status=Status.CRASHED,
        stage="crash",
        message=f"two devices were lost while this ran, {share.name} last: {share.lost}",
        max_steps=None,
        max_error=None,
        compared=0,
        operations=tuple(sorted(case.operations)),
        types=tuple(sorted(case.types)),
        forms=tuple(sorted(case.forms)),
        hal=hal_version.format(planned.version),
        seconds=0.0,
        device=share.name,
    )


def differences(shares: Sequence[Share]) -> list[tuple[str, dict[str, Outcome]]]:
    """The cases that have not come to the same on all devices that ran them."""
    names = dict.fromkeys(name for share in shares for name in share.outcomes)
    found = []
    for name in names:
        there = {share.name: share.outcomes[name] for share in shares if name in share.outcomes}
        if len({outcome.status for outcome in there.values()}) > 1:
            found.append((name, there))
    return found
