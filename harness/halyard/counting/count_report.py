# SPDX-License-Identifier: Apache-2.0
"""All that a run found out about instructions, as JSON in the end; and what earlier ones recorded,
to hold it to."""

from __future__ import annotations

import datetime
import importlib.metadata
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from halyard import records
from halyard.counting.counted_process import emulator
from halyard.counting.instruction_counts import ModelCount
from halyard.errors import HalyardError
from halyard.records.bench import Skipped
from halyard.records.instruction_counts import InstructionCounts, Result

# Of a recorded count, in either direction.
TOLERANCE = 0.01


@dataclass
class CountReport:
    """Grows with each model; `complete` once nothing is left to do."""

    backends: Sequence[str] = ()
    fast_math: bool = False
    results: list[ModelCount] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    complete: bool = False

    @property
    def ok(self) -> bool:
        """LiteRT's failures are not ours; nor is a type that a network lacks a failure."""
        failed = any(each.ours.counted is None for each in self.results)
        return self.complete and bool(self.results) and not failed

    def record(self) -> InstructionCounts:
        try:
            version = importlib.metadata.version("halyard")
        except importlib.metadata.PackageNotFoundError:
            version = ""
        return InstructionCounts(
            date=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            version=version,
            emulator=_emulator_version(),
            backends=list(self.backends),
            fast_math=self.fast_math,
            ok=self.ok,
            complete=self.complete,
            results=[each.record() for each in self.results],
            skipped=list(self.skipped),
        )


def read(path: Path) -> InstructionCounts:
    """HalyardError for a file that `halyard bench --count-instructions` has not written."""
    found = records.decode(path.read_bytes(), InstructionCounts)
    if len(found) != 1:
        raise HalyardError(f"{path}: several documents where one was expected")
    return found[0]


def departures(recorded: InstructionCounts, now: Sequence[Result]) -> list[str]:
    """Where our instructions are not the recorded ones within TOLERANCE: more, or fewer, or
    nothing recorded."""
    before = {_key(each): each.ours.inference for each in recorded.results}
    found = []
    for result in now:
        earlier, own = before.get(_key(result)), result.ours.inference
        name = ", ".join(filter(None, map(str, _key(result))))
        if own is None:
            found.append(f"{name}: {result.ours.reason}")
        elif earlier is None:
            found.append(f"{name}: {own.total} instructions, of which nothing is recorded")
        elif abs(own.total / earlier.total - 1) > TOLERANCE:
            change = own.total / earlier.total - 1
            found.append(f"{name}: {own.total} instructions, {change:+.1%} of {earlier.total}")
    return found


def _key(result: Result) -> tuple[object, ...]:
    model = result.benchmark_model
    sizes = (f"{model.size}x{model.size}", f"width {model.width}") if model.size else ()
    relaxed = "relaxed" if result.relaxed else ""
    return (model.title, model.type or "", *sizes, relaxed, result.processor)


def _emulator_version() -> str:
    done = subprocess.run([emulator(), "--version"], capture_output=True, text=True)
    return done.stdout.partition("\n")[0].strip()
