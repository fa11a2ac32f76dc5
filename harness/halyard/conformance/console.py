# SPDX-License-Identifier: Apache-2.0
"""A conformance run on a terminal, or in a log: progress, what fails, and the table at the end."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.markup import escape

from halyard.conformance.outcome import Outcome, Status
from halyard.conformance.reports import Report
from halyard.terminal import Terminal, printable

# Seconds between two lines of progress in a log, and between two changes on a terminal.
_LOG_PACE = 5.0
_TERMINAL_PACE = 0.1
# As many failures as are shown while they come; the list at the end has all.
_SHOWN_AT_ONCE = 20
_LONGEST_MESSAGE = 300


class Progress:
    """Says how far a run is."""

    def __init__(self, terminal: Terminal, planned: int) -> None:
        self._terminal = terminal
        self._planned = planned
        self._counts: Counter[Status] = Counter()
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

    def add(self, outcome: Outcome) -> None:
        self._counts[outcome.status] += 1
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
        text = f"{done} of {self._planned}: {counts_text(self._counts)}; {rate:.0f}/s; {name}"
        if self._status is not None:
            self._status.update(escape(printable(text)))
        else:
            self._terminal.line(text)


def counts_text(counts: Counter[Status]) -> str:
    """ "7 passed, 1 failed": what occurs, and how many passed."""
    shown = [status for status in Status if counts[status] or status is Status.PASSED]
    return ", ".join(f"{counts[status]} {status}" for status in shown)


def _cases(count: int) -> str:
    return "1 case" if count == 1 else f"{count} cases"


def failure_line(outcome: Outcome) -> str:
    return f"{outcome.status.upper()} {outcome.name}: {_short(outcome.message)}"


def _short(message: str) -> str:
    line = " ".join(message.split())
    return line if len(line) <= _LONGEST_MESSAGE else f"{line[:_LONGEST_MESSAGE]} …"


def print_report(terminal: Terminal, report: Report) -> None:
    """The table of operations and types, all failures, and the counts."""
    if report.outcomes:
        _print_table(terminal, report.outcomes)
    _print_unsupported(terminal, report.outcomes)
    bad = [outcome for outcome in report.outcomes if not outcome.status.is_good]
    if bad:
        terminal.heading("failed")
        for outcome in bad:
            terminal.line(failure_line(outcome))
    terminal.line()
    counts = Counter(outcome.status for outcome in report.outcomes)
    terminal.line(
        f"{report.device}, {report.target}: {counts_text(counts)} in {report.seconds:.1f} s"
    )
    if report.left_out:
        need = "needs" if report.left_out == 1 else "need"
        terminal.line(f"{_cases(report.left_out)} {need} another HAL version, and did not run")
    if report.unreadable:
        terminal.line(f"not read: {len(report.unreadable)} of the files")
        for problem in report.unreadable:
            terminal.detail(problem)
    if report.ended:
        missing = report.planned - len(report.outcomes)
        terminal.line(f"{missing} of {report.planned} cases did not run: {report.ended}")


def _print_table(terminal: Terminal, outcomes: Sequence[Outcome]) -> None:
    """A line per operation; each type has the cases that passed, of how many."""
    by_form: dict[tuple[str, str], Counter[Status]] = defaultdict(Counter)
    by_operation: dict[str, Counter[Status]] = defaultdict(Counter)
    for outcome in outcomes:
        for operation, type_name in outcome.forms:
            by_form[operation, type_name][outcome.status] += 1
        for operation in outcome.operations:
            by_operation[operation][outcome.status] += 1
    rows = []
    for operation, counts in sorted(by_operation.items()):
        types = [
            f"{type_name} {_share(form)}"
            for (name, type_name), form in sorted(by_form.items())
            if name == operation
        ]
        bad = sum(number for status, number in counts.items() if not status.is_good)
        unsupported = counts[Status.UNSUPPORTED]
        rows.append([operation, str(counts[Status.PASSED]), str(bad), str(unsupported)])
        rows[-1].append(", ".join(types))
    terminal.heading("operations, by the type that they compute with")
    numbers = ["passed", "failed", "unsupported"]
    terminal.table(["operation", *numbers, "passed of each type"], rows, numbers)


def _share(counts: Counter[Status]) -> str:
    passed, total = counts[Status.PASSED], counts.total()
    return str(passed) if passed == total else f"{passed} of {total}"


def _print_unsupported(terminal: Terminal, outcomes: Sequence[Outcome]) -> None:
    """Each reason once for an operation and type."""
    reasons: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for outcome in outcomes:
        if outcome.status is Status.UNSUPPORTED:
            for form in outcome.forms:
                reasons[form][_short(outcome.message)] += 1
    if not reasons:
        return
    terminal.heading("not supported")
    for (operation, type_name), messages in sorted(reasons.items()):
        [(message, number)] = messages.most_common(1)
        others = messages.total() - number
        more = f" (and {others} with other reasons)" if others else ""
        terminal.line(f"{operation} {type_name}: {_cases(messages.total())}: {message}{more}")
