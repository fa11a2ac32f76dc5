# SPDX-License-Identifier: Apache-2.0
"""A comparison in words and tables."""

from __future__ import annotations

import math

from halyard.comparison.comparison import Compared, Comparison, Ran
from halyard.comparison.difference import Difference
from halyard.comparison.layers import Layer, Layers, Verdict
from halyard.profiling.node_times import short_name
from halyard.terminal.console import Terminal

_NUMBERS = ["max error", "mean", "RMS", "cosine", "SNR dB", "steps"]


def print_comparison(terminal: Terminal, comparison: Comparison) -> None:
    for letter, ran in (("A", comparison.a), ("B", comparison.b)):
        terminal.line(f"{letter}  {_side(ran)}")
    terminal.line()
    terminal.table(
        ["inputs", "output", *_NUMBERS, "exact"],
        [
            [each.inputs.name, difference.name or "-", *_cells(difference), _exact(difference)]
            for each in comparison.sets
            for difference in each.differences
        ],
        numbers=[*_NUMBERS, "exact"],
    )
    for each in comparison.sets:
        for line in _tops(each):
            terminal.line(line)
    if comparison.layers is not None:
        terminal.line()
        _print_layers(terminal, comparison, comparison.layers)
    for each in comparison.sets:
        for note in each.notes:
            terminal.line(f"note: {each.inputs.name}: {note}")
    for problem in comparison.problems:
        terminal.line(f"PROBLEM  {problem}")


def verdict_of(comparison: Comparison) -> str:
    """The last line."""
    layers = comparison.layers
    gave_nothing = any(each.problems and not each.differences for each in comparison.sets)
    if layers is None or len(layers.unknown) == len(layers.layers):
        if gave_nothing:
            return "not compared: a side gave nothing"
        if layers is not None:
            return "no layer was compared"
        return "within limits" if comparison.ok else "beyond limits; --isolate finds the layer"
    left = len(layers.unknown)
    rest = f"; {left} of {len(layers.layers)} layers were not compared" if left else ""
    if layers.first is None:
        return f"no layer diverges{rest}"
    how = "on the same inputs" if layers.first.isolated else "though what it reads does not"
    return f"the first layer that diverges is {described(layers.first)}: {how}{rest}"


def described(layer: Layer) -> str:
    where = f", on {layer.backend}" if layer.backend else ""
    name = f" '{layer.tensor}'" if layer.tensor else ""
    return f"{layer.label}{name}{where}"


def _side(ran: Ran) -> str:
    counts = ", ".join(f"{count} on {name}" for name, count in ran.backends.items())
    words = [ran.version, f"operations: {counts}" if counts else ""]
    if ran.host_share is not None:
        words.append(f"the host's share of the time: {ran.host_share:.0%}")
    told = "; ".join(filter(None, words))
    return f"{ran.name} ({told})" if told else ran.name


def _tops(compared: Compared) -> list[str]:
    return [
        f"{compared.inputs.name}: {difference.name or 'output'}: the best class agrees in "
        f"{top.first:.0%} of rows, the best {top.k} in {top.shared:.0%}"
        for difference, top in zip(compared.differences, compared.tops, strict=True)
        if top is not None
    ]


def _print_layers(terminal: Terminal, comparison: Comparison, layers: Layers) -> None:
    terminal.line(f"layers, on {comparison.layers_of}; errors of the whole model, then alone:")
    columns = ["layer", "max error", "SNR dB", "alone", "alone dB", "verdict"]
    terminal.table(
        columns,
        [
            [
                short_name(each.label),
                *_brief(each.chained),
                *_brief(each.isolated),
                str(each.verdict),
            ]
            for each in layers.layers
        ],
        numbers=columns[1:5],
    )
    unknown = [each for each in layers.layers if each.reason]
    for each in unknown[:8]:
        terminal.line(f"{short_name(each.label)}: {each.reason}")
    if len(unknown) > 8:
        terminal.line(f"and {len(unknown) - 8} more; --json has them all")
    heirs = sum(each.verdict is Verdict.INHERITS for each in layers.layers)
    if heirs:
        terminal.line(f"{heirs} layers are off because of what they read")
    for note in (*layers.notes, *comparison.notes):
        terminal.line(f"note: {note}")


def _cells(difference: Difference) -> list[str]:
    return [
        f"{difference.max_abs_error:.3g}",
        f"{difference.mean_abs_error:.3g}",
        f"{difference.rms_error:.3g}",
        f"{difference.cosine:.6f}",
        _decibels(difference),
        "" if difference.max_steps is None else str(difference.max_steps),
    ]


def _brief(difference: Difference | None) -> list[str]:
    if difference is None:
        return ["", ""]
    if difference.max_steps is not None:
        steps = "step" if difference.max_steps == 1 else "steps"
        return [f"{difference.max_steps} {steps}", _decibels(difference)]
    return [f"{difference.max_abs_error:.3g}", _decibels(difference)]


def _decibels(difference: Difference) -> str:
    return (
        f"{difference.snr_db:.1f}"
        if math.isfinite(difference.snr_db)
        else ("exact" if difference.snr_db > 0 else "-inf")
    )


def _exact(difference: Difference) -> str:
    return f"{100 * difference.exact_share:.2f}%"
