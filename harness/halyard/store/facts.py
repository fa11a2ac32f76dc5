# SPDX-License-Identifier: Apache-2.0
"""What of a document goes into columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import msgspec

from halyard.records import Document, Error, Record
from halyard.records.bench import Bench
from halyard.records.compare import Compare
from halyard.records.conformance import Conformance
from halyard.records.doctor import Doctor
from halyard.records.run import Node, Run
from halyard.records.vts import Vts

# What SQLite has for a value, and a row by the names of its columns.
Value = str | int | float | None
Columns = Mapping[str, Value]


@dataclass(frozen=True)
class Device:
    """`name` is empty where the document knows no more than a serial."""

    serial: str
    name: str = ""
    emulated: bool | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Model:
    name: str
    type: str = ""
    size: int = 0
    width: float = 0.0
    file: str = ""


@dataclass(frozen=True)
class Row:
    """Of a table; `model` where it has a column for it."""

    table: str
    columns: Columns
    model: Model | None = None


@dataclass(frozen=True)
class Facts:
    device: Device | None = None
    model: Model | None = None
    at: str = ""
    target: str = ""
    driver: str = ""
    hal: str = ""
    ok: bool | None = None
    rows: Sequence[Row] = ()


def facts_of(document: Document) -> Facts:
    """A document of a kind that has no tables of its own is asked for fields of the usual names."""
    read = _READERS.get(type(document))
    return read(document) if read else _any(document)


# ---- any kind -----------------------------------------------------------------------------------


def _any(document: Document) -> Facts:
    """A profile, for one, has nodes."""
    facts = _head(document)
    nodes = [node for node in getattr(document, "nodes", ()) if isinstance(node, Node)]
    return replace(facts, rows=tuple(_nodes(nodes, facts.model))) if facts.model else facts


def _head(document: Document, rows: Iterable[Row] = (), *, ok: bool | None = None) -> Facts:
    content = cast("Mapping[str, Any]", msgspec.to_builtins(document))
    hal = content.get("hal", "")
    said = content.get("ok")
    return Facts(
        device=_device(content.get("device")),
        model=_model(content.get("model")),
        at=_text(content.get("date")),
        target=_text(content.get("target")),
        driver=_text(content.get("driver")),
        hal=", ".join(map(str, hal)) if isinstance(hal, list) else _text(hal),
        ok=said if ok is None and isinstance(said, bool) else ok,
        rows=tuple(rows),
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _device(value: object) -> Device | None:
    if isinstance(value, str) and value:
        return Device(value)
    if not isinstance(value, dict) or not value.get("serial"):
        return None
    emulated = value.get("emulated")
    return Device(
        serial=str(value["serial"]),
        name=_text(value.get("name")),
        emulated=emulated if isinstance(emulated, bool) else None,
        properties=value.get("properties") or {},
    )


def _model(value: object) -> Model | None:
    if isinstance(value, str) and value:
        return Model(value)
    if not isinstance(value, dict) or not value.get("name"):
        return None
    file = _text(value.get("file"))
    return Model(
        name=Path(file).name or str(value["name"]),
        type=_text(value.get("type")),
        size=int(value.get("size") or 0),
        width=float(value.get("width") or 0),
        file=_text(value.get("file")),
    )


def _number(value: Error | None) -> float | None:
    return None if value is None else float(value)


# The names under which a summary of times may have what a column keeps.
_TIMES: Mapping[str, Sequence[str]] = {
    "count": ("count", "runs"),
    "first": ("first", "first_ms"),
    "min": ("min", "min_ms"),
    "p25": ("p25",),
    "median": ("median", "median_ms", "p50"),
    "p75": ("p75",),
    "p90": ("p90", "p90_ms"),
    "p95": ("p95",),
    "p99": ("p99", "p99_ms"),
    "max": ("max", "max_ms"),
    "mean": ("mean", "avg"),
    "std": ("std",),
}


def _times(summary: Record) -> dict[str, Value]:
    content = cast("dict[str, Any]", msgspec.to_builtins(summary))
    # Where it is one part of what is told of an engine.
    content |= content.get("timings_ms") or {}
    columns: dict[str, Value] = {
        column: next((content[name] for name in names if content.get(name) is not None), None)
        for column, names in _TIMES.items()
    }
    columns["low"], columns["high"] = content.get("median_interval") or (None, None)
    if content.get("quartiles_ms"):
        columns["p25"], columns["p75"] = content["quartiles_ms"]
    return columns


def _nodes(nodes: Iterable[Node], model: Model, threads: int | None = None) -> Iterator[Row]:
    for node in nodes:
        yield Row(
            "nodes",
            {
                "threads": threads,
                "operation": node.operations[0] if node.operations else None,
                "label": node.label,
                "node": node.node,
                "type": node.type,
                "backend": node.backend,
                "kernel": node.kernel,
                "median": node.median_ms,
                "share": node.share,
            },
            model,
        )


# ---- run ----------------------------------------------------------------------------------------


def _run(document: Run) -> Facts:
    return _head(document, _run_rows(document, _model(msgspec.to_builtins(document.model))))


def _peer(document: Run) -> str:
    """As benchmarks call it: what it is in ("LiteRT in float32") makes no other engine."""
    compared = document.agreement.with_ if document.agreement else ""
    return (document.peer or compared or "LiteRT").partition(" in ")[0].lower().replace(" ", "")


def _run_rows(document: Run, model: Model | None) -> Iterator[Row]:
    model = model or Model("")
    spans = (
        ("halyard", "wall", document.timings_ms),
        ("halyard", "driver", document.driver_timings_ms),
        ("halyard", "device", document.device_timings_ms),
        (_peer(document), "wall", document.peer_timings_ms),
    )
    for engine, span, timings in spans:
        if timings is not None:
            prepare = document.prepare_ms if (engine, span) == ("halyard", "wall") else None
            columns = {"engine": engine, "span": span, "prepare": prepare, **_times(timings)}
            yield Row("timings", columns, model)
    for output in document.agreement.outputs if document.agreement else ():
        yield Row(
            "agreements",
            {
                "engine": "halyard",
                "reference": document.agreement.with_ if document.agreement else "",
                "output": output.name,
                "max_abs_error": _number(output.max_abs_error),
                "max_relative_error": _number(output.max_relative_error),
                "max_steps": output.max_steps,
                "exact_share": output.exact_share,
                "nan": output.nan,
            },
            model,
        )
    for place in document.placement:
        yield Row(
            "placement",
            {
                "operation": place.operation,
                "label": place.label,
                "node": place.node,
                "backend": place.backend,
                "piece": place.piece,
                "kernel": place.kernel,
                "refusals": msgspec.json.encode(place.refusals).decode(),
            },
        )
    yield from _nodes(document.profile, model)


# ---- bench --------------------------------------------------------------------------------------


def _bench(document: Bench) -> Facts:
    facts = _head(document, _bench_rows(document))
    return facts if facts.device else replace(facts, device=_this_machine(document))


def _this_machine(document: Bench) -> Device:
    machine = document.machine
    properties = {"cpu": machine.cpu, "architecture": machine.architecture}
    return Device("host", emulated=False, properties={**properties, "system": machine.system})


def _bench_rows(document: Bench) -> Iterator[Row]:
    for result in document.results:
        told = _model(msgspec.to_builtins(getattr(result, "subject", None)))
        model = told or Model(result.model, result.type, result.size)
        for name, engine in result.engines.items():
            if engine.median_ms is not None:
                columns: dict[str, Value] = {"engine": name, "span": "wall"}
                columns |= {"threads": result.threads, "prepare": engine.prepare_ms}
                yield Row("timings", {**columns, **_times(engine)}, model)
            for output in engine.agreement or ():
                yield Row(
                    "agreements",
                    {
                        "engine": name,
                        "reference": result.reference,
                        "threads": result.threads,
                        "output": output.output,
                        "max_abs_error": _number(output.max_abs_error),
                        "max_steps": output.max_steps,
                        "exact_share": output.exact_share,
                        "nan": output.nan,
                    },
                    model,
                )
        yield from _nodes(result.profile, model, result.threads)


# ---- compare and doctor -------------------------------------------------------------------------


def _compare(document: Compare) -> Facts:
    facts = _head(document)
    return replace(facts, rows=tuple(_compare_rows(document, facts.model or Model(""))))


def _compare_rows(document: Compare, model: Model) -> Iterator[Row]:
    for inputs in document.input_sets:
        for output in inputs.outputs:
            found = output.statistics
            yield Row(
                "agreements",
                {
                    "engine": document.b.name,
                    "reference": document.a.name,
                    "output": found.name,
                    "max_abs_error": _number(found.max_abs_error),
                    "max_relative_error": _number(found.max_relative_error),
                    "max_steps": found.max_steps,
                    "exact_share": found.exact_share,
                    "nan": found.nan,
                },
                model,
            )


def _doctor(document: Doctor) -> Facts:
    """It says what the user calls the device."""
    return replace(_head(document), device=Device("", document.device))


# ---- conformance and vts ------------------------------------------------------------------------


def _conformance(document: Conformance) -> Facts:
    bad = document.failed + document.crashed + document.xpassed
    whole = not (document.ended_early or document.unreadable)
    facts = _head(document, _conformance_rows(document), ok=whole and not bad)
    if document.shares is msgspec.UNSET or len(document.shares) != 1:
        return facts
    # Of several devices a document has what the user calls the device.
    [share] = document.shares
    return replace(facts, device=Device(share.serial, document.device))


def _conformance_rows(document: Conformance) -> Iterator[Row]:
    for case in document.cases:
        yield Row(
            "cases",
            {
                "suite": case.spec,
                "name": case.name,
                "hal": case.hal,
                "status": case.status,
                "stage": case.stage,
                "message": case.message,
                "operations": " ".join(case.operations),
                "max_error": _number(case.max_error),
                "max_steps": case.max_steps,
                "seconds": case.seconds,
            },
        )


def _vts(document: Vts) -> Facts:
    whole = not (document.ended_early or document.unreadable)
    return _head(document, _vts_rows(document), ok=whole and not document.failed)


def _vts_rows(document: Vts) -> Iterator[Row]:
    for test in document.tests:
        yield Row(
            "cases",
            {
                "suite": test.suite,
                "name": test.name,
                "hal": test.hal,
                "status": test.outcome,
                "stage": "",
                "message": test.reason,
                "operations": "",
                "seconds": test.seconds,
            },
        )


_READERS: Mapping[type[Document], Callable[[Any], Facts]] = {
    Run: _run,
    Bench: _bench,
    Compare: _compare,
    Conformance: _conformance,
    Doctor: _doctor,
    Vts: _vts,
}
