# SPDX-License-Identifier: Apache-2.0
"""Where: which backend ran how much of a model, and why others did not."""

from __future__ import annotations

from collections import Counter

import msgspec

from halyard.html import blocks
from halyard.html.blocks import Block, Plots, Section, Table
from halyard.plots.bars import shares
from halyard.store import Results
from halyard.store.reading import Document, Placed

_BARS = 24
_REASONS = 200

_COLUMNS = blocks.columns(
    "Model",
    "Device",
    "HAL",
    "Backend",
    "Operations",
    "Share",
    "Partitions",
    "When",
    numbers=("Operations", "Share", "Partitions"),
)
_REFUSED = blocks.columns(
    "Model", "Device", "Backend", "Operations", "Reason", numbers=("Operations",)
)


def section(results: Results) -> Section | None:
    placed: dict[int, list[Placed]] = {}
    for row in results.placed():
        placed.setdefault(row.document, []).append(row)
    last = {
        (document.model, document.device, document.hal, document.backends): document
        for document in results.documents()
        if document.id in placed
    }
    if not last:
        return None
    documents = [last[each] for each in sorted(last)]
    rows = []
    for document in documents:
        whole = sum(row.count for row in placed[document.id])
        rows += [
            [
                blocks.text(document.model),
                blocks.text(document.device),
                blocks.text(document.hal),
                blocks.text(row.backend or "none", "" if row.backend else "bad"),
                blocks.count(row.count),
                blocks.number(100 * row.count / whole, ".0f", unit=" %"),
                blocks.count(row.partitions),
                blocks.moment(document.at),
            ]
            for row in placed[document.id]
        ]
    found: list[Block] = [
        *_plot(documents, placed),
        Table.of("What each backend ran", _COLUMNS, rows),
        *_refusals(results, documents),
    ]
    return Section("placement", "Placement", found)


def _plot(documents: list[Document], placed: dict[int, list[Placed]]) -> list[Block]:
    """Where there is more than one backend to tell apart."""
    counted: Counter[str] = Counter()
    for document in documents:
        counted.update({row.backend or "none": row.count for row in placed[document.id]})
    backends = [name for name, _ in counted.most_common()]
    if len(backends) < 2:
        return []
    rows = {}
    for document in documents[:_BARS]:
        counts = {row.backend or "none": float(row.count) for row in placed[document.id]}
        hal = f", HAL {document.hal}" if document.hal else ""
        name = f"{document.model} on {document.device}{hal} {document.backends}"
        rows[name] = [counts.get(backend) for backend in backends]
    return [Plots([shares("placement", "Operations by backend", backends, rows)])]


def _refusals(results: Results, documents: list[Document]) -> list[Block]:
    by_id = {document.id: document for document in documents}
    counted: Counter[tuple[int, str, str]] = Counter()
    for row in results.refused():
        if row.document in by_id:
            for backend, reason in _reasons(row.refusals).items():
                counted[row.document, backend, reason] += row.count
    if not counted:
        return []
    rows = [
        [
            blocks.text(by_id[document].model),
            blocks.text(by_id[document].device),
            blocks.text(backend),
            blocks.count(number),
            blocks.text(reason),
        ]
        for (document, backend, reason), number in counted.most_common(_REASONS)
    ]
    more = len(counted) - len(rows)
    return [Table.of("Why backends did not take operations", _REFUSED, rows, more)]


def _reasons(text: str) -> dict[str, str]:
    try:
        return msgspec.json.decode(text, type=dict[str, str])
    except msgspec.MsgspecError:
        return {"": text}
