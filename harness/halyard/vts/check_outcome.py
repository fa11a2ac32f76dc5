# SPDX-License-Identifier: Apache-2.0
"""The outcome of a test."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from halyard.cases.case import Case
from halyard.conformance.outcome import MODEL_TEXT
from halyard.model.text import as_text
from halyard.programs.case_status import stage_name, status_name
from halyard.proto import halyard_pb2 as pb
from halyard.records import vts
from halyard.transport import hal_version
from halyard.vts.check_plan import Unit
from halyard.vts.checks import Check


class Status(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"

    @property
    def is_good(self) -> bool:
        return self is not Status.FAILED


@dataclass(frozen=True)
class Outcome:
    """`message` says why, unless it passed; `crashed`: the target or the check did not survive.
    `model`, as text, is that of a failed one."""

    name: str
    suite: str
    hal: str
    status: Status
    message: str
    seconds: float
    crashed: bool = False
    model: str = ""

    def record(self) -> vts.Test:
        return vts.Test(
            name=self.name,
            suite=self.suite,
            hal=self.hal,
            outcome=self.status.value,
            reason=self.message,
            seconds=round(self.seconds, 6),
            model=self.model,
        )


def decided(unit: Unit, result: pb.CaseResult) -> list[Outcome]:
    """The tests of a unit that a result decides, from the first on. Where it ended early the last
    one is to blame; there is always one."""
    judge = _Judge(unit.case, result)
    ended_early = result.failed_stage != pb.STAGE_NONE
    outcomes = []
    for check, row in zip(_checks(unit, result), result.checks, strict=True):
        status, message = judge.verdict(row)
        crashed = ended_early and row is result.checks[-1]
        if crashed:
            status, message = Status.FAILED, result.message
        outcomes.append(_outcome(unit, check, status, message, row.elapsed_ns / 1e9, crashed))
    if not outcomes:
        # It did not come to the first one.
        message = f"{stage_name(result.failed_stage)}: {status_name(result.status)} "
        message += result.message or "no check was made"
        outcomes = [_outcome(unit, unit.checks[0], Status.FAILED, message, 0.0, True)]
    return outcomes


def _checks(unit: Unit, result: pb.CaseResult) -> Sequence[Check]:
    """Those that the rows are about: a result of a runner that crashed has one row alone."""
    by_id = {check.id: check for check in unit.checks}
    return [by_id[row.name] for row in result.checks]


def _outcome(
    unit: Unit, check: Check, status: Status, message: str, seconds: float, crashed: bool
) -> Outcome:
    return Outcome(
        name=check.test_name(unit.case.name),
        suite=check.suite,
        hal=hal_version.format(unit.version),
        status=status,
        message=message,
        seconds=seconds,
        crashed=crashed,
        model="" if status.is_good else as_text(unit.case.test_case.model)[:MODEL_TEXT],
    )


_STATUS = {
    pb.CHECK_OUTCOME_PASSED: Status.PASSED,
    pb.CHECK_OUTCOME_FAILED: Status.FAILED,
    pb.CHECK_OUTCOME_SKIPPED: Status.SKIPPED,
}


class _Judge:
    """Compares the outputs of a case with what is expected, each set once."""

    def __init__(self, case: Case, result: pb.CaseResult) -> None:
        self._case = case
        self._result = result
        self._reasons: dict[int, str] = {}

    def verdict(self, row: pb.CheckResult) -> tuple[Status, str]:
        status = _STATUS.get(row.outcome, Status.FAILED)
        if status is Status.PASSED:
            for reason in self._wrong(row.examples):
                return Status.FAILED, reason
        return status, row.reason

    def _wrong(self, examples: Sequence[int]) -> Iterator[str]:
        for index in examples:
            if index not in self._reasons:
                self._reasons[index] = self._compare(index)
            if self._reasons[index]:
                yield self._reasons[index]

    def _compare(self, index: int) -> str:
        if index >= len(self._result.examples):
            return "its outputs did not come"
        return self._case.check(pb.CaseResult(examples=[self._result.examples[index]])).reason
