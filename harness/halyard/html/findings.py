# SPDX-License-Identifier: Apache-2.0
"""Findings of halyard doctor and halyard compare."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TypeVar

import msgspec

from halyard.html import blocks
from halyard.html.blocks import Block, Plots, Section, Table
from halyard.plots.layer_errors import LayerError, layer_errors
from halyard.plots.plot import Plot
from halyard.records import Error
from halyard.store import Results

_ROWS = 300
_PLOTS = 8
S = TypeVar("S")


class _Finding(msgspec.Struct):
    check: str = ""
    verdict: str = ""
    seen: str = ""
    fix: str = ""
    command: str = ""


class _Doctor(msgspec.Struct):
    device: str = ""
    findings: list[_Finding] = []


_TONES: dict[str, blocks.Tone] = {"ok": "good", "problem": "bad", "warning": "warn"}
_FINDINGS = blocks.columns("Check", "Device", "Verdict", "Command", "Seen", "Fix")


def doctor(results: Results) -> Section | None:
    """Of each device what it was told last."""
    rows = [
        [
            blocks.text(each.check),
            blocks.text(said.device),
            blocks.text(each.verdict, _TONES.get(each.verdict, "")),
            blocks.text(each.command),
            blocks.text(each.seen),
            blocks.text(each.fix),
        ]
        for said in _contents(results, "doctor", _Doctor)
        for each in said.findings
    ]
    if not rows:
        return None
    table = Table.of("Checks of the device", _FINDINGS, rows[:_ROWS], max(0, len(rows) - _ROWS))
    return Section("doctor", "Doctor", [table])


class _Named(msgspec.Struct):
    name: str = ""


class _Model(msgspec.Struct):
    name: str = ""
    type: str = ""
    size: int = 0
    file: str = ""

    @property
    def text(self) -> str:
        return f"{Path(self.file).name or self.name} {self.type} {self.size or ''}".strip()


class _Statistics(msgspec.Struct):
    name: str = ""
    max_abs_error: Error = 0.0
    cosine: float = 0.0
    snr_db: float | None = None
    max_steps: int | None = None
    exact_share: float = 0.0


class _TopK(msgspec.Struct):
    k: int = 0
    shared: float = 0.0


class _Output(msgspec.Struct):
    statistics: _Statistics
    top_k: _TopK | None = None


class _InputSet(msgspec.Struct):
    inputs: str = ""
    outputs: list[_Output] = []


class _LayerStatistics(msgspec.Struct):
    max_abs_error: Error = 0.0


class _Layer(msgspec.Struct):
    label: str = ""
    operation: int = 0
    verdict: str = ""
    chained: _LayerStatistics | None = None
    isolated: _LayerStatistics | None = None


class _Layers(msgspec.Struct):
    first_diverging: int | None = None
    layers: list[_Layer] = []


class _Compare(msgspec.Struct):
    model: _Model
    a: _Named
    b: _Named
    ok: bool = True
    input_sets: list[_InputSet] = []
    layers: _Layers | None = None


_COMPARED = blocks.columns(
    "Model",
    "A",
    "B",
    "Result",
    "Inputs",
    "Output",
    "Max error",
    "Cosine",
    "SNR dB",
    "Steps",
    "Exact",
    "Top-k",
    "First diverging",
    numbers=("Max error", "Cosine", "SNR dB", "Steps", "Exact"),
)


def compare(results: Results) -> Section | None:
    documents = _contents(results, "compare", _Compare)
    rows = [
        [
            blocks.text(said.model.text),
            blocks.text(said.a.name),
            blocks.text(said.b.name),
            blocks.verdict(said.ok, "agree", "differ"),
            blocks.text(inputs.inputs),
            blocks.text(output.statistics.name),
            blocks.number(float(output.statistics.max_abs_error), ".2e"),
            blocks.number(output.statistics.cosine, ".6f"),
            blocks.number(output.statistics.snr_db, ".1f"),
            blocks.count(output.statistics.max_steps),
            blocks.number(100 * output.statistics.exact_share, ".4g", unit=" %"),
            _top_k(output.top_k),
            blocks.text(_diverging(said.layers), "bad"),
        ]
        for said in documents
        for inputs in said.input_sets
        for output in inputs.outputs
    ]
    if not rows:
        return None
    table = Table.of(
        "The same model on two sides", _COMPARED, rows[:_ROWS], max(0, len(rows) - _ROWS)
    )
    plots = [
        _layers(number, said)
        for number, said in enumerate(documents, 1)
        if said.layers is not None and said.layers.layers
    ]
    found: list[Block] = [table, *([Plots(plots[:_PLOTS])] if plots else [])]
    return Section("compare", "Comparison", found)


def _layers(number: int, said: _Compare) -> Plot:
    layers = [
        LayerError(
            name=each.label.removeprefix("operation ").replace("(", "").rstrip(")"),
            chained=_finite(each.chained),
            isolated=_finite(each.isolated),
            diverges=each.verdict == "diverges",
        )
        for each in (said.layers.layers if said.layers else ())
    ]
    title = f"{said.model.text}: {said.a.name} and {said.b.name} by layer"
    return layer_errors(f"layers-{number}", title, "max error", layers)


def _finite(said: _LayerStatistics | None) -> float | None:
    error = float("inf") if said is None else float(said.max_abs_error)
    return error if math.isfinite(error) else None


def _top_k(said: _TopK | None) -> blocks.Cell:
    if said is None:
        return blocks.number(None)
    return blocks.Cell(f"{100 * said.shared:.4g} % of {said.k}", said.shared)


def _diverging(layers: _Layers | None) -> str:
    if layers is None or layers.first_diverging is None:
        return ""
    labels = {layer.operation: layer.label for layer in layers.layers}
    return labels.get(layers.first_diverging, str(layers.first_diverging))


def _contents(results: Results, kind: str, type_: type[S]) -> list[S]:
    """Those that are of the form that is known here; another halyard may have kept others."""
    found = []
    for content in results.contents(kind):
        try:
            found.append(msgspec.json.decode(content.json, type=type_))
        except msgspec.MsgspecError:
            continue
    return found
