# SPDX-License-Identifier: Apache-2.0
"""Errors by layer: of the whole model, and of each layer alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from halyard.plots.plot import BAD, MUTED, SERIES, WIDTH, Plot, label

# Names that fit along the axis, of each inch.
_NAMES = 8


@dataclass(frozen=True)
class LayerError:
    """Errors of a layer's result; None where there is none."""

    name: str
    chained: float | None
    isolated: float | None
    diverges: bool


def layer_errors(
    name: str, title: str, unit: str, layers: Sequence[LayerError], width: float = WIDTH
) -> Plot:
    """`unit` says what an error is."""
    wrong = [place for place, each in enumerate(layers) if each.diverges]
    first = f"; the first that diverges is {layers[wrong[0]].name}" if wrong else ""

    # An axis of logarithms has no 0: what is exact stands a decade below the least error.
    errors = [error for each in layers for error in (each.chained, each.isolated) if error]
    floor = min(errors, default=1.0) / 10

    def draw(axes: Any) -> None:
        for kind, marker, colour, values in (
            ("in the whole model", "o-", SERIES[0], [each.chained for each in layers]),
            ("alone, on A's inputs", "x-", SERIES[2], [each.isolated for each in layers]),
        ):
            places = [place for place, value in enumerate(values) if value is not None]
            shown = [max(value, floor) for value in values if value is not None]
            if places:
                axes.plot(
                    places, shown, marker, markersize=3, linewidth=0.9, color=colour, label=kind
                )
        for place in wrong:
            axes.axvspan(place - 0.5, place + 0.5, color=BAD, alpha=0.25, linewidth=0)
        if wrong:
            axes.annotate(
                label(layers[wrong[0]].name),
                (wrong[0], 1),
                xycoords=("data", "axes fraction"),
                xytext=(4, -12),
                textcoords="offset points",
                fontsize=8,
                color=BAD,
            )
        step = -(-len(layers) // int(_NAMES * width)) or 1
        ticks = range(0, len(layers), step)
        axes.set_xticks(ticks, [label(layers[place].name, 24) for place in ticks])
        axes.tick_params(axis="x", labelrotation=90, labelsize=6)
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        # Less than a decade may have no power of ten in sight, and has what lies between labelled.
        low, high = axes.get_ylim()
        narrow = high < 10 * low
        axes.yaxis.set_minor_formatter(lambda value, _: f"{value:g}" if narrow else "")
        axes.set_ylabel(label(unit))
        axes.grid(visible=False, axis="x")
        axes.legend(loc="best", labelcolor=MUTED)

    text = f"{title}. {unit} of {len(layers)} layers{first}"
    return Plot(name, title, text, draw, height=3.4, width=width)
