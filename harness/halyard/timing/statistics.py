# SPDX-License-Identifier: Apache-2.0
"""Statistics of samples of time: a summary of one set, and whether two sets differ.

Times have long tails and no normal distribution, so medians are compared, by ranks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

# Of intervals, and what a test takes for no chance.
CONFIDENCE = 0.95
SIGNIFICANCE = 1 - CONFIDENCE

# Up to so many samples the distribution of a rank statistic is counted, beyond them it is normal.
_EXACT_RANKS = 25
_RESAMPLES = 10_000

T = TypeVar("T")
Values = Sequence[float] | NDArray[np.float64]


@dataclass(frozen=True)
class Summary:
    """In the unit of the values. Percentiles lie between samples where they have to (numpy's
    "linear"); `std` is that of a sample, with count - 1, and 0 of one value."""

    count: int
    min: float
    p50: float
    p90: float
    p95: float
    p99: float
    max: float
    mean: float
    std: float
    # Of the median, with CONFIDENCE; None where there are too few values for any.
    interval: tuple[float, float] | None

    @classmethod
    def of(cls, values: Values) -> Summary:
        """ValueError without values."""
        if len(values) == 0:
            raise ValueError("there is nothing to summarise")
        data = np.sort(np.asarray(values, np.float64))
        p50, p90, p95, p99 = (float(value) for value in np.percentile(data, [50, 90, 95, 99]))
        ranks = median_ranks(len(data))
        return cls(
            count=len(data),
            min=float(data[0]),
            p50=p50,
            p90=p90,
            p95=p95,
            p99=p99,
            max=float(data[-1]),
            mean=float(data.mean()),
            std=float(data.std(ddof=1)) if len(data) > 1 else 0.0,
            interval=(float(data[ranks[0] - 1]), float(data[ranks[1] - 1])) if ranks else None,
        )

    def scaled(self, factor: float) -> Summary:
        """The same in another unit."""
        interval = self.interval
        return Summary(
            count=self.count,
            min=self.min * factor,
            p50=self.p50 * factor,
            p90=self.p90 * factor,
            p95=self.p95 * factor,
            p99=self.p99 * factor,
            max=self.max * factor,
            mean=self.mean * factor,
            std=self.std * factor,
            interval=(interval[0] * factor, interval[1] * factor) if interval else None,
        )


def median_ranks(count: int, confidence: float = CONFIDENCE) -> tuple[int, int] | None:
    """Between which samples, counted from 1 in order of size, the median lies: whatever their
    distribution, each is below it as often as a coin shows heads. None for fewer than six of 95 %,
    of which not even the smallest and the largest are apart far enough."""
    tail = (1 - confidence) / 2
    # A sum of what lies further out than ten standard deviations changes nothing.
    begin = max(0, int(count / 2 - 5 * math.sqrt(count)))
    below = 0.0
    for successes in range(begin, count // 2 + 1):
        below += math.exp(
            math.lgamma(count + 1)
            - math.lgamma(successes + 1)
            - math.lgamma(count - successes + 1)
            - count * math.log(2)
        )
        if below > tail:
            return (successes, count + 1 - successes) if successes else None
    return None


def thinned(values: Sequence[T], most: int) -> list[T]:
    """So many of them at most, from the first to the last, as far apart as each other."""
    if len(values) <= most:
        return list(values)
    return [values[index] for index in np.linspace(0, len(values) - 1, most).astype(int)]


@dataclass(frozen=True)
class Comparison:
    """Of the medians of two sets, `before` and `after`. `interval` is the ratio's, with CONFIDENCE;
    `p` is how often as much of a difference would be there by chance alone."""

    before: float
    after: float
    ratio: float  # of after to before: less than 1 is faster
    interval: tuple[float, float]
    p: float

    @property
    def significant(self) -> bool:
        return self.p < SIGNIFICANCE


Test = Callable[[Values, Values], Comparison]


def compare(before: Values, after: Values) -> Comparison:
    """Of two sets that were sampled independently of each other: Mann and Whitney's test."""
    first, second = _times(before), _times(after)
    medians = float(np.median(first)), float(np.median(second))
    generator = np.random.default_rng(0)
    ratios = _resampled_medians(second, generator) / _resampled_medians(first, generator)
    return Comparison(
        *medians, medians[1] / medians[0], _middle(ratios), mann_whitney(first, second)
    )


