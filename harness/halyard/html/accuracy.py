# SPDX-License-Identifier: Apache-2.0
"""How exact: outputs beside a reference's."""

from __future__ import annotations

import math

from halyard.html import blocks
from halyard.html.blocks import Cell, Section, Table
from halyard.store import Results
from halyard.store.reading import Agreement

_COLUMNS = blocks.columns(
    "Model",
    "Verdict",
    "Output",
    "Engine",
    "Device",
    "HAL",
    "Backends",
    "Compared with",
    "Max error",
    "Relative",
    "Steps",
    "Exact",
    "NaN",
    "When",
    numbers=("Max error", "Relative", "Steps", "Exact", "NaN"),
)


def section(results: Results) -> Section | None:
    # Of the reference itself there is nothing to tell: "onnxruntime" is "ONNX Runtime".
    rows = [
        row for row in results.agreements() if row.engine != row.reference.lower().replace(" ", "")
    ]
    if not rows:
        return None
    table = Table.of("Outputs beside the reference's", _COLUMNS, [_row(row) for row in rows])
    return Section("accuracy", "Accuracy", [table])


def _row(row: Agreement) -> list[Cell]:
    return [
        blocks.text(row.model),
        blocks.verdict(row.ok),
        blocks.text(row.output),
        blocks.text(row.engine),
        blocks.text(row.device),
        blocks.text(row.hal),
        blocks.text(row.backends),
        blocks.text(row.reference),
        _error(row.max_abs_error),
        _error(row.max_relative_error),
        blocks.count(row.max_steps),
        _share(row.exact_share),
        blocks.count(row.nan, "bad"),
        blocks.moment(row.at),
    ]


def _error(value: float | None) -> Cell:
    tone: blocks.Tone = "bad" if value is not None and math.isinf(value) else ""
    return blocks.number(value, ".2e" if value else ".0f", tone)


def _share(value: float | None) -> Cell:
    return blocks.number(None if value is None else 100 * value, ".4g", unit=" %")
