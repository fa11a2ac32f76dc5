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
from halyard.records.bench import Bench, Result
from halyard.records.run import Device, Model, Run
from halyard.statistics import Comparison, compare
from halyard.terminal import Terminal

# Executions of a round are alike, rounds are not: they are what is sampled. From so many on.
_ROUNDS = 6
# Of executions without rounds.
_BLOCKS = 10

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


# What is compared: a benchmark, or runs of one model through several HAL versions.
Documents = Bench | Sequence[Run]
# By engine, its executions in rounds.
Sampled = Mapping[str, Sequence[Sequence[float]]]


def read(path: Path) -> Documents:
    """HalyardError where it is none."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise HalyardError(f"{path}: {error.strerror}") from error
    try:
        return records.decode(content, Run)
    except HalyardError:
        # Then it is a benchmark, or what that says of it holds.
        pass
    try:
        [document, *more] = records.decode(content, Bench)
    except HalyardError as error:
        raise HalyardError(
            f"{path}: {error}; give a file that halyard bench --json or halyard run --json wrote"
        ) from error
    if more:
        raise HalyardError(f"{path}: it holds {len(more) + 1} benchmarks, and one can be compared")
    return document


def against(before: Documents, now: Documents) -> Outcome:
    """HalyardError where they have no model in common, with what each has."""
    outcome = Outcome(notes=_differences(before, now))
    earlier, later = _sampled(before), _sampled(now)
    for key, engines in later.items():
        if key not in earlier:
            outcome.notes.append(f"{key} is not in the baseline")
            continue
        for name, rounds in engines.items():
            there = earlier[key].get(name, ())
            if there and rounds:
                outcome.rows.append(Row(key, name, _compared(there, rounds)))
            elif name == OURS:
                which = "the baseline" if rounds else "this run"
                outcome.notes.append(f"{key} has no times in {which}")
    outcome.notes += [f"{key} is in the baseline alone" for key in earlier if key not in later]
    if not outcome.rows:
        raise HalyardError(
            "there is nothing to compare: the baseline has "
            f"{', '.join(earlier) or 'no times'}, and this run {', '.join(later) or 'none'}"
        )
    return outcome


def _sampled(documents: Documents) -> dict[str, Sampled]:
    """By what has to be the same."""
    if isinstance(documents, Bench):
        return {
            f"{_model(result.subject, result)}, {_threads(result.threads)}": {
                name: engine.rounds_ms for name, engine in result.engines.items()
            }
            for result in documents.results
        }
    return {
        f"{_model(each.model, each.model)}, HAL {each.hal}": {OURS: _blocks(each.samples_ms)}
        for each in documents
    }


def _model(subject: Model | None, named: Result | Model) -> str:
    words = [named.title if isinstance(named, Model) else named.model]
    words += [str(word) for word in (named.type, named.size) if word]
    width = subject.width if subject is not None else 1.0
    words += [f"width {width:g}"] if isinstance(width, float) and width != 1.0 else []
    return " ".join(words)


def _threads(count: int) -> str:
    return f"{count} thread{'s' if count != 1 else ''}"


def _blocks(samples: Sequence[float]) -> list[list[float]]:
    """Executions in a row have no rounds: those beside each other count as one."""
    count = _BLOCKS if len(samples) >= 2 * _BLOCKS else 1
    return [list(block) for block in np.array_split(np.asarray(samples), count) if len(block)]


def _facts(documents: Documents) -> dict[str, str]:
    """Of everything but the models, that times depend on."""
    if not isinstance(documents, Bench):
        return {
            "device": ",".join({each.device.serial for each in documents}),
            "build of the device": ",".join({_build(each.device) for each in documents}),
            "target": ",".join({each.target for each in documents}),
        }
    return {
        "device": documents.device.serial if documents.device else "",
        "build of the device": _build(documents.device),
        "processor": documents.machine.cpu,
        "target": documents.target,
        "set of cores": ",".join(map(str, documents.machine.cpus)),
        "choice of backends": ",".join(documents.backends),
        "choice of fast math": str(documents.fast_math),
        "number of burners": str(documents.burners),
    }


def _build(device: Device | None) -> str:
    return device.properties.get("ro.build.fingerprint", "") if device else ""


def _differences(before: Documents, now: Documents) -> list[str]:
    first, second = _facts(before), _facts(now)
    notes = [
        f"another {name}: {first[name] or '-'} before, {second[name] or '-'} now"
        for name in first
        if name in second and first[name] != second[name]
    ]
    if isinstance(before, Bench) and not before.complete:
        notes.append("the baseline was interrupted")
    return notes


def _compared(before: Sequence[Sequence[float]], now: Sequence[Sequence[float]]) -> Comparison:
    if min(len(before), len(now)) >= _ROUNDS:
        return compare(_medians(before), _medians(now))
    return compare(_all(before), _all(now))


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


def judge(terminal: Terminal, before: Documents, now: Documents, fail_above: float | None) -> bool:
    """Prints how they compare; whether it is slower by more than is allowed."""
    outcome = against(before, now)
    print_outcome(terminal, outcome, fail_above)
    return fail_above is not None and bool(outcome.slower(fail_above))
