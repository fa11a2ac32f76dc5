# SPDX-License-Identifier: Apache-2.0
"""How fast a count that was taken at rest grows, with a confidence interval.

The result of one rest does not depend on that of the one before, but for what stays behind, so the
ordinary regression over the rests holds. The interval is Student's, with as many degrees of freedom
as there are rests, less two.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

# The 97.5 % quantile of Student's distribution, by degrees of freedom from 1.
_QUANTILES = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
)
FEWEST = 3
MOST = len(_QUANTILES) + 2


@dataclass(frozen=True)
class Slope:
    """In units of the count per unit of time: the estimate, and its 95 % confidence interval."""

    value: float
    low: float
    high: float

    def grows_by_more_than(self, epsilon: float) -> bool:
        """Whether the whole interval lies above."""
        return self.low > epsilon


def slope(times: Sequence[float], values: Sequence[float]) -> Slope:
    """Of values found at `times`, FEWEST to MOST of them; ValueError for any other number."""
    if not FEWEST <= len(times) <= MOST:
        raise ValueError(f"{len(times)} rests: a slope is of {FEWEST} to {MOST}")
    at, of = np.asarray(times, dtype=float), np.asarray(values, dtype=float)
    distance = at - at.mean()
    spread = float(distance @ distance)
    value = float(distance @ of) / spread
    residuals = of - of.mean() - value * distance
    freedom = len(times) - 2
    error = math.sqrt(float(residuals @ residuals) / freedom / spread)
    margin = _QUANTILES[freedom - 1] * error
    return Slope(value, value - margin, value + margin)
