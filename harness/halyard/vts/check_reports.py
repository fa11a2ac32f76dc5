# SPDX-License-Identifier: Apache-2.0
"""A run of checks: JSON for programs, JUnit's XML for CI servers, a table for people."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from halyard import output_file, records
from halyard.conformance import junit
from halyard.conformance.junit import Kind, Row
from halyard.records import vts
from halyard.terminal.console import Terminal
from halyard.terminal.progress import counts_text, failure_line, short
from halyard.vts.check_outcome import Outcome, Status


@dataclass(frozen=True)
class Report:
    device: str
    target: str
    driver: str  # its version string, where it has one
    hal: Sequence[str]
    outcomes: Sequence[Outcome]
    seconds: float
    planned: int  # tests that were to be made
    ended: str = ""  # why it ended before its end
    unreadable: Sequence[str] = ()  # files whose cases could not be read, and why

    @property
    def is_good(self) -> bool:
        """Whether nothing failed, and all was read and made."""
        told = bool(self.ended or self.unreadable)
        return not told and all(outcome.status.is_good for outcome in self.outcomes)

    @property
    def counts(self) -> Counter[Status]:
        return Counter(outcome.status for outcome in self.outcomes)

    def by_class(self) -> Mapping[str, Counter[Status]]:
        """In the order in which they come."""
        counts: dict[str, Counter[Status]] = defaultdict(Counter)
        for outcome in self.outcomes:
            counts[outcome.suite][outcome.status] += 1
        return counts

    def record(self) -> vts.Vts:
        return vts.Vts(
            device=self.device,
            target=self.target,
            driver=self.driver,
            hal=list(self.hal),
            seconds=round(self.seconds, 3),
            planned=self.planned,
            ended_early=self.ended,
            unreadable=list(self.unreadable),
            **_by_name(self.counts),
            classes={
                name: vts.Counts(**_by_name(counts)) for name, counts in self.by_class().items()
            },
            tests=[outcome.record() for outcome in self.outcomes],
        )


def _by_name(counts: Counter[Status]) -> dict[str, int]:
    return {status.value: counts[status] for status in Status}


def write_json(path: Path, report: Report) -> None:
    output_file.write(path, records.encode(report.record()))


def write_junit(path: Path, report: Report) -> None:
    """A check that crashed, or brought the target down, is an error."""
    kinds = {Status.PASSED: Kind.PASSED, Status.FAILED: Kind.FAILURE, Status.SKIPPED: Kind.SKIPPED}
    rows = [
        Row(
            suite=f"{outcome.suite}.HAL_{outcome.hal}",
            name=outcome.name,
            kind=Kind.ERROR if outcome.crashed else kinds[outcome.status],
            message=outcome.message,
            type="crash" if outcome.crashed else "check",
            seconds=outcome.seconds,
        )
        for outcome in report.outcomes
    ]
    rows += [
        Row("halyard", "a file of cases", Kind.ERROR, problem, "read")
        for problem in report.unreadable
    ]
    junit.write(path, f"halyard vts {report.device}", rows, report.seconds)


def print_report(terminal: Terminal, report: Report) -> None:
    """Counts of each class, reasons of skips, all failures, and the counts."""
    if report.outcomes:
        terminal.heading("classes")
        columns = [status.value for status in Status]
        rows = [
            [name, *(str(counts[status]) for status in Status)]
            for name, counts in report.by_class().items()
        ]
        terminal.table(["class", *columns], rows, columns)
    _print_skipped(terminal, report.outcomes)
    bad = [outcome for outcome in report.outcomes if not outcome.status.is_good]
    if bad:
        terminal.heading("failed")
        for outcome in bad:
            terminal.line(f"{failure_line(outcome)} [HAL {outcome.hal}]")
    terminal.line()
    counts = counts_text(report.counts, Status)
    hal = ", ".join(report.hal)
    terminal.line(
        f"{report.device}, {report.target}, HAL {hal}: {counts} in {report.seconds:.1f} s"
    )
    for problem in report.unreadable:
        terminal.detail(problem)
    if report.ended:
        missing = report.planned - len(report.outcomes)
        terminal.line(f"{missing} of {report.planned} tests were not made: {report.ended}")


def _print_skipped(terminal: Terminal, outcomes: Sequence[Outcome]) -> None:
    """Each reason once for a class."""
    reasons: Counter[tuple[str, str]] = Counter(
        (outcome.suite, short(outcome.message))
        for outcome in outcomes
        if outcome.status is Status.SKIPPED
    )
    if not reasons:
        return
    terminal.heading("skipped")
    for (suite, reason), number in reasons.items():
        terminal.line(f"{suite}, {number}: {reason}")
