# SPDX-License-Identifier: Apache-2.0
"""Whether times of today differ from those of an earlier benchmark, or of any other one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from halyard import records
from halyard.bench.results import OURS
from halyard.errors import HalyardError
from halyard.records.bench import Bench, Engine, Result
from halyard.statistics import Comparison, compare
from halyard.terminal import Terminal

# Executions of a round are alike, rounds are not: they are what is sampled. From so many on.
_ROUNDS = 6

_NUMBERS = ["ms before", "after", "ratio", "interval", "p"]


@dataclass(frozen=True)
class Row:
    """One engine on one model."""

    model: str
    engine: str
    comparison: Comparison

    @property
    def is_ours(self) -> bool:
        return self.engine == OURS

    def verdict(self) -> str:
        if not self.comparison.significant:
            return "same"
        return "slower" if self.comparison.ratio > 1 else "faster"


@dataclass
class Outcome:
    """`notes` say what makes the two hard to compare."""

    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def slower(self, share: float) -> list[Row]:
        """Ours, by more than that share. That a peer is slower is no fault of ours: it rather says
        that the machine is."""
        return [row for row in self.rows if row.is_ours and row.comparison.slower_by(share)]


def read(path: Path) -> Bench:
    """HalyardError where it is none."""
    try:
        [document, *more] = records.decode(path.read_bytes(), Bench)
    except OSError as error:
        raise HalyardError(f"{path}: {error.strerror}") from error
    except HalyardError as error:
        raise HalyardError(
            f"{path}: {error}; give a file that halyard bench --json wrote"
        ) from error
    if more:
        raise HalyardError(f"{path}: it holds {len(more) + 1} benchmarks, and one can be compared")
    return document


def against(before: Bench, now: Bench) -> Outcome:
    """HalyardError where they have no model in common, with what each has."""
    outcome = Outcome(notes=_differences(before, now))
    earlier, later = _results(before), _results(now)
    for key, result in later.items():
        if key not in earlier:
            outcome.notes.append(f"{key} is not in the baseline")
            continue
        for name, engine in result.engines.items():
            there = earlier[key].engines.get(name)
            if there is None or not there.rounds_ms or not engine.rounds_ms:
                if name == OURS:
                    which = "the baseline" if engine.rounds_ms else "this run"
                    outcome.notes.append(f"{key} has no times in {which}")
                continue
            outcome.rows.append(Row(key, name, _compared(there, engine)))
    outcome.notes += [f"{key} is in the baseline alone" for key in earlier if key not in later]
    if not outcome.rows:
        raise HalyardError(
            "there is nothing to compare: the baseline has "
            f"{', '.join(earlier) or 'no times'}, and this run {', '.join(later) or 'none'}"
        )
    return outcome


def _results(document: Bench) -> dict[str, Result]:
    return {_key(result): result for result in document.results}


def _key(result: Result) -> str:
    """What has to be the same."""
    width = getattr(result.subject, "width", 1.0)
    narrow = f" width {width:g}" if isinstance(width, float) and width != 1.0 else ""
    threads = f"{result.threads} thread{'s' if result.threads != 1 else ''}"
    return f"{result.model} {result.type} {result.size}{narrow}, {threads}"


def _differences(before: Bench, now: Bench) -> list[str]:
    """Of everything but the models, that times depend on."""
    pairs: Mapping[str, tuple[object, object]] = {
        "device": (_serial(before), _serial(now)),
        "processor": (before.machine.cpu, now.machine.cpu),
        "build of the device": (_build(before), _build(now)),
        "target": (before.target, now.target),
        "cores": (before.machine.cpus, now.machine.cpus),
        "backends": (",".join(before.backends), ",".join(now.backends)),
        "fast math": (before.fast_math, now.fast_math),
        "burners": (before.burners, now.burners),
    }
    notes = [
        f"another {name}: {first or '-'} before, {second or '-'} now"
        for name, (first, second) in pairs.items()
        if first != second
    ]
    if not before.complete:
        notes.append("the baseline was interrupted")
    return notes


def _serial(document: Bench) -> str:
    return document.device.serial if document.device else ""


def _build(document: Bench) -> str:
    properties = document.device.properties if document.device else {}
    return properties.get("ro.build.fingerprint", "")


def _compared(before: Engine, now: Engine) -> Comparison:
    if min(len(before.rounds_ms), len(now.rounds_ms)) >= _ROUNDS:
        return compare(_medians(before.rounds_ms), _medians(now.rounds_ms))
    return compare(_all(before.rounds_ms), _all(now.rounds_ms))


def _medians(rounds: Sequence[Sequence[float]]) -> list[float]:
    return [float(np.median(each)) for each in rounds if each]


def _all(rounds: Sequence[Sequence[float]]) -> list[float]:
    return [value for each in rounds for value in each]


def print_outcome(terminal: Terminal, outcome: Outcome, fail_above: float | None) -> None:
    for note in outcome.notes:
        terminal.line(f"note: {note}")
    terminal.table(
        ["model", "engine", *_NUMBERS, ""],
        [
            [
                row.model,
                row.engine,
                f"{row.comparison.before:.3g}",
                f"{row.comparison.after:.3g}",
                f"{row.comparison.ratio:.3f}",
                "{:.2f}-{:.2f}".format(*row.comparison.interval),
                f"{row.comparison.p:.2g}",
                row.verdict(),
            ]
            for row in outcome.rows
        ],
        numbers=_NUMBERS,
    )
    if fail_above is None:
        return
    slower = outcome.slower(fail_above)
    for row in slower:
        terminal.line(
            f"PROBLEM  {row.model} is slower by {100 * (row.comparison.ratio - 1):.1f} %, and "
            f"{100 * fail_above:g} % are allowed"
        )
    if not slower:
        terminal.line(f"Nothing is slower by more than {100 * fail_above:g} %.")
