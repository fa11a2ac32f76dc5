# SPDX-License-Identifier: Apache-2.0
"""How fast a sampled count grows, with a confidence interval.

Samples of a service's memory or threads that are close in time resemble one another, so the usual
interval of a regression over the samples would be far too narrow. They go into a few bins of as
many samples each instead, which last much longer than the trace of one client's coming and going:
about five minutes each, of an hour. The regression is over the means of the bins, which are as good
as independent (the method of batch means). The interval is Student's, with as many degrees of
freedom as there are bins, less two.
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
BINS = 12


@dataclass(frozen=True)
class Slope:
    """In units of the count per unit of time: the estimate, and its 95 % confidence interval."""

    value: float
    low: float
    high: float

    def grows_by_more_than(self, epsilon: float) -> bool:
        """Whether the whole interval lies above."""
        return self.low > epsilon


def slope(times: Sequence[float], values: Sequence[float], bins: int = BINS) -> Slope:
    """Over samples in order of time. ValueError if there are too few for the bins."""
    at, of = _bin_means(np.asarray(times, dtype=float), np.asarray(values, dtype=float), bins)
    distance = at - at.mean()
    spread = float(distance @ distance)
    value = float(distance @ of) / spread
    residuals = of - of.mean() - value * distance
    error = math.sqrt(float(residuals @ residuals) / (bins - 2) / spread)
    margin = _QUANTILES[bins - 3] * error
    return Slope(value, value - margin, value + margin)


Floats = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


def _bin_means(times: Floats, values: Floats, bins: int) -> tuple[Floats, Floats]:
    if not 3 <= bins <= len(_QUANTILES) + 2:
        raise ValueError(f"{bins} bins: from 3 to {len(_QUANTILES) + 2} are possible")
    if len(times) < bins:
        raise ValueError(f"{len(times)} samples leave one of {bins} bins empty")
    return (
        np.array([part.mean() for part in np.array_split(times, bins)]),
        np.array([part.mean() for part in np.array_split(values, bins)]),
    )
