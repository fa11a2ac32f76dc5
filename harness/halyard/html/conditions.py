# SPDX-License-Identifier: Apache-2.0
"""In what state a device was while models were measured, and what memory they took."""

from __future__ import annotations

from halyard.html import blocks
from halyard.html.blocks import Cell, Section, Table
from halyard.html.variants import OURS
from halyard.store import Results
from halyard.store.reading import Condition

_COLUMNS = blocks.columns(
    "Model",
    "Engine",
    "Device",
    "HAL",
    "Backends",
    "Threads",
    "Peak MiB",
    "Hottest °C",
    "Throttling",
    "Governor",
    "MHz",
    "Cores",
    "Load",
    "Power",
    "J per run",
    "When",
    numbers=("Threads", "Peak MiB", "Hottest °C", "MHz", "Load", "J per run"),
)


def section(results: Results) -> Section | None:
    rows = [_row(row) for row in results.conditions()]
    if not rows:
        return None
    table = Table.of("As models were last measured", _COLUMNS, rows)
    return Section("conditions", "Conditions and memory", [table])


def _row(row: Condition) -> list[Cell]:
    return [
        blocks.text(row.model),
        blocks.text(row.engine, "" if row.engine == OURS else "dim"),
        blocks.text(row.device),
        blocks.text(row.hal),
        blocks.text(row.backends),
        blocks.count(row.threads),
        blocks.mebibytes(row.peak_memory),
        blocks.number(row.temperature, ".1f"),
        blocks.text(row.throttling or "", "" if row.throttling in (None, "none") else "warn"),
        blocks.text(row.governor or ""),
        blocks.number(row.mhz, ".0f"),
        blocks.text(row.cpus or ""),
        blocks.number(row.load, ".2f"),
        blocks.text(row.power or ""),
        blocks.number(row.joules, ".3g"),
        blocks.moment(row.at),
    ]
