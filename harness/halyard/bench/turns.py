# SPDX-License-Identifier: Apache-2.0
"""Which engine executes when, and how often."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")

ROUNDS = 10
# At least so many executions of an engine, however slow it is, and so many seconds of it at most
# for more than those.
_LEAST_RUNS = 3
_SECONDS = 10.0
# Executions before the counted ones of a turn: so many milliseconds of them, until caches and
# frequencies are those of this engine. An execution that takes long brings its own.
_WARMUP_MS = 10.0
_MOST_WARMUP = 10
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


def runs_of(wanted: int, milliseconds: float) -> int:
    """How many executions an engine gets that takes so long for one."""
    affordable = int(_SECONDS * 1e3 / max(milliseconds, 1e-6))
    return min(wanted, max(affordable, _LEAST_RUNS))


def plan(milliseconds: Mapping[str, float], wanted: int) -> list[list[Turn]]:
    """The rounds, from how long one execution of each engine takes. An engine that runs less often
    than there are rounds misses some."""
    engines = list(milliseconds)
    rounds = []
    for number in range(min(ROUNDS, wanted)):
        turns = []
        for engine in order(engines, number):
            runs = runs_of(wanted, milliseconds[engine])
            count = _part(runs, number, min(ROUNDS, wanted))
            if count:
                turns.append(Turn(engine, count, _warmup(milliseconds[engine])))
        rounds.append(turns)
    return rounds


def _warmup(milliseconds: float) -> int:
    if milliseconds > _LONG_MS:
        return 0
    return max(1, min(math.ceil(_WARMUP_MS / max(milliseconds, 1e-6)), _MOST_WARMUP))


def _part(total: int, number: int, parts: int) -> int:
    return (number + 1) * total // parts - number * total // parts
