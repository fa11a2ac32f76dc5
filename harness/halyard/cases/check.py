# SPDX-License-Identifier: Apache-2.0
"""The official check of results: status, dimensions, and every element within its tolerance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from halyard.model import Array
from halyard.programs.case_status import stage_name, status_name
from halyard.proto import halyard_pb2 as pb

# As many wrong elements as a message shows.
_SHOWN = 3


@dataclass(frozen=True)
class Tolerance:
    """An element may be off by absolute + relative * |expected|."""

    absolute: float
    relative: float


@dataclass(frozen=True)
class ExpectedOutput:
    """`values` is flat; tolerance is None where a case names none (exact, then)."""

    name: str
    dimensions: tuple[int, ...]
    values: Array
    tolerance: Tolerance | None
    ignored: bool = False


@dataclass(frozen=True)
class Multinomial:
    """The outputs are draws of classes: frequencies follow the softmax of the logits."""

    logits: Array  # [batch, classes]
    tolerance: float


@dataclass(frozen=True)
class Verdict:
    """`max_steps` and `max_error` are the largest difference of a quantised or integer element and
    of a float one, of all outputs together; None where no such element was compared. A NaN on one
    side, or an infinity that the other side does not have, is an infinite error."""

    passed: bool
    reason: str  # why it did not pass; empty if it did
    stage: str = ""  # where it did not: load, support, prepare, execute, compare, crash, hang
    compared: int = 0  # elements
    max_steps: int | None = None
    max_error: float | None = None


_PASSED = Verdict(True, "")


def check(
    expected: Sequence[ExpectedOutput],
    expect_failure: bool,
    multinomial: Multinomial | None,
    result: pb.CaseResult,
) -> Verdict:
    """Judges the first example of a result."""
    stage, failure = _failure(result)
    if result.failed_stage in (pb.STAGE_CRASH, pb.STAGE_HANG, pb.STAGE_LOAD):
        return Verdict(False, failure, stage)
    if expect_failure:
        return _PASSED if failure else Verdict(False, "it succeeds, and must fail", "execute")
    if failure:
        return Verdict(False, failure, stage)
    outputs = result.examples[0].outputs
    if len(outputs) != len(expected):
        return Verdict(False, f"{len(outputs)} outputs, {len(expected)} expected", "compare")
    reason = ""
    distance = _Distance()
    for wanted, found in zip(expected, outputs, strict=True):
        wrong = _check_output(wanted, multinomial, found, distance)
        if wrong and not reason:
            reason = f"output {wanted.name!r}: {wrong}"
    return Verdict(
        not reason,
        reason,
        "compare" if reason else "",
        distance.compared,
        distance.steps,
        distance.error,
    )


@dataclass
class _Distance:
    """How far elements are from what was expected, over all outputs."""

    compared: int = 0
    steps: int | None = None
    error: float | None = None

    def add(self, wanted: Array, difference: Array) -> None:
        self.compared += wanted.size
        largest = float(difference.max(initial=0.0))
        if wanted.dtype.kind == "f":
            self.error = max(self.error or 0.0, math.inf if math.isnan(largest) else largest)
        else:
            self.steps = max(self.steps or 0, int(largest))


def _failure(result: pb.CaseResult) -> tuple[str, str]:
    """At which stage the case failed, and with what; empty if it did not."""
    if result.failed_stage != pb.STAGE_NONE:
        stage = stage_name(result.failed_stage).lower()
        return stage, f"{stage}: {status_name(result.status)} {result.message}".rstrip()
    if not result.examples:
        return "execute", "execute: nothing was executed"
    example = result.examples[0]
    if example.status != pb.ERROR_STATUS_NONE:
        return "execute", f"execute: {status_name(example.status)} {example.message}".rstrip()
    return "", ""


def _check_output(
    wanted: ExpectedOutput,
    multinomial: Multinomial | None,
    found: pb.OutputResult,
    distance: _Distance,
) -> str:
    """Why the output does not pass; empty if it does."""
    if wanted.ignored:
        return ""
    if not found.is_sufficient:
        return "its buffer is called too small"
    if tuple(found.dimensions) != wanted.dimensions:
        return f"dimensions {list(found.dimensions)}, expected {list(wanted.dimensions)}"
    if len(found.data) != wanted.values.nbytes:
        return f"{len(found.data)} bytes, expected {wanted.values.nbytes}"
    values = np.frombuffer(found.data, wanted.values.dtype)
    if multinomial is not None:
        return _check_distribution(multinomial, values)
    return _check_elements(wanted, values, distance)


def _check_elements(wanted: ExpectedOutput, found: Array, distance: _Distance) -> str:
    tolerance = wanted.tolerance or Tolerance(0, 0)
    expected, actual = wanted.values.astype(np.float64), found.astype(np.float64)
    with np.errstate(invalid="ignore"):
        allowed = tolerance.absolute + tolerance.relative * np.abs(expected)
        difference = np.abs(actual - expected)
    # An infinity has no distance to itself.
    same = np.isinf(expected) & (actual == expected)
    difference[same] = 0
    distance.add(wanted.values, difference)
    good = same | (difference <= allowed)
    wrong = np.flatnonzero(~good)
    if not wrong.size:
        return ""
    shown = ", ".join(
        f"[{index}] is {wanted.values.dtype.type(found[index])!s}, "
        f"expected {wanted.values[index]!s}"
        for index in wrong[:_SHOWN]
    )
    return f"{wrong.size} of {found.size} elements are off: {shown}"


def _check_distribution(multinomial: Multinomial, draws: Array) -> str:
    powers = np.exp(multinomial.logits - multinomial.logits.max(axis=1, keepdims=True))
    probabilities = powers / powers.sum(axis=1, keepdims=True)
    rows = draws.reshape(len(probabilities), -1)
    classes = probabilities.shape[1]
    if rows.size and not 0 <= rows.min() <= rows.max() < classes:
        return f"a class beyond 0 to {classes - 1}"
    for batch, (row, wanted) in enumerate(zip(rows, probabilities, strict=True)):
        frequencies = np.bincount(row, minlength=classes) / max(row.size, 1)
        error = float(np.abs(frequencies - wanted).max())
        if error > multinomial.tolerance:
            return f"batch {batch}: a frequency is off by {error:.3g}"
    return ""
