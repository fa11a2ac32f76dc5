# SPDX-License-Identifier: Apache-2.0
"""Two that took turns (halyard bench pair), and which of them is faster."""

from __future__ import annotations

from itertools import groupby

from halyard.html import blocks
from halyard.html.blocks import Cell, Table
from halyard.store import Results
from halyard.store.reading import Side

_COLUMNS = blocks.columns(
    "Model",
    "Side",
    "With",
    "Verdict",
    "Device",
    "Threads",
    "Median ms",
    "95 % interval",
    "p90",
    "B / A",
    "Its interval",
    "p",
    "Peak MiB",
    "Hottest °C",
    "When",
    "Runs",
    numbers=(
        "Threads",
        "Median ms",
        "95 % interval",
        "p90",
        "B / A",
        "Its interval",
        "p",
        "Peak MiB",
        "Hottest °C",
        "Runs",
    ),
)


def table(results: Results) -> Table | None:
    """The last one of each two, the newest first."""
    last: dict[object, list[Side]] = {}
    for _, sides in groupby(results.sides(), lambda row: (row.document, row.number)):
        both = list(sides)
        key = tuple((each.model, each.words, each.device, each.threads) for each in both)
        last.pop(key, None)
        last[key] = both
    if not last:
        return None
    rows = [_row(side) for both in reversed(last.values()) for side in both]
    return Table.of("Two that took turns", _COLUMNS, rows)


def _row(row: Side) -> list[Cell]:
    return [
        blocks.text(row.model),
        blocks.text(row.side),
        blocks.text(row.words),
        _verdict(row),
        blocks.text(row.device),
        blocks.count(row.threads),
        blocks.milliseconds(row.median),
        blocks.interval(row.low, row.high),
        blocks.milliseconds(row.p90),
        blocks.number(row.ratio, ".3f"),
        blocks.interval(row.ratio_low, row.ratio_high),
        blocks.number(row.p, ".2g"),
        blocks.mebibytes(row.peak_memory),
        blocks.number(row.temperature, ".1f"),
        blocks.moment(row.at),
        blocks.count(row.count),
    ]


def _verdict(row: Side) -> Cell:
    if row.ratio is None:
        return blocks.text("")
    if not row.significant:
        return blocks.text("same")
    slower = row.ratio > 1
    return blocks.text(
        f"{row.side} is {'slower' if slower else 'faster'}", "warn" if slower else "good"
    )
