# SPDX-License-Identifier: Apache-2.0
"""A conformance run as files: JSON for programs, JUnit's XML for CI servers."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from halyard import output_file, records
from halyard.conformance.outcome import Outcome, Status, count
from halyard.records import conformance

# What XML 1.0 can't hold.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


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
        )


def write_json(path: Path, report: Report) -> None:
    output_file.write(path, records.encode(report.record()))


def write_junit(path: Path, report: Report) -> None:
    """Crashes are errors; what is unsupported or fails as expected is skipped."""
    counts = count(report.outcomes)
    suite = ET.Element(
        "testsuite",
        name=f"halyard conformance {report.device}",
        tests=str(len(report.outcomes) + len(report.unreadable)),
        failures=str(counts[Status.FAILED] + counts[Status.XPASSED]),
        errors=str(counts[Status.CRASHED] + len(report.unreadable)),
        skipped=str(counts[Status.UNSUPPORTED] + counts[Status.XFAILED]),
        time=f"{report.seconds:.3f}",
    )
    for outcome in report.outcomes:
        test = ET.SubElement(
            suite,
            "testcase",
            classname=_text(outcome.spec or "halyard"),
            name=_text(outcome.name),
            time=f"{outcome.seconds:.6f}",
        )
        kind = _JUNIT_KINDS.get(outcome.status)
        if kind is not None:
            ET.SubElement(test, kind, message=_text(outcome.message), type=outcome.stage)
    for problem in report.unreadable:
        test = ET.SubElement(suite, "testcase", classname="halyard", name="a file of cases")
        ET.SubElement(test, "error", message=_text(problem), type="read")
    top = ET.Element("testsuites")
    top.append(suite)
    output_file.write(path, ET.tostring(top, encoding="utf-8", xml_declaration=True) + b"\n")


_JUNIT_KINDS = {
    Status.FAILED: "failure",
    Status.XPASSED: "failure",
    Status.CRASHED: "error",
    Status.UNSUPPORTED: "skipped",
    Status.XFAILED: "skipped",
}


def _text(text: str) -> str:
    return _NOT_XML.sub("?", text)
