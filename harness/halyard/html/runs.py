# SPDX-License-Identifier: Apache-2.0
"""Runs of models, and all documents that have no section of their own."""

from __future__ import annotations

from typing import Any

import msgspec

from halyard.html import blocks
from halyard.html.blocks import Block, Cell, Details, Group, Section, Table
from halyard.store import Results
from halyard.store.reading import Document

# The word of hal_version, which is above this, for a version that a run did not learn.
_UNKNOWN = "newest"
# Commands that have a section of their own.
_SHOWN = ("run", "bench", "conformance", "vts", "doctor", "compare", "profile")
_ROWS = 300
_DETAILS = 60
_TEXT = 16_000


class _Run(msgspec.Struct):
    problems: list[str] = []
    notes: list[str] = []
    failed_stage: str = ""
    status: str = ""
    message: str = ""
    log: str = ""


_COLUMNS = blocks.columns(
    "Model", "Result", "Log", "Device", "HAL", "Target", "Backends", "Driver", "When"
)


def last_runs(results: Results) -> list[Document]:
    """Of each model on each device, by HAL version and backends. One that failed before anything
    was placed counts until the model runs there again, whatever backends run it then; and one that
    reached no driver, whose version it did not learn, whatever the version is."""
    last: dict[tuple[str, str], dict[tuple[str, str], Document]] = {}
    for each in results.documents():
        if each.kind == "run":
            alike = last.setdefault((each.model, each.device), {})
            alike.pop((each.hal, ""), None)
            alike.pop((_UNKNOWN, ""), None)
            alike[each.hal, each.backends] = each
    return [each for alike in last.values() for each in alike.values()]


def section(results: Results) -> Section | None:
    last = last_runs(results)
    if not last:
        return None
    documents = sorted(last, key=lambda each: (bool(each.ok), -each.order))
    details: list[Details] = []
    rows = []
    for document in documents[:_ROWS]:
        log = Cell(blocks.NONE, tone="dim")
        if not document.ok and len(details) < _DETAILS:
            details.append(_log(results, document))
            log = Cell("log", link=details[-1].id)
        rows.append(
            [
                blocks.text(document.model),
                blocks.verdict(document.ok),
                log,
                blocks.text(document.device),
                blocks.text(document.hal),
                blocks.text(document.target),
                blocks.text(document.backends),
                blocks.text(document.driver),
                blocks.moment(document.at),
            ]
        )
    table = Table.of("Models as they last ran", _COLUMNS, rows, len(documents) - len(rows))
    return Section(
        "runs", "Models", [table, *([Group("Logs of failed runs", details)] if details else [])]
    )


def _log(results: Results, document: Document) -> Details:
    try:
        run = msgspec.json.decode(results.content(document.id), type=_Run)
        lines = [f"PROBLEM  {problem}" for problem in run.problems]
        lines += [f"note     {note}" for note in run.notes]
        lines += [f"stage    {run.failed_stage}, status {run.status}", run.message, run.log]
    except msgspec.MsgspecError as error:
        lines = [f"this document can't be read: {error}"]
    hal = f", HAL {document.hal}" if document.hal else ""
    title = f"Log of {document.model} on {document.device}{hal}"
    return Details(f"run-{document.id}", title, "\n".join(lines)[:_TEXT])


def others(results: Results) -> Section | None:
    found: dict[tuple[str, str, str], Document] = {
        (each.kind, each.device, each.model): each
        for each in results.documents()
        if each.kind not in _SHOWN
    }
    if not found:
        return None
    rows, details = [], []
    for key in sorted(found)[:_DETAILS]:
        document = found[key]
        details.append(_whole(results, document))
        rows.append(
            [
                blocks.text(document.kind),
                blocks.text(document.device),
                blocks.text(document.model),
                blocks.verdict(document.ok),
                blocks.moment(document.at),
                Cell("document", link=details[-1].id),
            ]
        )
    columns = blocks.columns("Kind", "Device", "Model", "Result", "When", "Whole")
    content: list[Block] = [
        Table.of("The last ones of each kind", columns, rows, len(found) - len(rows)),
        Group("Documents", details),
    ]
    return Section("others", "Other results", content)


def _whole(results: Results, document: Document) -> Details:
    text = results.content(document.id)
    try:
        value: Any = msgspec.json.decode(text)
        text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    except msgspec.MsgspecError:
        pass
    title = f"{document.kind} of {document.model or document.device}, {document.at}"
    return Details(f"document-{document.id}", title, text[:_TEXT])
