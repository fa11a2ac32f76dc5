# SPDX-License-Identifier: Apache-2.0
"""The official check of results: status, dimensions, and every element within its tolerance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from halyard.model import Array
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
    passed: bool
    reason: str  # why it did not pass; empty if it did


_PASSED = Verdict(True, "")


def check(
    expected: Sequence[ExpectedOutput],
    expect_failure: bool,
    multinomial: Multinomial | None,
    result: pb.CaseResult,
) -> Verdict:
    """Judges the first example of a result."""
    failure = _failure(result)
    if result.failed_stage in (pb.STAGE_CRASH, pb.STAGE_HANG, pb.STAGE_LOAD):
        return Verdict(False, failure)
    if expect_failure:
        return _PASSED if failure else Verdict(False, "it succeeds, and must fail")
    if failure:
        return Verdict(False, failure)
    outputs = result.examples[0].outputs
    if len(outputs) != len(expected):
        return Verdict(False, f"{len(outputs)} outputs, {len(expected)} expected")
    for wanted, found in zip(expected, outputs, strict=True):
        reason = _check_output(wanted, multinomial, found)
        if reason:
            return Verdict(False, f"output {wanted.name!r}: {reason}")
    return _PASSED


def _failure(result: pb.CaseResult) -> str:
    """At which stage the case failed, and with what; empty if it did not."""
    if result.failed_stage != pb.STAGE_NONE:
        stage = pb.Stage.Name(result.failed_stage).removeprefix("STAGE_").lower()
        status = pb.ErrorStatus.Name(result.status).removeprefix("ERROR_STATUS_")
        return f"{stage}: {status} {result.message}".rstrip()
    if not result.examples:
        return "execute: nothing was executed"
    example = result.examples[0]
    if example.status != pb.ERROR_STATUS_NONE:
        status = pb.ErrorStatus.Name(example.status).removeprefix("ERROR_STATUS_")
        return f"execute: {status} {example.message}".rstrip()
    return ""


def _check_output(
    wanted: ExpectedOutput, multinomial: Multinomial | None, found: pb.OutputResult
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
    return _check_elements(wanted, values)


def _check_elements(wanted: ExpectedOutput, found: Array) -> str:
    tolerance = wanted.tolerance or Tolerance(0, 0)
    expected, actual = wanted.values.astype(np.float64), found.astype(np.float64)
    with np.errstate(invalid="ignore"):
        allowed = tolerance.absolute + tolerance.relative * np.abs(expected)
        good = np.abs(actual - expected) <= allowed
    # An infinity has no distance to itself.
    good |= np.isinf(expected) & (actual == expected)
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
