# SPDX-License-Identifier: Apache-2.0
"""A benchmark as a table for spreadsheets: a row for each engine on each model."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from halyard.records.bench import Bench, Engine, Result

COLUMNS = (
    "date", "device", "cpu", "target", "side", "model", "type", "size", "width", "threads",
    "engine", "version", "backends", "prepare_ms", "first_ms", "warmup_ms", "runs", "min_ms",
    "median_ms", "median_low_ms", "median_high_ms", "p90_ms", "p95_ms", "p99_ms", "max_ms",
    "mean_ms", "std_ms", "peak_memory_bytes", "base_memory_bytes", "temperature_c", "per_s",
    "slowdown", "joules_per_run", "failed", "reason",
)  # fmt: skip


def text(document: Bench) -> str:
    """What is not known is an empty cell."""
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in _rows(document):
        writer.writerow({name: _cell(value) for name, value in row.items()})
    return out.getvalue()


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
    timings, warmup, load = engine.timings_ms, engine.warmup_ms, result.sustained
    row: dict[str, object] = {
        "model": result.model,
        "type": result.type,
        "size": result.size,
        "width": result.subject.width if result.subject else None,
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
    }
    if timings is not None:
        low, high = timings.median_interval or (None, None)
        row |= {
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
    if load is not None and engine is next(iter(result.engines.values())):
        row |= {
            "per_s": load.throughput_per_s,
            "slowdown": load.slowdown,
            "joules_per_run": load.joules_per_run,
        }
    return row


def _cell(value: object) -> object:
    """UNSET of a record is as little as None."""
    return value if isinstance(value, str | int | float) else ""
