# SPDX-License-Identifier: Apache-2.0
"""Counts of instructions as tables, in millions of an inference."""

from __future__ import annotations

from collections.abc import Sequence

from halyard.counting.counted_process import CLASSES, Counts
from halyard.counting.instruction_counts import EngineCount, ModelCount
from halyard.terminal.console import Terminal

_ALL = "all"
_NUMBERS = (*(name.replace("_", " ") for name in CLASSES), _ALL)


def print_model(terminal: Terminal, result: ModelCount) -> None:
    """A row for each engine; of each its hottest blocks, if they were asked for."""
    engines = [each for each in (result.ours, result.litert) if each is not None]
    rows = [
        [each.title, *_row(each.counted.inference), f"{each.counted.start.total / 1e6:.1f}"]
        for each in engines
        if each.counted is not None
    ]
    numbers = [*_NUMBERS, "before"]
    terminal.table([result.core.title, *numbers], rows, numbers=numbers)
    for each in engines:
        if each.reason:
            terminal.detail(f"{each.title}: {each.reason}")
        _print_hot(terminal, each)


def print_summary(terminal: Terminal, results: Sequence[ModelCount]) -> None:
    """A row for each model on each processor."""
    rows = []
    for each in results:
        model = each.benchmark_model.record()
        ratio = each.ratio
        theirs = _total(each.litert) if each.litert else ""
        rows.append(
            [
                model.title,
                each.type_words,
                each.core.name,
                _total(each.ours),
                theirs,
                "" if ratio is None else f"{ratio:.2f}",
            ]
        )
    terminal.heading("Summary: millions of instructions in an inference")
    numbers = ["ours", "LiteRT", "ratio"]
    terminal.table(["model", "type", "processor", *numbers], rows, numbers=numbers)


def print_cycles(terminal: Terminal, results: Sequence[ModelCount]) -> None:
    """A row for each model on each processor, ours and LiteRT's in each cell; nothing where no
    cycles were modelled."""
    models = list(dict.fromkeys(name for each in results for name in each.ours.cycles))
    if not models:
        return
    rows = [
        [
            each.benchmark_model.record().title,
            each.type_words,
            each.core.name,
            *(_cycles(each, name) for name in models),
        ]
        for each in results
    ]
    terminal.heading("Millions of cycles by llvm-mca, ours and LiteRT's, and their ratio")
    terminal.table(["model", "type", "processor", *models], rows, numbers=models)


def _cycles(result: ModelCount, model: str) -> str:
    ours = result.ours.cycles.get(model)
    theirs = result.litert.cycles.get(model) if result.litert else None
    words = [f"{each / 1e6:.3g}" for each in (ours, theirs) if each is not None]
    text = " / ".join(words) or "-"
    return f"{text} ({ours / theirs:.2f})" if ours is not None and theirs else text


def _total(engine: EngineCount) -> str:
    return "-" if engine.counted is None else _millions(engine.counted.inference.total)


def _row(counts: Counts) -> list[str]:
    return [_millions(each) for each in (*counts.by_class, counts.total)]


def _millions(count: int) -> str:
    return f"{count / 1e6:.1f}" if count >= 100e6 else f"{count / 1e6:.3f}"


def _print_hot(terminal: Terminal, engine: EngineCount) -> None:
    if engine.counted is None:
        return
    for block in engine.hot:
        share = block.total / engine.counted.inference.total
        terminal.line(
            f"{engine.title}: {share:.1%} in {block.place}: {len(block.instructions)} instructions "
            f"{block.executions} times"
        )
        for line in block.disassembly():
            terminal.detail(line)
