# SPDX-License-Identifier: Apache-2.0
"""Bars: a row for each thing that is compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from halyard.plots.plot import INK, MUTED, SERIES, Plot, label

# Inches of a bar, of the gap between two rows, and of what stands around them.
_BAR, _GAP, _AROUND = 0.17, 0.14, 0.75

# The value of each series in each row; None where it has nothing.
Rows = Mapping[str, Sequence[float | None]]


def side_by_side(
    name: str,
    title: str,
    unit: str,
    series: Sequence[str],
    rows: Rows,
    *,
    mark: float | None = None,
) -> Plot:
    """A bar for each series in each row, with its value. `mark`: a line at that value, as 1 is of
    ratios."""
    series = series[: len(SERIES)]
    text = "; ".join(
        f"{row}: "
        + ", ".join(_said(each, value) for each, value in zip(series, values, strict=False))
        for row, values in rows.items()
    )

    def draw(axes: Any) -> None:
        top, centres, handles = 0.0, [], dict[str, Any]()
        most = max((value for values in rows.values() for value in values if value), default=1)
        for values in rows.values():
            begin = top
            for each, colour, value in zip(series, SERIES, values, strict=False):
                bar = axes.barh(top, value or 0, _BAR * 0.86, color=colour, align="edge")
                handles.setdefault(each, bar)
                if value is not None:
                    axes.text(
                        value + most * 0.01,
                        top + _BAR * 0.43,
                        f"{value:.3g}",
                        va="center",
                        fontsize=7.5,
                        color=MUTED,
                    )
                top += _BAR
            centres.append((begin + top - _BAR * 0.14) / 2)
            top += _GAP
        axes.set_yticks(centres, [label(row) for row in rows])
        axes.set_xlabel(label(unit))
        axes.set_xlim(0, max(most, mark or 0) * 1.12)
        if mark is not None:
            axes.axvline(mark, color=INK, linewidth=1)
        if len(series) > 1:
            _legend(axes, list(handles.values()), list(handles))
        _rows(axes, top)

    return Plot(name, title, f"{title}. {text}", draw, _height(len(rows), len(series)))


def shares(name: str, title: str, series: Sequence[str], rows: Rows) -> Plot:
    """Each row is a bar of parts, whose sum is all of it."""
    series = series[: len(SERIES)]
    text = "; ".join(
        f"{row}: "
        + ", ".join(_said(each, value) for each, value in zip(series, values, strict=False))
        for row, values in rows.items()
    )

    def draw(axes: Any) -> None:
        top, centres, handles = 0.0, [], dict[str, Any]()
        for values in rows.values():
            whole, left = sum(value or 0 for value in values) or 1, 0.0
            for each, colour, value in zip(series, SERIES, values, strict=False):
                part = 100 * (value or 0) / whole
                bar = axes.barh(top, part, _BAR, left=left, color=colour, align="edge")
                handles.setdefault(each, bar)
                left += part
            centres.append(top + _BAR / 2)
            top += _BAR + _GAP
        axes.set_yticks(centres, [label(row) for row in rows])
        axes.set_xlim(0, 100)
        axes.set_xlabel("% of the operations")
        _legend(axes, list(handles.values()), list(handles))
        _rows(axes, top)

    return Plot(name, title, f"{title}. {text}", draw, _height(len(rows), 1))


def _legend(axes: Any, handles: Sequence[Any], names: Sequence[str]) -> None:
    axes.figure.legend(handles, [label(each) for each in names], loc="outside upper left", ncols=3)


def _rows(axes: Any, top: float) -> None:
    """The first one above."""
    axes.set_ylim(top, -_GAP)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0, labelcolor=INK)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.spines["left"].set_visible(False)


def _height(rows: int, series: int) -> float:
    legend = 0.3 if series > 1 else 0.1
    return round(_AROUND + legend + rows * (series * _BAR + _GAP), 2)


def _said(name: str, value: float | None) -> str:
    return f"{name} {'-' if value is None else format(value, '.3g')}"
