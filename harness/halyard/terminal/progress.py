# SPDX-License-Identifier: Apache-2.0
"""How far a run of many tests is, on a terminal or in a log."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Protocol, TypeVar

from rich.console import Group
from rich.text import Text

from halyard.terminal.console import Terminal, gauge, printable, time_left_text

# Seconds between two lines of progress in a log, and between two changes on a terminal.
_LOG_PACE = 5.0
_TERMINAL_PACE = 0.1
# As many failures as are shown while they come; the list at the end has all.
_SHOWN_AT_ONCE = 20
_LONGEST_MESSAGE = 300


class Judged(Protocol):
    """The outcome of a test."""

    @property
    def name(self) -> str: ...
    @property
    def message(self) -> str: ...
    @property
    def status(self) -> Judgement: ...


class Judgement(Protocol):
    """A member of a StrEnum, of which "passed" is one."""

    @property
    def value(self) -> str: ...
    @property
    def is_good(self) -> bool: ...


S = TypeVar("S", bound=StrEnum)


def counts_text(counts: Counter[S], statuses: type[S]) -> str:
    """ "7 passed, 1 failed": what occurs, and how many passed."""
    shown = [status for status in statuses if counts[status] or status == "passed"]
    return ", ".join(f"{counts[status]} {status}" for status in shown)


def failure_line(outcome: Judged) -> str:
    return f"{outcome.status.value.upper()} {outcome.name}: {short(outcome.message)}"


def short(message: str) -> str:
    line = " ".join(message.split())
    return line if len(line) <= _LONGEST_MESSAGE else f"{line[:_LONGEST_MESSAGE]} …"


class Progress:
    """Says how far a run is."""

    def __init__(self, terminal: Terminal, planned: int, statuses: type[StrEnum]) -> None:
        self._terminal = terminal
        self._planned = planned
        self._statuses = statuses
        self._counts: Counter[StrEnum] = Counter()
        self._bad = 0
        self._begin = time.monotonic()
        self._said = self._begin
        self._is_live = terminal.console.is_terminal
        self._status = terminal.console.status("starting") if self._is_live else None

    @contextmanager
    def shown(self) -> Iterator[None]:
        if self._status is None:
            yield
            return
        with self._status:
            yield

    def add(self, outcome: Judged) -> None:
        self._counts[self._statuses(outcome.status.value)] += 1
        if not outcome.status.is_good:
            self._bad += 1
            if self._bad <= _SHOWN_AT_ONCE:
                self._terminal.line(failure_line(outcome))
            elif self._bad == _SHOWN_AT_ONCE + 1:
                self._terminal.line("more failures are listed at the end")
        now = time.monotonic()
        pace = _TERMINAL_PACE if self._is_live else _LOG_PACE
        if now - self._said >= pace:
            self._said = now
            self._say(outcome.name, now)

    def _say(self, name: str, now: float) -> None:
        done = self._counts.total()
        rate = done / max(now - self._begin, 1e-9)
        counts = counts_text(self._counts, self._statuses)
        if self._status is not None:
            width, seconds = self._terminal.console.width, now - self._begin
            bar = gauge(f"{done} of {self._planned}", done, self._planned, seconds, width)
            more = Text(printable(f"{counts}; {rate:.0f}/s; {name}"))
            more.truncate(width - 2, overflow="ellipsis")
            self._status.update(Group(bar, more))
        else:
            left = time_left_text((self._planned - done) / rate)
            self._terminal.line(
                f"{done} of {self._planned}: {counts}; {rate:.0f}/s; {left}; {name}"
            )
