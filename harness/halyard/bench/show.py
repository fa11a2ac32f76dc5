# SPDX-License-Identifier: Apache-2.0
"""Results of a run of the benchmark elsewhere, from the JSON that it wrote."""

from __future__ import annotations

from halyard.records import bench, device_memory
from halyard.terminal.console import Terminal
from halyard.terminal.durations import milliseconds

_NUMBERS = ["ms", "ratio", "quartiles", "runs", "prepare"]


def show(terminal: Terminal, document: bench.Bench) -> None:
    """A table for each model: an engine a line, the fastest first of those that are no Halyard."""
    terminal.line(f"{document.machine.cpu}, {document.date}, ours on {_backends(document)}")
    for result in document.results:
        threads = f"{result.threads} thread{'s' if result.threads > 1 else ''}"
        terminal.heading(f"{result.model} {result.type}, {threads}")
        engines = sorted(result.engines.items(), key=lambda item: _place(*item))
        terminal.table(
            ["engine", *_NUMBERS],
            [_row(engine) for _, engine in engines if engine.median_ms is not None],
            numbers=_NUMBERS,
        )
        for _, engine in engines:
            if engine.reason:
                terminal.detail(f"{engine.title}: {engine.reason}")
            if held := device_memory.text(engine.device_memory):
                terminal.detail(f"{engine.title}: {held}")
    if not document.complete:
        terminal.line("It did not come to its end: this is what was measured until then.")


def _backends(document: bench.Bench) -> str:
    return ",".join(document.backends) or "its usual backends"


def _place(name: str, engine: bench.Engine) -> tuple[bool, float]:
    return not name.startswith("halyard"), engine.median_ms or 0.0


def _row(engine: bench.Engine) -> list[str]:
    low, high = engine.quartiles_ms or (engine.median_ms, engine.median_ms)
    return [
        engine.title,
        _milliseconds(engine.median_ms),
        "" if engine.ratio is None else f"{engine.ratio:.2f}",
        f"{_milliseconds(low)}-{_milliseconds(high)}",
        str(engine.runs),
        f"{engine.prepare_ms or 0.0:.0f} ms",
    ]


def _milliseconds(value: float | None) -> str:
    return "-" if value is None else milliseconds(value)
