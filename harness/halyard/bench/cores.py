# SPDX-License-Identifier: Apache-2.0
"""The cores that engines have: how many threads these are enough for, and which rounds had them
alone."""

from __future__ import annotations

import math
import os
import statistics
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Self

from halyard.bench.ratios import threads
from halyard.errors import ConfigError
from halyard.timing import machine
from halyard.timing.turns import ROUNDS


def check(cores: Sequence[int]) -> None:
    there = machine.cores()
    if not set(cores) <= set(there):
        named = ",".join(map(str, there))
        raise ConfigError(f"--cpus names a core that is not to be had; there are {named}")


def enough_for(counts: Sequence[int], cores: Sequence[int]) -> tuple[list[int], str]:
    """The numbers of threads that have a core each, and what to say of the others: threads that
    wait for each other tell nothing of a machine that has more. Without `cores` all of this
    machine's count. ConfigError where none is left."""
    many = len(cores or machine.cores())
    fitting = [count for count in counts if count <= many]
    others = [count for count in counts if count > many]
    here = f"{'--cpus gives' if cores else 'this machine has'} {many} core{'s' * (many != 1)}"
    if not fitting:
        raise ConfigError(f"--threads {','.join(map(str, counts))}: {here}")
    if not others:
        return fitting, ""
    words = [*map(str, others[:-1]), threads(others[-1])]
    return fitting, f"Left out: {', '.join(words)}; {here}."


@dataclass(frozen=True)
class CoreTurns:
    """All engines have the same core in a round, and the next one in the next round: one whose core
    other programs use more does no worse than others. For engines of one thread: of several some
    would have to share a core, by chance."""

    cores: Sequence[int]

    def of_round(self, number: int) -> int:
        return self.cores[number % len(self.cores)]

    @property
    def rounds(self) -> int:
        """So many that each core comes as often."""
        return math.ceil(ROUNDS / len(self.cores)) * len(self.cores)


# Of the fastest of a benchmark's rounds, the least pace of one whose core no other program had.
_OWN_PACE = 0.8


@dataclass(frozen=True)
class OwnRounds:
    """Of one model those rounds in which the core was the engines' own: ours over the best peer's
    time, of medians, and how many they are of how many."""

    ratio: float | None
    count: int
    of: int

    @classmethod
    def among(
        cls,
        paces: Sequence[float],
        ours: Sequence[float],
        peers: Sequence[Sequence[float]],
        fastest: float,
    ) -> Self:
        """`paces` are those of the rounds' cores and `fastest` the best one of the benchmark; of
        ours and of each peer there is a time for each round, or that peer does not count."""
        own = [number for number, pace in enumerate(paces) if pace >= _OWN_PACE * fastest]
        ratios = [
            statistics.median(ours[number] / times[number] for number in own)
            for times in peers
            if own and len(times) == len(ours) == len(paces)
        ]
        return cls(max(ratios, default=None), len(own), len(paces))


@contextmanager
def pinned(cores: Sequence[int]) -> Iterator[None]:
    """All that is started meanwhile has these cores; none: those that there are."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores or before)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
