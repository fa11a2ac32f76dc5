# SPDX-License-Identifier: Apache-2.0
"""Values over time, a line for each series."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from halyard.plots.plot import GRID, SERIES, Plot, label

_TICKS = 5


@dataclass(frozen=True)
class Point:
    """`at` in ISO 8601; `interval` is the value's confidence interval, where it is known."""

    at: str
    value: float
    interval: tuple[float, float] | None = None


@dataclass(frozen=True)
class Series:
    name: str
    points: Sequence[Point]


def history(name: str, title: str, unit: str, series: Sequence[Series]) -> Plot:
    """Values of the same time stand below each other, and all times are as far apart: a week
    without a run is no gap. Series beyond the number of colours are left out."""
    shown = series[: len(SERIES)]
    times = sorted({point.at for each in shown for point in each.points})
    text = "; ".join(f"{each.name}: {_range(each.points)} {unit}" for each in shown)

    def draw(axes: Any) -> None:
        place = {at: number for number, at in enumerate(times)}
        lines = []
        for colour, each in zip(SERIES, shown, strict=False):
            points = sorted(each.points, key=lambda point: point.at)
            places = [place[point.at] for point in points]
            lines += axes.plot(places, [point.value for point in points], "o-", color=colour)
            known = [
                (place[point.at], point.interval) for point in points if point.interval is not None
            ]
            for where, (low, high) in known:
                axes.vlines(where, low, high, color=colour, linewidth=1, alpha=0.6)
        axes.set_ylabel(label(unit))
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        step = -(-len(times) // _TICKS) or 1
        axes.set_xticks(range(0, len(times), step), [_short(at) for at in times[::step]])
        axes.margins(x=0.04)
        axes.grid(visible=False, axis="x")
        if len(shown) > 1:
            axes.figure.legend(
                lines,
                [label(each.name) for each in shown],
                loc="outside upper left",
                ncols=2,
            )
        axes.spines["left"].set_color(GRID)

    return Plot(name, title, f"{title}. {text}", draw)


def _range(points: Sequence[Point]) -> str:
    values = [point.value for point in points]
    first, last = f"{values[0]:.3g}", f"{values[-1]:.3g}"
    return first if len(values) == 1 else f"{first} to {last} in {len(values)} runs"


def _short(at: str) -> str:
    """The day and the minute."""
    return at[5:16].replace("T", " ")
