# SPDX-License-Identifier: Apache-2.0
"""How far two results of the same model are from each other, and how far they may be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from halyard.model import Array, RunnableModel, TensorInfo
from halyard.model.call import calls
from halyard.proto import halyard_pb2 as pb

# How far a whole network may be from a reference. Float kernels add in another order, and float16
# rounds every tensor; both are shares of the largest value, or of 1 where all are smaller. The
# second is the official tolerance of a float16 operation; see allowed_error for a network's. A
# quantised sum that lies halfway between two steps may go to either; see allowed_steps where floats
# are rounded to 8 bits on the way.
MAX_FLOAT_ERROR = 1e-5
MAX_HALF_ERROR = 5 * 2**-10
MAX_STEPS = 1
# An error beyond this share of the largest value, or of a quantised type's range, is wrong whatever
# it comes from.
MAX_SHARE = 0.1

# The sum of independent errors is normally distributed. Beyond four standard deviations lies one
# of 16,000 elements.
_DEVIATIONS = 4


@dataclass(frozen=True)
class Difference:
    """Errors in real values; max_steps, in quantisation steps, is None for a float tensor.

    max_relative_error is against the expected value, over the elements where that is not 0. A NaN
    on one side only, or an infinity that the other side does not have, makes the errors infinite.
    """

    name: str
    count: int
    max_abs_error: float
    max_relative_error: float
    max_steps: int | None
    exact_share: float  # 0 to 1: elements that are equal
    # Of the expected values: how many are not 0, as agreeing on zeros says little; and the largest
    # magnitude of those that are finite.
    nonzero: int = 0
    largest: float = 0.0
    is_half: bool = False  # a float16 tensor
    nans: int = 0  # elements that are NaN on both sides, which counts as equal
    mean_abs_error: float = 0.0
    rms_error: float = 0.0
    # Of the two as vectors; 0 where an error is infinite, or one of them alone is 0 throughout.
    cosine: float = 1.0
    # Of the expected values to the errors; infinite where there are none, and -inf where an error
    # is infinite.
    snr_db: float = math.inf

    @property
    def says_nothing(self) -> bool:
        """Whether there is no number to compare: a model that went wrong on both sides."""
        return 0 < self.count == self.nans

    def text(self) -> str:
        """One line for a report."""
        if self.says_nothing:
            return f"{self.name}: all of {self.count} are NaN on both sides: nothing is compared"
        exact = (
            f"{100 * self.exact_share:.2f} % of {self.count} exact, "
            f"where {self.nonzero} are not zero"
        )
        if self.nans:
            exact += f" and {self.nans} are NaN on both sides"
        if self.max_steps is not None:
            steps = "1 step" if self.max_steps == 1 else f"{self.max_steps} steps"
            return f"{self.name}: largest difference {steps}, {exact}"
        return (
            f"{self.name}: max error {self.max_abs_error:.3g} "
            f"(relative {self.max_relative_error:.3g}), {exact}"
        )


def compare(info: TensorInfo, expected: Array, actual: Array) -> Difference:
    """The difference of two values. ValueError unless both have the tensor's type and shape, or,
    where that is known only when the model runs, the same one."""
    shape = expected.shape if info.is_open else info.shape
    for side, values in (("expected", expected), ("actual", actual)):
        if values.dtype != info.dtype or values.shape != shape:
            raise ValueError(
                f"{info.name}: {side} is {values.dtype}{list(values.shape)}, "
                f"not {info.dtype}{list(shape)}"
            )
    count = expected.size
    if count == 0:
        return Difference(info.name, 0, 0.0, 0.0, 0 if info.quantized else None, 1.0)
    is_float = np.issubdtype(info.dtype, np.floating)
    same = np.equal(expected, actual)
    nans = 0
    if is_float:
        both = np.isnan(expected) & np.isnan(actual)
        nans = int(np.count_nonzero(both))
        same |= both
    wanted, found = info.dequantize(expected), info.dequantize(actual)
    with np.errstate(invalid="ignore"):
        error = np.where(same, 0.0, np.abs(found - wanted))
    error[np.isnan(error)] = np.inf
    nonzero = (wanted != 0) & np.isfinite(wanted)
    relative = np.where(same, 0.0, np.inf)
    relative[nonzero] = error[nonzero] / np.abs(wanted[nonzero])
    relative[~nonzero & np.isfinite(error)] = 0.0
    mean, rms, cosine, snr = _statistics(wanted, found, error)
    steps = None
    if info.quantized:
        steps = int(np.abs(expected.astype(np.int64) - actual.astype(np.int64)).max())
    return Difference(
        info.name,
        count,
        float(error.max()),
        float(relative.max()),
        steps,
        float(same.mean()),
        nonzero=int(np.count_nonzero(wanted) - np.count_nonzero(np.isnan(wanted))),
        largest=float(np.abs(wanted[np.isfinite(wanted)]).max(initial=0.0)),
        is_half=info.dtype == np.float16,
        nans=nans,
        mean_abs_error=mean,
        rms_error=rms,
        cosine=cosine,
        snr_db=snr,
    )


def _statistics(wanted: Array, found: Array, error: Array) -> tuple[float, float, float, float]:
    """Mean and root mean square of the errors, cosine, and signal-to-noise ratio."""
    if np.isinf(error).any():
        return math.inf, math.inf, 0.0, -math.inf
    # Elements that are NaN on both sides are equal, and no part of a sum.
    numbers = np.isfinite(wanted) & np.isfinite(found)
    signal, noise = float(np.square(wanted[numbers]).sum()), float(np.square(error).sum())
    other = float(np.square(found[numbers]).sum())
    if signal and other:
        cosine = (
            float(np.dot(wanted[numbers], found[numbers])) / math.sqrt(signal) / math.sqrt(other)
        )
    else:
        cosine = 1.0 if signal == other else 0.0
    snr = math.inf
    if noise:
        snr = 10 * math.log10(signal / noise) if signal else -math.inf
    return float(error.mean()), math.sqrt(noise / error.size), min(cosine, 1.0), snr


def compare_all(
    model: RunnableModel, expected: Sequence[Array], actual: Sequence[Array]
) -> list[Difference]:
    """By output of the model."""
    return [compare(*each) for each in zip(model.outputs, expected, actual, strict=True)]


def allowed_steps(model: pb.Model) -> int:
    """Of the model's 8-bit outputs.

    Engines add floats in another order, so a computed float that lies halfway between two steps
    goes to either of them: a QUANTIZE of computed floats is off by a step at most. The operations
    behind it map a range of 255 steps to a range of 255 steps, so that on average the error stays a
    step. Errors of different QUANTIZEs are independent and grow as the root of their number, and
    _DEVIATIONS of that are allowed, up to MAX_SHARE of the range.
    """
    computed = {index for operation in model.main.operations for index in operation.outputs}
    quantised = calls(model, [pb.OPERATION_TYPE_QUANTIZE])
    roundings = sum(call.index("input") in computed for call in quantised)
    steps = int(_DEVIATIONS * math.sqrt(roundings))
    return max(MAX_STEPS, min(steps, wrong_steps(np.dtype(np.uint8))))


def wrong_steps(dtype: np.dtype[Any]) -> int:
    """The last number of steps that is not wrong altogether: MAX_SHARE of the type's range."""
    info = np.iinfo(dtype)
    return int(MAX_SHARE * (int(info.max) - int(info.min)))


def allowed_error(difference: Difference, operations: int = 1) -> float:
    """Of a float tensor, in real values.

    Each float16 tensor is rounded by up to 2^-11 of itself. Independent errors grow as the root of
    their number: _DEVIATIONS of that are allowed, and never less than for one operation.
    """
    # Sums of thousands in another order are off by some 2^-20.
    share = max(MAX_FLOAT_ERROR, _DEVIATIONS * 2**-20 * math.sqrt(operations))
    if difference.is_half:
        share = max(MAX_HALF_ERROR, _DEVIATIONS * 2**-11 * math.sqrt(operations))
    return share * max(1.0, difference.largest)
