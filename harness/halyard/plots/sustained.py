# SPDX-License-Identifier: Apache-2.0
"""A model under load for minutes: its time, and how warm the device gets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from halyard.plots.plot import SERIES, Plot


@dataclass(frozen=True)
class Window:
    """A part of it, `second` after its begin; `celsius` where the device tells."""

    second: float
    median: float
    celsius: float | None = None


def sustained(name: str, title: str, windows: Sequence[Window]) -> Plot:
    warm = [(each.second, each.celsius) for each in windows if each.celsius is not None]
    text = f"{title}. {windows[0].median:.3g} ms at first, {windows[-1].median:.3g} ms in the end"
    if warm:
        text += f"; {warm[0][1]:.3g} °C, then {warm[-1][1]:.3g} °C"

    def draw(axes: Any) -> None:
        seconds = [each.second for each in windows]
        axes.plot(seconds, [each.median for each in windows], "o-", color=SERIES[0])
        axes.set_ylim(bottom=0)
        axes.set_xlabel("seconds")
        axes.set_ylabel("median ms", color=SERIES[0])
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.grid(visible=False, axis="x")
        if warm:
            other = axes.twinx()
            other.plot([each[0] for each in warm], [each[1] for each in warm], color=SERIES[1])
            other.set_ylabel("°C", color=SERIES[1])
            other.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
            other.grid(visible=False)
            for side in ("top", "left", "right"):
                other.spines[side].set_visible(False)

    return Plot(name, title, text, draw)
