# SPDX-License-Identifier: Apache-2.0
"""Times as a table for spreadsheets: a row for each engine on each model."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from halyard.bench.results import OURS
from halyard.records.bench import Bench, Engine, Result
from halyard.records.run import Run, Timings
from halyard.records.sustained import Sustained

COLUMNS = (
    "date", "device", "cpu", "target", "hal", "side", "model", "type", "size", "width", "threads",
    "engine", "version", "backends", "prepare_ms", "first_ms", "warmup_ms", "runs", "min_ms",
    "median_ms", "median_low_ms", "median_high_ms", "p90_ms", "p95_ms", "p99_ms", "max_ms",
    "mean_ms", "std_ms", "host_median_ms", "host_share", "peak_memory_bytes",
    "base_memory_bytes", "temperature_c", "per_s", "slowdown", "joules_per_run", "failed", "reason",
    "disputed",
)  # fmt: skip


def text(document: Bench | Sequence[Run]) -> str:
    """Of a benchmark, or of runs. An unknown value is an empty cell."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in _rows(document) if isinstance(document, Bench) else map(_of_run, document):
        writer.writerow({name: _cell(value) for name, value in row.items()})
    return out.getvalue()


def _of_run(document: Run) -> dict[str, object]:
    warmup = document.warmup_ms
    first = warmup or document.timings_ms
    return {
        "device": document.device.serial,
        "target": document.target,
        "hal": document.hal,
        "model": document.model.name,
        "type": document.model.type,
        "size": document.model.size,
        "width": document.model.width,
        "engine": OURS,
        "version": document.driver,
        "prepare_ms": document.prepare_ms,
        "first_ms": first.first if first else None,
        "warmup_ms": warmup.avg if warmup else None,
        "runs": document.timings_ms.count if document.timings_ms else 0,
        "peak_memory_bytes": document.memory.peak_rss_bytes,
        "temperature_c": document.conditions.temperature_c if document.conditions else None,
        "failed": not document.ok,
        "reason": "; ".join(document.problems),
        **_of_timings(document.timings_ms),
        **_of_host(document.host_timings_ms, document.timings_ms),
        **_of_load(document.sustained),
    }


def _rows(document: Bench) -> Iterator[dict[str, object]]:
    common = {
        "date": document.date,
        "device": document.device.serial if document.device else "",
        "cpu": document.machine.cpu,
        "target": document.target,
        "backends": ",".join(document.backends),
    }
    for result in document.results:
        for name, engine in result.engines.items():
            yield {**common, "engine": name, **_of_engine(result, engine)}
    for pair in document.pairs:
        for side in (pair.a, pair.b):
            for name, engine in side.result.engines.items():
                yield {
                    **common,
                    "side": side.name,
                    "device": side.device,
                    "backends": ",".join(side.backends),
                    "engine": name,
                    **_of_engine(side.result, engine),
                }


def _of_engine(result: Result, engine: Engine) -> dict[str, object]:
    warmup, load = engine.warmup_ms, result.sustained
    row: dict[str, object] = {
        "model": result.model,
        "type": result.type,
        "size": result.size,
        "width": result.benchmark_model.width if result.benchmark_model else None,
        "threads": result.threads,
        "version": engine.version,
        "prepare_ms": engine.prepare_ms,
        "first_ms": engine.first_ms,
        "warmup_ms": warmup.avg if warmup else None,
        "runs": engine.runs,
        "peak_memory_bytes": engine.peak_memory_bytes,
        "base_memory_bytes": engine.base_memory_bytes,
        "temperature_c": result.conditions.temperature_c if result.conditions else None,
        "failed": engine.failed,
        "reason": engine.reason,
        "disputed": engine.disputed,
    }
    row |= _of_timings(engine.timings_ms) | _of_host(engine.host_timings_ms, engine.timings_ms)
    if engine is next(iter(result.engines.values())):
        row |= _of_load(load)
    return row


def _of_load(load: Sustained | None) -> dict[str, object]:
    if load is None:
        return {}
    return {
        "per_s": load.throughput_per_s,
        "slowdown": load.slowdown,
        "joules_per_run": load.joules_per_run,
    }


def _of_host(host: Timings | None, whole: Timings | None) -> dict[str, object]:
    """Of a model that NNAPI runs parts of."""
    if host is None or whole is None:
        return {}
    return {"host_median_ms": host.median, "host_share": host.avg / whole.avg}


def _of_timings(timings: Timings | None) -> dict[str, object]:
    if timings is None:
        return {}
    low, high = timings.median_interval or (None, None)
    return {
        "min_ms": timings.min,
        "median_ms": timings.median,
        "median_low_ms": low,
        "median_high_ms": high,
        "p90_ms": timings.p90,
        "p95_ms": timings.p95,
        "p99_ms": timings.p99,
        "max_ms": timings.max,
        "mean_ms": timings.avg,
        "std_ms": timings.std,
    }


def _cell(value: object) -> object:
    """UNSET of a record is as little as None."""
    return value if isinstance(value, str | int | float) else ""
