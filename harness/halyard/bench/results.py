# SPDX-License-Identifier: Apache-2.0
"""The results of a benchmark."""

from __future__ import annotations

import itertools
import math
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

from halyard.bench.clients import ManyClients
from halyard.bench.cores import OwnRounds
from halyard.benchmark_model import AnyModel, BenchmarkModel, FileModel
from halyard.comparison.difference import Difference
from halyard.engines.parts import HOST
from halyard.measurement.sustained import Sustained
from halyard.model import DataType, RunnableModel
from halyard.model.multiply_adds import multiply_adds
from halyard.model.partitioned import PartitionedModel
from halyard.profiling.node_times import node_times
from halyard.proto import halyard_pb2 as pb
from halyard.records import bench, error
from halyard.records.conditions import Conditions, Waited
from halyard.records.run import DeviceMemory, NotCompared, Timings
from halyard.timing.machine import Peak
from halyard.timing.statistics import thinned

OURS = "halyard"
# Ours once more, for a model that need not be computed in float32.
RELAXED = "halyard-relaxed"
# Of an engine's executions, so many are kept for those who compare with them later.
_KEPT = 10_000


@dataclass
class EngineResult:
    """One engine on one model with so many threads. `reason`: why it has no times."""

    name: str
    title: str
    version: str = ""
    times_ms: list[float] = field(default_factory=list)
    round_sizes: list[int] = field(default_factory=list)  # how many of them each round has
    warmup_ms: list[float] = field(default_factory=list)
    # This machine's part of each of times_ms, of a model that NNAPI runs parts of; else empty.
    host_ms: list[float] = field(default_factory=list)
    prepare_ms: float | None = None
    first_ms: float | None = None  # the first execution, for which some prepare what is left
    peak_memory_bytes: int | None = None  # of its process
    base_memory_bytes: int | None = None  # that it had before it saw the model
    device_memory: DeviceMemory | None = None  # in the memory of a device
    differences: Sequence[Difference] | None = None  # from the reference; None: not compared
    reason: str = ""
    failed: bool = False  # something went wrong, unlike a model that it does not take
    # How its outputs disagree with the reference's, where they are not wrong altogether.
    disputed: str = ""
    silent: Sequence[str] = ()  # why the reference says nothing of outputs
    notes: list[str] = field(default_factory=list)
    not_compared: str = ""  # why it has no differences though it gave outputs
    is_relaxed: bool = False  # it need not compute in float32
    is_elsewhere: bool = False  # than on the processor, whose peak says nothing of it

    @property
    def is_peer(self) -> bool:
        return self.name not in (OURS, RELAXED)

    @property
    def median_ms(self) -> float | None:
        return statistics.median(self.times_ms) if self.times_ms else None

    @property
    def rounds_ms(self) -> list[list[float]]:
        ends = itertools.accumulate(self.round_sizes)
        return [
            self.times_ms[end - size : end]
            for end, size in zip(ends, self.round_sizes, strict=True)
            if size
        ]

    def take(self, nanoseconds: Sequence[int], host_ns: Sequence[int] = ()) -> None:
        """A round's executions, and what the host's parts took of each."""
        self.times_ms += [each / 1e6 for each in nanoseconds]
        self.host_ms += [each / 1e6 for each in host_ns]
        self.round_sizes.append(len(nanoseconds))

    @property
    def host_share(self) -> float | None:
        """Of all of its time, what this machine took; None of a model that NNAPI runs whole."""
        return sum(self.host_ms) / sum(self.times_ms) if self.host_ms else None

    @property
    def quartiles_ms(self) -> tuple[float, float] | None:
        if not self.times_ms:
            return None
        if len(self.times_ms) == 1:
            return self.times_ms[0], self.times_ms[0]
        first, _, third = statistics.quantiles(self.times_ms, method="inclusive")
        return first, third

    @property
    def model_memory_bytes(self) -> int | None:
        """The most memory that the model added."""
        if self.peak_memory_bytes is None or self.base_memory_bytes is None:
            return None
        return self.peak_memory_bytes - self.base_memory_bytes

    def fail(self, reason: str) -> None:
        """It counts no more. If it is ours, the benchmark has failed."""
        self.reason, self.failed = reason, True
        self.times_ms, self.host_ms, self.round_sizes = [], [], []

    def record(self, share_of_peak: float | None, ratio: float | None) -> bench.Engine:
        return bench.Engine(
            is_relaxed=self.is_relaxed,
            ratio=ratio,
            title=self.title,
            version=self.version,
            timings_ms=_timings(self.times_ms),
            warmup_ms=_timings(self.warmup_ms),
            host_timings_ms=_timings(self.host_ms),
            host_share=self.host_share,
            rounds_ms=[
                thinned(each, max(1, _KEPT // len(self.round_sizes))) for each in self.rounds_ms
            ],
            runs=len(self.times_ms),
            median_ms=self.median_ms,
            quartiles_ms=self.quartiles_ms,
            min_ms=min(self.times_ms, default=None),
            prepare_ms=self.prepare_ms,
            first_ms=self.first_ms,
            peak_memory_bytes=self.peak_memory_bytes,
            base_memory_bytes=self.base_memory_bytes,
            device_memory=self.device_memory,
            agreement=None
            if self.differences is None
            else [
                bench.OutputAgreement(
                    output=difference.name,
                    max_abs_error=error(difference.max_abs_error),
                    max_steps=difference.max_steps,
                    exact_share=difference.exact_share,
                    nan=difference.nans,
                )
                for difference in self.differences
            ],
            failed=self.failed,
            reason=self.reason,
            disputed=self.disputed,
            notes=list(self.notes),
            share_of_peak=share_of_peak,
        )


def _timings(milliseconds: Sequence[float]) -> Timings | None:
    return Timings.of(milliseconds) if milliseconds else None


@dataclass
class ModelResult:
    """All engines on one model with so many threads, ours first."""

    model: str
    data_type: DataType
    size: int
    threads: int
    multiply_adds: int
    constant_bytes: int
    reference: str  # whose outputs the others are compared with; empty: there is none
    engines: list[EngineResult] = field(default_factory=list)
    profile: Sequence[pb.NodeProfile] = ()  # ours; empty unless it was asked for
    clients: ManyClients | None = None  # unless they were asked for
    benchmark_model: AnyModel | None = None
    waited: Waited | None = None  # for the device to cool down
    conditions: Conditions | None = None  # of the device, before anything was timed
    sustained: Sustained | None = None  # ours; unless it was asked for
    target: str = ""  # what ours was reached as; empty: a process here
    parts: int = 1  # that it runs in
    host_parts: int = 0  # how many of them the host runs
    is_counted: bool = True  # whether its multiply-adds are all that there are
    # Of each round whose engines had the same core, the least that it had before or after a turn.
    core_paces: list[float] = field(default_factory=list)

    def take_parts(self, prepared: pb.CaseResult) -> None:
        """Of a model that LiteRT runs, with ours inside."""
        hosts = {row.partition for row in prepared.placement if row.backend == HOST}
        self.parts, self.host_parts = prepared.partitions, len(hosts)

    @property
    def ours(self) -> EngineResult:
        return self.engines[0]

    @property
    def relaxed(self) -> EngineResult | None:
        """Ours once more, where that was asked for."""
        return next((engine for engine in self.engines if engine.name == RELAXED), None)

    @property
    def best_peer(self) -> EngineResult | None:
        return self.best_beside(self.ours)

    def best_beside(self, ours: EngineResult) -> EngineResult | None:
        """Of the peers that are as exact."""
        return min(
            (engine for engine in self.engines if engine.times_ms and self._match(ours, engine)),
            key=lambda engine: engine.median_ms or 0.0,
            default=None,
        )

    def _match(self, ours: EngineResult, engine: EngineResult) -> bool:
        """Float32 is compared with float32, and relaxed float32 with relaxed float32 where a peer
        has it."""
        if not engine.is_peer:
            return False
        relaxed = [
            each for each in self.engines if each.is_peer and each.is_relaxed and each.times_ms
        ]
        return engine.is_relaxed == (ours.is_relaxed and bool(relaxed))

    def ratio_to(self, engine: EngineResult) -> float | None:
        """Of the medians, ours that is as exact to this peer's."""
        for ours in (self.ours, self.relaxed):
            if ours is not None and self._match(ours, engine):
                theirs = engine.median_ms
                return ours.median_ms / theirs if ours.median_ms is not None and theirs else None
        return None

    @property
    def ratio_to_best_peer(self) -> float | None:
        """Of the medians: less than 1 is faster."""
        return self.ratio_of(self.ours)

    def ratio_of(self, ours: EngineResult) -> float | None:
        """Of the medians, ours or the relaxed one's to that of its best peer."""
        best = self.best_beside(ours)
        mine, theirs = ours.median_ms, best.median_ms if best else None
        return mine / theirs if mine is not None and theirs else None

    def own_rounds(self, fastest: float) -> OwnRounds:
        """`fastest`: the best pace of a core in any round of the benchmark."""
        return OwnRounds.among(
            self.core_paces,
            _medians(self.ours),
            [_medians(each) for each in self.engines if self._match(self.ours, each)],
            fastest,
        )

    def share_of_peak(self, engine: EngineResult, peak: Peak) -> float | None:
        """Of the machine's arithmetic with as many threads."""
        most = peak.operations_per_s(self.data_type)
        unknown = engine.is_elsewhere or not self.is_counted
        if engine.median_ms is None or most == 0 or unknown:
            return None
        return 2 * self.multiply_adds / (engine.median_ms / 1e3) / most

    @property
    def not_compared(self) -> list[NotCompared]:
        """Ours, whole or outputs of it that have no number on either side."""
        reasons = []
        for engine in self.engines:
            if not engine.is_peer and not engine.failed:
                silent = [each.text() for each in engine.differences or () if each.says_nothing]
                silent += [engine.not_compared, *engine.silent]
                reasons += [reason for reason in silent if reason]
        counts = f"{self.threads} thread{'s' if self.threads > 1 else ''}"
        what = f"{self.model} {self.data_type}, {counts}"
        return [NotCompared(what=what, reason=each) for each in dict.fromkeys(reasons)]

    @property
    def failed(self) -> bool:
        """By our fault. What is disputed has times, and yet is no success."""
        return (
            self.ours.failed
            or bool(self.ours.disputed)
            or (self.clients is not None and self.clients.failed)
        )

    def record(self, peak: Peak) -> bench.Result:
        best = self.best_peer
        return bench.Result(
            benchmark_model=None if self.benchmark_model is None else self.benchmark_model.record(),
            waited=self.waited,
            conditions=self.conditions,
            target=self.target,
            parts=self.parts,
            host_parts=self.host_parts,
            sustained=None if self.sustained is None else self.sustained.record(),
            model=self.model,
            type=str(self.data_type),
            size=self.size,
            threads=self.threads,
            multiply_adds=self.multiply_adds,
            constant_bytes=self.constant_bytes,
            reference=self.reference,
            ratio_to_best_peer=self.ratio_to_best_peer,
            best_peer=best.name if best else None,
            engines={
                engine.name: engine.record(self.share_of_peak(engine, peak), self.ratio_to(engine))
                for engine in self.engines
            },
            core_paces=self.core_paces,
            clients=None if self.clients is None else self.clients.record(),
            profile=[time.record() for time in node_times(self.profile, peak)],
        )


def _medians(engine: EngineResult) -> list[float]:
    return [statistics.median(each) for each in engine.rounds_ms]


@dataclass
class Skipped:
    """A model of the zoo that does not come in a type; or a file that can't be measured, which is
    a failure."""

    model: str
    data_type: DataType | None
    reason: str

    @classmethod
    def of(cls, benchmark_model: BenchmarkModel | FileModel, reason: str) -> Self:
        if isinstance(benchmark_model, BenchmarkModel):
            return cls(benchmark_model.name, benchmark_model.data_type, reason)
        return cls(benchmark_model.path.name, None, reason)

    @property
    def failed(self) -> bool:
        return self.data_type is None

    def record(self) -> bench.Skipped:
        return bench.Skipped(model=self.model, type=str(self.data_type or ""), reason=self.reason)


def begun(benchmark_model: AnyModel, threads: int, word: str = "") -> ModelResult:
    """The result before any engine has seen the model. `word`: whose outputs the others are
    compared with."""
    runnable = benchmark_model.runnable
    name, data_type, size = (
        (benchmark_model.name, benchmark_model.data_type, benchmark_model.size)
        if isinstance(benchmark_model, BenchmarkModel)
        else (benchmark_model.record().name, _data_type(runnable), 0)
    )
    parts, hosts = 1, 0
    if isinstance(runnable, PartitionedModel):
        parts, hosts = len(runnable.parts), runnable.hosts
    return ModelResult(
        model=name,
        data_type=data_type,
        size=size,
        threads=threads,
        multiply_adds=multiply_adds(runnable.model),
        constant_bytes=runnable.constant_bytes,
        reference=word,
        benchmark_model=benchmark_model,
        parts=parts,
        host_parts=hosts,
        # Those of the host's parts are not.
        is_counted=hosts == 0,
    )


def _data_type(model: RunnableModel) -> DataType:
    """By what most of its constants are: what the machine can do with them."""
    sizes: Counter[DataType] = Counter()
    for operand in model.model.main.operands:
        kind = _TYPES.get(operand.type)
        if kind is not None:
            sizes[kind] += math.prod(operand.dimensions)
    return sizes.most_common(1)[0][0] if sizes else DataType.FLOAT32


_TYPES = {
    pb.OPERAND_TYPE_TENSOR_FLOAT32: DataType.FLOAT32,
    pb.OPERAND_TYPE_TENSOR_FLOAT16: DataType.FLOAT16,
    pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM: DataType.QUANT8,
    pb.OPERAND_TYPE_TENSOR_QUANT8_ASYMM_SIGNED: DataType.QUANT8_SIGNED,
}


def disagreement(result: EngineResult) -> str:
    """How far the outputs are from the reference's, in a few characters."""
    if result.differences is None:
        return "-"
    steps = [item.max_steps for item in result.differences if item.max_steps is not None]
    errors = [item.max_abs_error for item in result.differences if item.max_steps is None]
    if any(item.says_nothing for item in result.differences):
        return "all NaN"
    if all(item.exact_share == 1.0 for item in result.differences):
        return "exact"
    words = [f"{max(errors):.1e}"] if errors else []
    if steps and max(steps) > 0:
        words.append("1 step" if max(steps) == 1 else f"{max(steps)} steps")
    if result.disputed:
        words.append("disputed")
    return ", ".join(words)
