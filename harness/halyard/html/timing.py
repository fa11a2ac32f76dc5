# SPDX-License-Identifier: Apache-2.0
"""How fast: the last times, what they were before, and beside other engines and devices."""

from __future__ import annotations

from collections.abc import Sequence

from halyard.html import blocks, pairs, sustained
from halyard.html.blocks import Block, Cell, Plots, Section, Table
from halyard.html.variants import OURS, Variant, by_variant, names
from halyard.plots.bars import side_by_side
from halyard.plots.history import Point, Series, history
from halyard.plots.plot import Plot
from halyard.store import Results
from halyard.store.reading import Timing

# Of plots, and of rows in one of them.
_PLOTS = 12
_BARS = 16
_POINTS = 100
# A share of the median; less is not told as a change.
NOTICED = 0.1

_NUMBERS = (
    *("Threads", "Median ms", "95 % interval", "Change", "On the host", "Min", "p90", "p99", "Max"),
    *("First", "Prepared", "Runs"),
)
_COLUMNS = blocks.columns(
    *("Model", "Engine", "Device", "HAL", "Backends"), *_NUMBERS, "When", numbers=_NUMBERS
)


def section(results: Results) -> Section | None:
    series = by_variant(row for row in results.timings() if row.span == "wall")
    turns = pairs.table(results)
    if not series and turns is None:
        return None
    hosts = {
        (variant, row.document): row
        for variant, rows in by_variant(
            row for row in results.timings() if row.span == "host"
        ).items()
        for row in rows
    }
    rows = [
        _row(variant, times, hosts.get((variant, times[-1].document)))
        for variant, times in sorted(series.items())
    ]
    found: list[Block] = []
    # Those of one height stand side by side.
    groups = (
        [*_side_by_side(series), *_ratios(series)],
        _histories(series),
        sustained.plots(results),
    )
    found += [Plots(plots) for plots in groups if plots]
    if rows:
        found.append(Table.of("Last times of each model", _COLUMNS, rows))
    if turns is not None:
        found.append(turns)
    return Section("timing", "Timing", found)


def _row(variant: Variant, times: Sequence[Timing], host: Timing | None) -> list[Cell]:
    last = times[-1]
    return [
        blocks.text(variant.model),
        blocks.text(variant.engine, "" if variant.engine == OURS else "dim"),
        blocks.text(variant.device),
        blocks.text(variant.hal),
        blocks.text(variant.backends),
        blocks.count(variant.threads or None),
        blocks.milliseconds(last.median),
        blocks.interval(last.low, last.high),
        change_cell(times),
        blocks.number(_share_of(host, last), ".0f", unit=" %"),
        blocks.milliseconds(last.min),
        blocks.milliseconds(last.p90),
        blocks.milliseconds(last.p99),
        blocks.milliseconds(last.max),
        blocks.milliseconds(last.first),
        blocks.milliseconds(last.prepare),
        blocks.count(last.count),
        blocks.moment(last.at),
    ]


def _share_of(part: Timing | None, whole: Timing) -> float | None:
    """In percent, of the time of all executions."""
    if part is None or part.mean is None or not whole.mean:
        return None
    return 100 * part.mean / whole.mean


# ---- change -------------------------------------------------------------------------------------


def change(times: Sequence[Timing]) -> float | None:
    """Of the last median from the one before, as a share."""
    if len(times) < 2:
        return None
    before, last = times[-2].median, times[-1].median
    return last / before - 1 if before and last is not None else None


def is_slower(times: Sequence[Timing]) -> bool:
    """By more than is noticed; where both intervals are known they don't touch, either."""
    told = change(times)
    if told is None or told <= NOTICED:
        return False
    before, last = times[-2], times[-1]
    return before.high is None or last.low is None or last.low > before.high


def change_cell(times: Sequence[Timing]) -> Cell:
    told = change(times)
    if told is None:
        return blocks.number(None)
    tone: blocks.Tone = "warn" if is_slower(times) else "good" if told < -NOTICED else ""
    return Cell(f"{100 * told:+.0f} %", told, tone)


def comparable(results: Results) -> int:
    """How many were timed before, ours alone."""
    return sum(len(times) > 1 for _, times in _ours(results))


def slower(results: Results) -> list[tuple[Variant, float]]:
    """Models that take longer than before, ours alone."""
    return [
        (variant, change(times) or 0.0) for variant, times in _ours(results) if is_slower(times)
    ]


def _ours(results: Results) -> list[tuple[Variant, list[Timing]]]:
    series = by_variant(row for row in results.timings() if row.span == "wall")
    return [each for each in sorted(series.items()) if each[0].engine == OURS]


# ---- plots --------------------------------------------------------------------------------------


def _histories(series: dict[Variant, list[Timing]]) -> list[Plot]:
    """Of models that were run more than once, those with the most runs."""
    by_model: dict[str, list[Variant]] = {}
    for variant in sorted(series):
        if variant.engine == OURS and len(series[variant]) > 1:
            by_model.setdefault(variant.model, []).append(variant)
    models = sorted(by_model, key=lambda model: -sum(len(series[each]) for each in by_model[model]))
    return [
        history(
            f"history-{number}",
            f"{model} over time",
            "median ms",
            [
                Series(name, [_point(row) for row in series[variant][-_POINTS:]])
                for variant, name in zip(by_model[model], names(by_model[model]), strict=True)
            ],
        )
        for number, model in enumerate(models[:_PLOTS], 1)
    ]


def _point(row: Timing) -> Point:
    interval = None if row.low is None or row.high is None else (row.low, row.high)
    return Point(row.at, row.median or 0.0, interval)


def _side_by_side(series: dict[Variant, list[Timing]]) -> list[Plot]:
    """The last times of what more than one device has run, on the same backends."""
    last: dict[str, dict[str, Timing]] = {}
    for variant, times in series.items():
        if variant.engine == OURS and times[-1].kind == "run":
            name = f"{variant.model} {variant.backends}".strip()
            mine = last.setdefault(name, {})
            known = mine.get(variant.device)
            if known is None or times[-1].order > known.order:
                mine[variant.device] = times[-1]
    shared = {model: mine for model, mine in sorted(last.items()) if len(mine) > 1}
    devices = sorted({device for mine in shared.values() for device in mine})
    if not shared:
        return []
    rows = {
        model: [mine[device].median if device in mine else None for device in devices]
        for model, mine in list(shared.items())[:_BARS]
    }
    return [side_by_side("devices", "Devices side by side", "median ms", devices, rows)]


def _ratios(series: dict[Variant, list[Timing]]) -> list[Plot]:
    """Of the last benchmark of each model: ours beside each peer's of the same document."""
    rows: dict[str, list[float | None]] = {}
    last = {
        variant: times[-1] for variant, times in sorted(series.items()) if times[-1].kind == "bench"
    }
    peers = sorted({variant.engine for variant in last} - {OURS})
    ours = [variant for variant in last if variant.engine == OURS]
    for variant, name in zip(ours, names(ours, ["model"]), strict=True):
        medians = {
            other.engine: row.median
            for other, row in last.items()
            if row.document == last[variant].document
            and (other.model, other.threads) == (variant.model, variant.threads)
        }
        mine = last[variant].median
        ratios = [
            mine / theirs if mine and (theirs := medians.get(peer)) else None for peer in peers
        ]
        if any(ratio is not None for ratio in ratios):
            rows[name] = ratios
    if not rows:
        return []
    shown = dict(list(rows.items())[:_BARS])
    title = "Time beside other engines (less than 1: ours is faster)"
    return [side_by_side("peers", title, "our median / theirs", peers, shown, mark=1.0)]
