# SPDX-License-Identifier: Apache-2.0
"""Ratios to the best peer, models by numbers of threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Ratio:
    """`value`: below 1 ours is faster; None where it, or every peer, has no times."""

    model: str
    data_type: str
    threads: int
    value: float | None


@dataclass(frozen=True)
class Grid:
    """A row for each model, or whatever is `named` instead, and type, as they come; and a column
    for each number of threads."""

    head: list[str]
    numbers: list[str]  # of the head, those above numbers
    rows: list[list[str]]

    @classmethod
    def of(cls, ratios: Sequence[Ratio], named: str = "model") -> Grid:
        counts = sorted({ratio.threads for ratio in ratios})
        numbers = [threads(count) for count in counts]
        found = {(each.model, each.data_type, each.threads): each.value for each in ratios}
        return cls(
            [named, "type", *numbers],
            numbers,
            [
                [*key, *(_cell(found.get((*key, count))) for count in counts)]
                for key in dict.fromkeys((each.model, each.data_type) for each in ratios)
            ],
        )


def threads(count: int) -> str:
    return f"{count} thread{'s' if count != 1 else ''}"


def _cell(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
