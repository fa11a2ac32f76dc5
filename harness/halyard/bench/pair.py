# SPDX-License-Identifier: Apache-2.0
"""Two that take turns: backends, services, option sets or models, and how their times compare."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from halyard.bench.results import OURS, EngineResult, ModelResult, begun
from halyard.benchmark_model import BenchmarkModel, FileModel
from halyard.engines.served import EngineDied, Executions, Served
from halyard.errors import ConfigError
from halyard.model import DataType
from halyard.programs.backends import parse as parse_backends
from halyard.programs.driver_options import DriverOptions
from halyard.records import bench
from halyard.timing import turns
from halyard.timing.machine import Peak
from halyard.timing.statistics import Comparison, compare, compare_paired
from halyard.timing.turns import Amount
from halyard.transport.hal_version import Choice, one_version

# Seconds between two turns: what the one before has left to do on other cores ends.
_GAP = 0.02
# Fewer pairs of rounds than these prove nothing.
_ROUNDS = 6


@dataclass(frozen=True)
class Spec:
    """The settings of --a or --b, in words NAME=VALUE. Words that it leaves out are the other
    side's."""

    model: str
    data_type: DataType
    device: str
    backends: Sequence[str]
    threads: int
    fast_math: bool
    mode: str
    instance: str | None
    words: str = ""
    hal: Choice = field(default_factory=Choice)

    def parse(self, text: str, option: str, modes: Sequence[str]) -> Spec:
        """With what the words say instead of its own. ConfigError for words that say nothing."""
        spec = replace(self, words=text)
        for word in shlex.split(text):
            name, equals, value = word.partition("=")
            if name == "fast-math" and not equals:
                spec = replace(spec, fast_math=True)
            elif not value:
                raise ConfigError(f"{option}: {word!r} is not {_SYNTAX}")
            elif name == "model":
                spec = replace(spec, model=value)
            elif name == "type":
                if value not in map(str, DataType):
                    raise ConfigError(f"{option}: no type {value!r}")
                spec = replace(spec, data_type=DataType(value))
            elif name == "device":
                spec = replace(spec, device=value)
            elif name == "backends":
                spec = replace(spec, backends=parse_backends(value))
            elif name == "threads":
                if not value.isdigit() or not 0 < int(value) <= 64:
                    raise ConfigError(f"{option}: threads are from 1 to 64, not {value!r}")
                spec = replace(spec, threads=int(value))
            elif name == "mode":
                if value not in modes:
                    raise ConfigError(f"{option}: no mode {value!r}, there are {', '.join(modes)}")
                spec = replace(spec, mode=value)
            elif name == "hal":
                spec = replace(spec, hal=one_version(value, f"{option}: hal={value}"))
            elif name == "instance":
                spec = replace(spec, instance=value)
            else:
                raise ConfigError(f"{option}: {word!r} is not {_SYNTAX}")
        return spec

    @property
    def driver(self) -> DriverOptions:
        return DriverOptions(self.backends, self.threads, self.fast_math)


_SYNTAX = "model=, type=, device=, hal=, backends=, threads=, mode=, instance=VALUE or fast-math"


@dataclass
class Side:
    name: str  # "A"
    spec: Spec
    result: ModelResult

    @classmethod
    def of(cls, name: str, spec: Spec, benchmark_model: BenchmarkModel | FileModel) -> Self:
        """With nothing measured."""
        side = cls(name, spec, begun(benchmark_model, spec.threads))
        side.result.engines.append(
            EngineResult(
                OURS,
                f"{name}: {spec.words or 'as the other options say'}",
                is_relaxed=spec.fast_math,
            )
        )
        return side

    @property
    def engine(self) -> EngineResult:
        return self.result.ours

    def record(self) -> bench.Side:
        return bench.Side(
            name=self.name,
            words=self.spec.words,
            device=self.spec.device,
            backends=list(self.spec.backends),
            fast_math=self.spec.fast_math,
            mode=self.spec.mode,
            hal=self.spec.hal.text,
            result=self.result.record(_NO_PEAK),
        )


# Sides may be of different devices, and no device but this machine tells its peak.
_NO_PEAK = Peak(1, "", 0.0, "", 0.0, 0.0, 0.0)


@dataclass
class Pair:
    a: Side
    b: Side
    comparison: Comparison | None = None

    @property
    def failed(self) -> bool:
        return self.a.engine.failed or self.b.engine.failed or self.comparison is None

    def conclude(self) -> None:
        """Rounds of the two stand side by side, so that what slows both down is no difference."""
        first, second = self.a.engine.rounds_ms, self.b.engine.rounds_ms
        if not first or not second:
            return
        if len(first) == len(second) >= _ROUNDS:
            self.comparison = compare_paired(_medians(first), _medians(second))
        else:
            self.comparison = compare(self.a.engine.times_ms, self.b.engine.times_ms)

    def record(self) -> bench.Pair:
        found = self.comparison
        return bench.Pair(
            a=self.a.record(),
            b=self.b.record(),
            comparison=None
            if found is None
            else bench.Comparison(
                before_ms=found.before,
                after_ms=found.after,
                ratio=found.ratio,
                interval=found.interval,
                p=found.p,
                significant=found.significant,
            ),
        )


def _medians(rounds: Sequence[Sequence[float]]) -> list[float]:
    return [float(np.median(each)) for each in rounds]


@dataclass(frozen=True)
class Turns:
    """How two take them."""

    warmup: Executions = field(default_factory=Executions)
    amount: Amount = field(default_factory=Amount)

    def take(self, pair: Pair, a: Served, b: Served) -> None:
        """Both as often, in short blocks, and none always first. EngineDied ends it."""
        sides = {"a": (pair.a, a), "b": (pair.b, b)}
        slowest = 0.0
        for side, process in sides.values():
            times = [timing.wall_ns / 1e6 for timing in process.series(self.warmup)]
            side.engine.warmup_ms = times
            slowest = max(slowest, float(np.median(times)))
        for turns_of_round in turns.plan(dict.fromkeys(sides, slowest), self.amount):
            for turn in turns_of_round:
                side, process = sides[turn.engine]
                time.sleep(_GAP)
                expected = slowest * (turn.count + turn.warmup) / 100
                try:
                    taken = process.time(turn.count, turn.warmup, expected_s=expected)
                    side.engine.take(taken, process.host_ns)
                except EngineDied as error:
                    side.engine.fail(str(error))
                    raise
        pair.conclude()
