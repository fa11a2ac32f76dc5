# SPDX-License-Identifier: Apache-2.0
"""Whether times of today differ from those of an earlier benchmark, or of any other one.

A machine is not the same from one day to another, so that where the same peers were timed beside
ours both times, what is compared is our time in units of theirs, round by round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from halyard.bench.results import OURS, RELAXED
from halyard.bench.timed import Documents, Sampled, Timed
from halyard.errors import ConfigError
from halyard.terminal.console import Terminal
from halyard.timing.statistics import SIGNIFICANCE, Comparison, compare, holm

# Two runs of the same program may differ by as much, by where its memory happens to lie: rounds of
# one run, which share that, don't show it.
NOISE = 0.03
# Executions of a round are alike, rounds are not: they are what is sampled. From so many on.
_ROUNDS = 6

# Facts that two runs on the same machine share.
_OF_A_MACHINE = ("processor", "set of cores", "device")

_NUMBERS = ["before", "after", "ratio", "beside", "interval"]


@dataclass(frozen=True)
class Row:
    """One engine on one model. `beside`: of our time over that of the peers `yardstick`; None where
    no peer was timed alike both times. `p` is that of the decisive one, for as many models as there
    are. `same_machine`: the times themselves say something, too."""

    model: str
    engine: str
    comparison: Comparison
    beside: Comparison | None = None
    yardstick: Sequence[str] = ()
    p: float = 1.0
    same_machine: bool = True

    @property
    def is_ours(self) -> bool:
        return self.engine in (OURS, RELAXED)

    @property
    def decisive(self) -> Comparison:
        return self.beside or self.comparison

    @property
    def ratio(self) -> float:
        return self.decisive.ratio

    def verdict(self, share: float = 0.0) -> str:
        """A difference within the share, or one that may be chance, is none. It is unclear where
        our times on the same machine don't say so, too: the peers may as well have had better
        luck."""
        found = _direction(self.ratio, share)
        if self.p >= SIGNIFICANCE or found == "same":
            return "same"
        if self.same_machine and _direction(self.comparison.ratio, share) != found:
            return "unclear"
        return found


def _direction(ratio: float, share: float) -> str:
    if ratio > 1 + share:
        return "slower"
    return "faster" if ratio < 1 / (1 + share) else "same"


@dataclass
class Outcome:
    """`notes` say what makes the two hard to compare."""

    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def slower(self, share: float) -> list[Row]:
        """Ours, by more than that share. That a peer is slower is no fault of ours: it rather says
        that the machine is."""
        return self.ours(share, "slower")

    def ours(self, share: float, verdict: str) -> list[Row]:
        return [row for row in self.rows if row.is_ours and row.verdict(share) == verdict]


def against(before: Documents, now: Documents) -> Outcome:
    """ConfigError where they have no model in common, with what each has."""
    earlier, later = Timed.of(before), Timed.of(now)
    outcome = Outcome(notes=_differences(earlier, later))
    for key, engines in later.models.items():
        if key not in earlier.models:
            outcome.notes.append(f"{key} is not in the baseline")
            continue
        there = earlier.models[key]
        for name, rounds in engines.items():
            if there.get(name) and rounds:
                outcome.rows.append(_row(key, name, there, engines, _clocks(earlier, later)))
            elif name == OURS:
                which = "the baseline" if rounds else "this run"
                outcome.notes.append(f"{key} has no times in {which}")
    outcome.notes += [
        f"{key} is in the baseline alone" for key in earlier.models if key not in later.models
    ]
    if not outcome.rows:
        raise ConfigError(
            "there is nothing to compare: the baseline has "
            f"{', '.join(earlier.models) or 'no times'}, and this run "
            f"{', '.join(later.models) or 'none'}"
        )
    same = all(earlier.facts.get(name) == later.facts.get(name) for name in _OF_A_MACHINE)
    outcome.rows = [replace(row, same_machine=same) for row in _judged(outcome.rows)]
    return outcome


def _differences(before: Timed, now: Timed) -> list[str]:
    notes = [
        f"another {name}: {before.facts[name] or '-'} before, {now.facts[name] or '-'} now"
        for name in before.facts
        if name in now.facts and before.facts[name] != now.facts[name]
    ]
    notes += [
        f"another {name}, which is no yardstick then: {before.versions[name]} before, "
        f"{now.versions[name]} now"
        for name in before.versions
        if name in now.versions and before.versions[name] != now.versions[name]
    ]
    if not before.complete:
        notes.append("the baseline was interrupted")
    return notes


def _clocks(before: Timed, now: Timed) -> list[str]:
    """Peers that are the same in both. An engine on the processor is no clock for a GPU."""
    on_gpu = before.on_gpu or now.on_gpu
    return [
        name
        for name, version in before.versions.items()
        if now.versions.get(name) == version and (name.startswith("torch") or not on_gpu)
    ]


def _row(model: str, name: str, before: Sampled, now: Sampled, clocks: Sequence[str]) -> Row:
    row = Row(model, name, _compared(before[name], now[name]))
    # A slow peer has fewer turns, and which of ours lay beside them is not known.
    yardstick = [
        clock
        for clock in clocks
        if all(len(side.get(clock, ())) == len(side[name]) >= _ROUNDS for side in (before, now))
    ]
    if not row.is_ours or not yardstick:
        return row
    beside = compare(_beside(before, name, yardstick), _beside(now, name, yardstick))
    return replace(row, beside=beside, yardstick=yardstick)


def _beside(sampled: Sampled, name: str, yardstick: Sequence[str]) -> list[float]:
    """Of each round, our median over the geometric mean of theirs."""
    theirs = np.log([_medians(sampled[clock]) for clock in yardstick]).mean(axis=0)
    return list(np.exp(np.log(_medians(sampled[name])) - theirs))


def _judged(rows: Sequence[Row]) -> list[Row]:
    """With the p of each. One model of twenty seems to differ by chance: the more there are of
    ours, the surer each has to be."""
    ours = holm([row.decisive.p for row in rows if row.is_ours])
    peers = [row.decisive.p for row in rows if not row.is_ours]
    return [replace(row, p=(ours if row.is_ours else peers).pop(0)) for row in rows]


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
                "" if row.beside is None else f"{row.beside.ratio:.3f}",
                "{:.2f}-{:.2f}".format(*row.decisive.interval),
                row.verdict(fail_above or 0.0),
            ]
            for row in outcome.rows
        ],
        numbers=_NUMBERS,
    )
    if outcome.ours(fail_above or 0.0, "unclear"):
        terminal.line(
            "Where it is unclear, our times and those beside the peers disagree: measure again, on "
            "a machine that does nothing else."
        )
    if fail_above is None:
        return
    slower = outcome.slower(fail_above)
    for row in slower:
        which = ", relaxed," if row.engine == RELAXED else ""
        where = f" beside {' and '.join(row.yardstick)}" if row.yardstick else ""
        terminal.line(
            f"PROBLEM  {row.model}{which} is slower{where} by {100 * (row.ratio - 1):.1f} %, and "
            f"{100 * fail_above:g} % are allowed"
        )
    if not slower:
        terminal.line(f"Nothing is slower by more than {100 * fail_above:g} %.")


def judge(terminal: Terminal, before: Documents, now: Documents, fail_above: float | None) -> bool:
    """Prints how they compare; whether it is slower by more than is allowed."""
    outcome = against(before, now)
    print_outcome(terminal, outcome, fail_above)
    return fail_above is not None and bool(outcome.slower(fail_above))
