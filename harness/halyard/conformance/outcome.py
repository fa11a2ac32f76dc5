# SPDX-License-Identifier: Apache-2.0
"""The outcome of a conformance case on a device."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from msgspec import UNSET

from halyard.cases.case import Case
from halyard.cases.check import Verdict
from halyard.model import label
from halyard.model.text import as_text
from halyard.proto import halyard_pb2 as pb
from halyard.records import conformance, error
from halyard.transport import hal_version

# Characters of a failed case's model that are kept; few cases have more.
MODEL_TEXT = 16_000


class Status(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    UNSUPPORTED = "unsupported"  # getSupportedOperations says so
    CRASHED = "crashed"  # the driver died or hung
    XFAILED = "xfailed"  # failed or crashed, as was expected
    XPASSED = "xpassed"  # passed, against expectation

    @property
    def is_good(self) -> bool:
        return self in (Status.PASSED, Status.UNSUPPORTED, Status.XFAILED)


@dataclass(frozen=True)
class Outcome:
    """`stage` and `message` say where a case ended, and why, unless it passed. `model`, as text, is
    that of a case that failed; `log` is what the service wrote before it ended with it."""

    name: str
    spec: str
    status: Status
    stage: str
    message: str
    max_steps: int | None
    max_error: float | None
    compared: int
    operations: tuple[str, ...]
    types: tuple[str, ...]
    forms: tuple[tuple[str, str], ...]  # operation and type that it computes with
    hal: str
    seconds: float
    model: str = ""
    log: str = ""
    device: str = ""  # of several

    def record(self) -> conformance.Case:
        return conformance.Case(
            name=self.name,
            spec=self.spec,
            status=self.status.value,
            stage=self.stage,
            message=self.message,
            max_steps=self.max_steps,
            max_error=None if self.max_error is None else error(self.max_error),
            compared=self.compared,
            operations=list(self.operations),
            types=list(self.types),
            hal=self.hal,
            seconds=round(self.seconds, 6),
            model=self.model,
            log=self.log,
            device=self.device or UNSET,
        )


def outcome_of(case: Case, name: str, result: pb.CaseResult) -> Outcome:
    """By the official check. A case that the driver calls unsupported is not judged any further,
    unless it is one that has to fail."""
    verdict = case.check(result)
    status, message = Status.PASSED if verdict.passed else Status.FAILED, verdict.reason
    if verdict.stage in ("crash", "hang"):
        status = Status.CRASHED
    elif not case.expect_failure and not all(result.supported_operations):
        status, message = Status.UNSUPPORTED, _refusal(case, result)
        verdict = Verdict(False, message, "support")
    return Outcome(
        name=name,
        spec=case.spec,
        status=status,
        stage=verdict.stage,
        message=message,
        max_steps=verdict.max_steps,
        max_error=verdict.max_error,
        compared=verdict.compared,
        operations=tuple(sorted(case.operations)),
        types=tuple(sorted(case.types)),
        forms=tuple(sorted(case.forms)),
        hal=hal_version.format(result.hal_version),
        seconds=result.elapsed_ns / 1e9,
        model="" if status.is_good else as_text(case.test_case.model)[:MODEL_TEXT],
    )


def _refusal(case: Case, result: pb.CaseResult) -> str:
    """Which operations the driver does not take, and what it said when asked to prepare them."""
    model = case.test_case.model
    refused = [
        label(model, index)
        for index, supported in enumerate(result.supported_operations)
        if not supported and index < len(model.main.operations)
    ]
    said = f": {result.message}" if result.message else ""
    return f"{', '.join(refused) or 'an operation'} is not supported{said}"


def count(outcomes: Iterable[Outcome]) -> dict[Status, int]:
    """Of every status, also those that did not occur."""
    counted = Counter(outcome.status for outcome in outcomes)
    return {status: counted[status] for status in Status}
