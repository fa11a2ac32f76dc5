# SPDX-License-Identifier: Apache-2.0
"""Statistics of two results beside their difference: agreement of the best classes, and whether
they are within limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from halyard.comparison.difference import Difference
from halyard.model import Array, TensorInfo


@dataclass(frozen=True)
class TopK:
    """Of the rows along the last axis. Whatever has the value of the expected side's best counts as
    best: quantised scores are often equal."""

    k: int
    first: float  # share of rows whose best element is one of the expected side's best
    shared: float  # mean share of the k best that are among the expected side's k best


def top_k(info: TensorInfo, expected: Array, actual: Array, k: int) -> TopK | None:
    """None for what is no scores of more than one class, or not numbers throughout."""
    if not info.shape or info.shape[-1] <= 1 or expected.size == 0:
        return None
    wanted = info.dequantize(expected).reshape(-1, info.shape[-1])
    found = info.dequantize(actual).reshape(-1, info.shape[-1])
    if not (np.isfinite(wanted).all() and np.isfinite(found).all()):
        return None
    k = min(k, info.shape[-1])
    best = np.argsort(-found, axis=-1, kind="stable")[:, :k]
    values = np.take_along_axis(wanted, best, axis=-1)
    limits = -np.sort(-wanted, axis=-1)[:, [0, k - 1]]
    first = values[:, 0] >= limits[:, 0]
    shared = values >= limits[:, 1:]
    return TopK(k, float(first.mean()), float(shared.mean()))


@dataclass(frozen=True)
class Limits:
    """None: no such limit. Where there is none at all, outputs are judged as those of a device
    are."""

    max_error: float | None = None
    max_steps: int | None = None
    min_snr_db: float | None = None
    min_cosine: float | None = None
    min_top1: float | None = None

    @property
    def are_set(self) -> bool:
        return self != Limits()

    def breaches(self, difference: Difference, top: TopK | None) -> list[str]:
        """Of those that are set, in words."""
        problems = []
        name = difference.name
        if self.max_error is not None and not difference.max_abs_error <= self.max_error:
            problems.append(
                f"{name}: max error {difference.max_abs_error:.3g}, more than {self.max_error:g}"
            )
        if self.max_steps is not None and (difference.max_steps or 0) > self.max_steps:
            problems.append(f"{name}: {difference.max_steps} steps, more than {self.max_steps}")
        if self.min_snr_db is not None and not difference.snr_db >= self.min_snr_db:
            problems.append(
                f"{name}: SNR {difference.snr_db:.1f} dB, less than {self.min_snr_db:g}"
            )
        if self.min_cosine is not None and not difference.cosine >= self.min_cosine:
            problems.append(f"{name}: cosine {difference.cosine:.6f}, less than {self.min_cosine}")
        if self.min_top1 is not None and top is not None and top.first < self.min_top1:
            problems.append(
                f"{name}: the best class agrees in {top.first:.1%} of rows, "
                f"less than {self.min_top1:.1%}"
            )
        return problems


def worst(differences: Sequence[Difference]) -> Difference | None:
    """The one that is furthest off."""
    return max(differences, key=lambda each: (each.max_abs_error, -(each.snr_db)), default=None)
