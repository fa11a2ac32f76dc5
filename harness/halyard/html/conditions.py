# SPDX-License-Identifier: Apache-2.0
"""In what state a device was while models were measured, and what memory they took."""

from __future__ import annotations

import msgspec

from halyard.html import blocks
from halyard.html.blocks import Block, Cell, Section, Table
from halyard.html.variants import OURS
from halyard.store import Results
from halyard.store.reading import Condition, Document


class _Held(msgspec.Struct):
    constant_bytes: int = 0
    workspace_bytes: int = 0
    table_bytes: int = 0


class _Memory(msgspec.Struct):
    device: _Held | None = None


class _Engine(msgspec.Struct):
    device_memory: _Held | None = None


class _Result(msgspec.Struct):
    model: str = ""
    type: str = ""
    engines: dict[str, _Engine] = {}


class _Told(msgspec.Struct):
    """Conditions as documents tell them: of a run, of a profile, of models that were measured."""

    memory: _Memory = msgspec.field(default_factory=_Memory)
    device_memory: _Held | None = None
    results: list[_Result] = []


_HELD = blocks.columns(
    "Model",
    "Device",
    "Backends",
    "MiB",
    "Constants",
    "Workspace",
    "Tables",
    "When",
    numbers=("MiB", "Constants", "Workspace", "Tables"),
)
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
    held = _on_devices(results)
    if not rows and not held:
        return None
    tables: list[Block] = []
    if rows:
        tables.append(Table.of("As models were last measured", _COLUMNS, rows))
    if held:
        tables.append(Table.of("What lay on devices", _HELD, held))
    return Section("conditions", "Conditions and memory", tables)


def _on_devices(results: Results) -> list[list[Cell]]:
    """Of each model, as it was last run, profiled or measured on a device's memory."""
    last: dict[tuple[str, str, str], list[Cell]] = {}
    for document in results.documents():
        if document.kind not in ("run", "profile", "bench"):
            continue
        for model, held in _held(document, results.content(document.id)):
            last[model, document.device, document.backends] = [
                blocks.text(model),
                blocks.text(document.device),
                blocks.text(document.backends),
                blocks.mebibytes(held.constant_bytes + held.workspace_bytes + held.table_bytes),
                blocks.mebibytes(held.constant_bytes),
                blocks.mebibytes(held.workspace_bytes),
                blocks.mebibytes(held.table_bytes),
                blocks.moment(document.at),
            ]
    return list(last.values())


def _held(document: Document, content: bytes | str) -> list[tuple[str, _Held]]:
    try:
        told = msgspec.json.decode(content, type=_Told)
    except msgspec.MsgspecError:
        return []
    found = [(document.model, told.device_memory), (document.model, told.memory.device)]
    for result in told.results:
        if OURS in result.engines:
            name = " ".join(word for word in (result.model, result.type) if word)
            found.append((name, result.engines[OURS].device_memory))
    return [(model, held) for model, held in found if held is not None]


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
