# SPDX-License-Identifier: Apache-2.0
"""A conformance run as files: JSON for programs, JUnit's XML for CI servers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec import UNSET

from halyard import output_file, records
from halyard.conformance import junit
from halyard.conformance.fleet import Share
from halyard.conformance.junit import Kind, Row
from halyard.conformance.outcome import Outcome, Status, count
from halyard.records import conformance


@dataclass(frozen=True)
class Report:
    device: str
    target: str
    driver: str  # its version string, where it has one
    outcomes: Sequence[Outcome]
    seconds: float
    planned: int  # cases that were to run
    left_out: int  # cases that no wanted HAL version can carry
    ended: str = ""  # why it ended before its end
    unreadable: Sequence[str] = ()  # files whose cases could not be read, and why
    shares: Sequence[Share] = ()  # of several devices

    @property
    def is_good(self) -> bool:
        """Whether nothing failed, and all was read and run."""
        told = bool(self.ended or self.unreadable)
        return not told and all(outcome.status.is_good for outcome in self.outcomes)

    def record(self) -> conformance.Conformance:
        counts = {status.value: number for status, number in count(self.outcomes).items()}
        return conformance.Conformance(
            device=self.device,
            target=self.target,
            driver=self.driver,
            seconds=round(self.seconds, 3),
            planned=self.planned,
            left_out=self.left_out,
            ended_early=self.ended,
            unreadable=list(self.unreadable),
            **counts,
            cases=[outcome.record() for outcome in self.outcomes],
            shares=[_share(share) for share in self.shares] or UNSET,
        )


def _share(share: Share) -> conformance.Share:
    return conformance.Share(
        device=share.name,
        serial=share.place.serial,
        target=share.place.target,
        driver=share.version,
        cases=len(share.outcomes),
        busy=round(share.busy, 3),
        lost=share.lost,
        turns=[
            conformance.Turn(begin=round(turn.begin, 3), end=round(turn.end, 3), cases=turn.cases)
            for turn in share.turns
        ],
    )


def write_json(path: Path, *reports: Report) -> None:
    """A document, or a list of them where there are several."""
    documents = [report.record() for report in reports]
    content = documents[0] if len(documents) == 1 else documents
    output_file.write(path, records.encode(content))


def write_junit(path: Path, *reports: Report) -> None:
    """Crashes are errors; what is unsupported or fails as expected is skipped."""
    rows = [row for report in reports for row in _rows(report, of_several=len(reports) > 1)]
    devices = " ".join(report.device for report in reports)
    seconds = max(report.seconds for report in reports)
    junit.write(path, f"halyard conformance {devices}", rows, seconds)


def _rows(report: Report, *, of_several: bool) -> list[Row]:
    suffix = f" on {report.device}" if of_several else ""
    rows = [
        Row(
            suite=(outcome.spec or "halyard") + suffix,
            name=outcome.name,
            kind=_KINDS.get(outcome.status, Kind.PASSED),
            message=outcome.message,
            type=outcome.stage,
            seconds=outcome.seconds,
        )
        for outcome in report.outcomes
    ]
    rows += [
        Row("halyard", "a file of cases", Kind.ERROR, problem, "read")
        for problem in report.unreadable
    ]
    return rows


_KINDS = {
    Status.FAILED: Kind.FAILURE,
    Status.XPASSED: Kind.FAILURE,
    Status.CRASHED: Kind.ERROR,
    Status.UNSUPPORTED: Kind.SKIPPED,
    Status.XFAILED: Kind.SKIPPED,
}
