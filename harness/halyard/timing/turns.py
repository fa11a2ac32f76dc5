# SPDX-License-Identifier: Apache-2.0
"""Which engine executes when, and how often."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")

ROUNDS = 10
# Seconds of an engine's executions where there is no limit.
_LONGEST_S = 86_400.0
# At least so many executions of an engine, however slow it is.
_LEAST_RUNS = 3
# Executions before the counted ones of a turn: so many milliseconds of them, until caches and
# frequencies are those of this engine. That is what a Xeon takes after a pause until 8-bit
# ResNet-50 takes 5.9 ms again instead of 6.7. An execution that takes long brings its own.
_WARMUP_MS = 50.0
_MOST_WARMUP = 100
_LONG_MS = 1000.0


@dataclass(frozen=True)
class Turn:
    engine: str
    count: int
    warmup: int


def order(engines: Sequence[T], number: int) -> list[T]:
    """Of round `number`: begun by another engine each time, and every other time backwards, so that
    none always comes after the same one."""
    start = number // 2 % len(engines) if engines else 0
    rotated = [*engines[start:], *engines[:start]]
    return rotated[::-1] if number % 2 else rotated


@dataclass(frozen=True)
class Amount:
    """Executions of an engine: so many at least, and for so many seconds at least, but no more than
    fit into `most_s`, if that is not 0."""

    runs: int = 50
    least_s: float = 0.0
    most_s: float = 10.0

    def of(self, milliseconds: float) -> int:
        """How many an engine gets that takes so long for one."""
        each = max(milliseconds, 1e-6)
        wanted = max(self.runs, math.ceil(self.least_s * 1e3 / each))
        affordable = int((self.most_s or _LONGEST_S) * 1e3 / each)
        return min(wanted, max(affordable, _LEAST_RUNS))


def plan(
    milliseconds: Mapping[str, float], amount: Amount, rounds_at_most: int = ROUNDS
) -> list[list[Turn]]:
    """The rounds, from how long one execution of each engine takes. An engine that runs less often
    than there are rounds misses some."""
    engines = list(milliseconds)
    runs = {engine: amount.of(each) for engine, each in milliseconds.items()}
    count = min(rounds_at_most, max(runs.values(), default=0))
    rounds = []
    for number in range(count):
        turns = []
        for engine in order(engines, number):
            part = _part(runs[engine], number, count)
            if part:
                turns.append(Turn(engine, part, _warmup(milliseconds[engine])))
        rounds.append(turns)
    return rounds


def _warmup(milliseconds: float) -> int:
    if milliseconds > _LONG_MS:
        return 0
    return max(1, min(math.ceil(_WARMUP_MS / max(milliseconds, 1e-6)), _MOST_WARMUP))


def _part(total: int, number: int, parts: int) -> int:
    return (number + 1) * total // parts - number * total // parts