def compare_paired(before: Values, after: Values) -> Comparison:
    """Of two sets of which each value of the one was sampled right beside that of the other, so
    that what slowed both down is no difference: Wilcoxon's signed rank test. The ratio is the
    median of the pairs' ratios."""
    first, second = _times(before), _times(after)
    ratios = second / first
    resampled = _resampled_medians(ratios, np.random.default_rng(0))
    return Comparison(
        float(np.median(first)),
        float(np.median(second)),
        float(np.median(ratios)),
        _middle(resampled),
        wilcoxon(np.log(ratios)),
    )


def _times(values: Values) -> NDArray[np.float64]:
    data = np.asarray(values, np.float64)
    if data.size == 0 or not (data > 0).all():
        raise ValueError("only times greater than 0 can be compared")
    return data


def mann_whitney(first: Values, second: Values) -> float:
    """The two-sided p-value of that neither of two sets tends to larger values. It is exact for
    small sets without equal values, and by the normal distribution with corrections for equal
    values and for continuity for others."""
    n, m = len(first), len(second)
    ranks, ties = _ranks(np.concatenate([first, second]))
    u = float(ranks[:n].sum()) - n * (n + 1) / 2
    if not len(ties) and max(n, m) <= _EXACT_RANKS:
        return _two_sided(_mann_whitney_counts(n, m), min(u, n * m - u))
    total = n + m
    tied = float((ties**3 - ties).sum()) / (total * (total - 1))
    return _normal(abs(u - n * m / 2), n * m / 12 * (total + 1 - tied))


def wilcoxon(differences: Values) -> float:
    """The two-sided p-value of that differences lie around 0. Those that are 0 count for
    nothing."""
    data = np.asarray(differences, np.float64)
    data = data[data != 0]
    n = len(data)
    ranks, ties = _ranks(np.abs(data))
    positive = float(ranks[data > 0].sum())
    total = n * (n + 1) / 2
    if not len(ties) and n <= _EXACT_RANKS:
        return _two_sided(_wilcoxon_counts(n), min(positive, total - positive))
    tied = float((ties**3 - ties).sum()) / 48
    return _normal(abs(positive - total / 2), n * (n + 1) * (2 * n + 1) / 24 - tied)


def holm(values: Sequence[float]) -> list[float]:
    """The p-values of several tests, each raised so that the chance that any of them finds what is
    not there is no more than that of one test: Holm's step-down procedure."""
    adjusted = [1.0] * len(values)
    most = 0.0
    for place, index in enumerate(sorted(range(len(values)), key=lambda index: values[index])):
        most = max(most, min(1.0, (len(values) - place) * values[index]))
        adjusted[index] = most
    return adjusted


def _ranks(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """From 1; equal values have their mean. And how many are equal, for each value that there is
    more than once."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[inverse], counts[counts > 1].astype(np.float64)


def _mann_whitney_counts(n: int, m: int) -> NDArray[np.float64]:
    """In how many orders of two sets each U comes: the coefficients of Gauss's binomial."""
    counts = np.zeros(n * m + 1)
    counts[0] = 1
    for k in range(1, n + 1):
        for u in range(n * m, m + k - 1, -1):
            counts[u] -= counts[u - m - k]
        for u in range(k, n * m + 1):
            counts[u] += counts[u - k]
    return counts


def _wilcoxon_counts(n: int) -> NDArray[np.float64]:
    """With how many choices of signs each sum of positive ranks comes."""
    counts = np.zeros(n * (n + 1) // 2 + 1)
    counts[0] = 1
    for rank in range(1, n + 1):
        counts[rank:] += counts[:-rank].copy()
    return counts


def _two_sided(counts: NDArray[np.float64], smaller: float) -> float:
    return min(1.0, 2 * float(counts[: int(smaller) + 1].sum() / counts.sum()))


def _normal(distance: float, variance: float) -> float:
    if variance <= 0:
        return 1.0  # all values are the same
    return math.erfc(max(distance - 0.5, 0.0) / math.sqrt(2 * variance))


def _resampled_medians(
    values: NDArray[np.float64], generator: np.random.Generator
) -> NDArray[np.float64]:
    """The medians that resamples with replacement have, without drawing them: the middle one of
    as many numbers between 0 and 1 has a beta distribution, and says which sample is there."""
    half = (len(values) + 1) / 2
    places = generator.beta(half, half, _RESAMPLES) * len(values)
    return np.sort(values)[np.minimum(places.astype(np.intp), len(values) - 1)]


def _middle(values: NDArray[np.float64]) -> tuple[float, float]:
    tail = 50 * (1 - CONFIDENCE)
    low, high = np.percentile(values, [tail, 100 - tail])
    return float(low), float(high)
