# SPDX-License-Identifier: Apache-2.0
"""Errors by layer: of the whole model, and of each layer alone."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from halyard.errors import HalyardError, PackageMissing

# The least that is drawn, as an axis of logarithms has no 0.
_FLOOR = 1e-9
# Names that fit along the axis.
_MOST_NAMES = 60


@dataclass(frozen=True)
class LayerError:
    """Errors as shares of the largest expected value; None where there is none."""

    name: str
    chained: float | None
    isolated: float | None
    diverges: bool


def draw(path: Path, title: str, layers: Sequence[LayerError]) -> None:
    """Into a file whose extension says how: .svg, .png or .pdf. PackageMissing without
    matplotlib."""
    try:
        matplotlib: Any = importlib.import_module("matplotlib")
        matplotlib.use("Agg")
        pyplot: Any = importlib.import_module("matplotlib.pyplot")
    except ImportError as error:
        raise PackageMissing(
            f"a plot takes the package matplotlib: pip install 'halyard[report]' ({error})"
        ) from error
    figure, axes = pyplot.subplots(figsize=(max(8.0, 0.16 * len(layers)), 4.5))
    try:
        _draw(axes, title, layers)
        figure.tight_layout()
        figure.savefig(path)
    except (OSError, ValueError) as error:
        raise HalyardError(f"{path}: {error}") from error
    finally:
        pyplot.close(figure)


def _draw(axes: Any, title: str, layers: Sequence[LayerError]) -> None:
    for label, marker, values in (
        ("in the whole model", "o-", [each.chained for each in layers]),
        ("alone, on the reference's inputs", "x-", [each.isolated for each in layers]),
    ):
        places = [place for place, value in enumerate(values) if value is not None]
        shown = [max(value, _FLOOR) for value in values if value is not None]
        if places:
            axes.plot(places, shown, marker, markersize=3, linewidth=0.8, label=label)
    wrong = [place for place, each in enumerate(layers) if each.diverges]
    for place in wrong:
        axes.axvspan(place - 0.5, place + 0.5, color="tab:red", alpha=0.25, linewidth=0)
    if wrong:
        axes.annotate(
            layers[wrong[0]].name,
            (wrong[0], 1),
            xycoords=("data", "axes fraction"),
            xytext=(4, -12),
            textcoords="offset points",
            fontsize=8,
            color="tab:red",
        )
    ticks = range(0, len(layers), -(-len(layers) // _MOST_NAMES) or 1)
    axes.set_xticks(ticks, [layers[place].name for place in ticks], rotation=90, fontsize=6)
    axes.set_yscale("log")
    axes.set_ylabel("max error / largest value")
    axes.set_title(title, fontsize=10)
    axes.grid(visible=True, axis="y", linewidth=0.3)
    axes.legend(fontsize=8)
