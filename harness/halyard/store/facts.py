# SPDX-License-Identifier: Apache-2.0
"""The parts of a document that go into columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import msgspec

from halyard.errors import HalyardError
from halyard.records import Document, Error, Record, decode
from halyard.records.bench import Bench, Pair, Result
from halyard.records.compare import Compare
from halyard.records.conditions import Conditions, Supply
from halyard.records.conformance import Conformance
from halyard.records.doctor import Doctor
from halyard.records.run import Node, Run
from halyard.records.vts import Vts

# SQLite's types of a value, and a row by the names of its columns.
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
    """Of a table; `model` and `device` where it has columns for them."""

    table: str
    columns: Columns
    model: Model | None = None
    device: Device | None = None


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


def named(device: str) -> str:
    """The name of a device of the command line: of a YAML file that is the file's name."""
    return Path(device).stem if device.endswith((".yaml", ".yml")) else device


def facts_of(document: Document) -> Facts:
    """A document of a kind that has no tables of its own is asked for fields of the usual names."""
    read = _READERS.get(type(document))
    return read(document) if read else _any(document)


def facts_of_text(kind: str, text: str) -> Facts:
    """Of a document that was kept; none where another halyard has kept it in another form."""
    try:
        [document] = decode(text.encode(), MEASURED[kind])
    except (HalyardError, ValueError):
        return Facts()
    return facts_of(document)


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
        file=file,
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


def _condition(
    model: Model,
    told: Conditions | None,
    *,
    engine: str = "halyard",
    threads: int | None = None,
    memory: int | None = None,
    joules: float | None = None,
) -> Iterator[Row]:
    """None where neither the device nor the system told anything."""
    cores = told.cores if told else []
    supplies = told.supplies if told else []
    columns: dict[str, Value] = {
        "peak_memory": memory or None,
        "temperature": told.temperature_c if told else None,
        "throttling": told.throttling if told else None,
        "governor": "+".join(dict.fromkeys(each.governor for each in cores if each.governor))
        or None,
        "mhz": max((each.mhz for each in cores if each.mhz is not None), default=None),
        "cpus": told.allowed_cpus if told else None,
        "load": told.load if told else None,
        "power": ", ".join(filter(None, map(_power, supplies))) or None,
        "joules": joules,
    }
    if any(value is not None for value in columns.values()):
        yield Row("conditions", {"engine": engine, "threads": threads, **columns}, model)


def _power(supply: Supply) -> str:
    charge = "" if supply.percent is None else f"{supply.percent} %"
    return " ".join(word for word in (supply.type, supply.status.lower(), charge) if word)


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
        ("halyard", "host", document.host_timings_ms),
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
                "partition": place.partition,
                "kernel": place.kernel,
                "refusals": msgspec.json.encode(place.refusals).decode(),
            },
        )
    yield from _nodes(document.profile, model)
    yield from _condition(model, document.conditions, memory=document.memory.peak_rss_bytes)


# ---- bench --------------------------------------------------------------------------------------


def _bench(document: Bench) -> Facts:
    facts = _head(document, _bench_rows(document))
    return facts if facts.device else replace(facts, device=_this_machine(document))


def _this_machine(document: Bench) -> Device:
    machine = document.machine
    properties = {"cpu": machine.cpu, "architecture": machine.architecture}
    return Device("host", emulated=False, properties={**properties, "system": machine.system})


def _bench_rows(document: Bench) -> Iterator[Row]:
    for number, pair in enumerate(document.pairs, 1):
        yield from _pair_rows(number, pair)
    for result in document.results:
        model = _benched(result)
        load = result.sustained
        for name, engine in result.engines.items():
            if engine.median_ms is not None:
                columns: dict[str, Value] = {"engine": name, "threads": result.threads}
                whole = {"span": "wall", "prepare": engine.prepare_ms, **_times(engine)}
                yield Row("timings", columns | whole, model)
                if engine.host_timings_ms is not None:
                    part = {"span": "host", **_times(engine.host_timings_ms)}
                    yield Row("timings", columns | part, model)
            ours = name == "halyard"
            yield from _condition(
                model,
                result.conditions if ours else None,
                engine=name,
                threads=result.threads,
                memory=engine.peak_memory_bytes,
                joules=load.joules_per_run if load and ours else None,
            )
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


def _benched(result: Result) -> Model:
    told = _model(msgspec.to_builtins(result.benchmark_model))
    return told or Model(result.model, result.type, result.size)


def _pair_rows(number: int, pair: Pair) -> Iterator[Row]:
    """The comparison's findings stand with B, which they are about."""
    found = pair.comparison
    for side in (pair.a, pair.b):
        [engine, *_] = side.result.engines.values()
        state = side.result.conditions
        times = _times(engine)
        columns: dict[str, Value] = {
            "number": number,
            "side": side.name,
            "words": side.words,
            "threads": side.result.threads,
            "peak_memory": engine.peak_memory_bytes,
            "temperature": state.temperature_c if state else None,
            **{name: times[name] for name in ("count", "median", "p90", "low", "high")},
        }
        if found is not None and side is pair.b:
            columns |= {"ratio": found.ratio, "p": found.p, "significant": found.significant}
            columns["ratio_low"], columns["ratio_high"] = found.interval
        device = Device("", named(side.device)) if side.device else None
        yield Row("pairs", columns, _benched(side.result), device)


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

# Those that earlier versions of the tables have kept less of.
MEASURED: Mapping[str, type[Document]] = {"run": Run, "bench": Bench}
