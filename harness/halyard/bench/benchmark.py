# SPDX-License-Identifier: Apache-2.0
"""One model with so many threads: all engines prepared, checked, and then timed in turns."""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from halyard.bench import clients
from halyard.bench.burners import Burners
from halyard.bench.clients import ManyClients
from halyard.bench.cores import CoreTurns
from halyard.bench.results import OURS, RELAXED, EngineResult, ModelResult, begun
from halyard.bench.site import Site
from halyard.bench.verification import compared, judge_placement, take_prepared, tell_left
from halyard.benchmark_model import AnyModel
from halyard.comparison.reference import Reference, Repetitions, reference
from halyard.devices import conditions
from halyard.devices.conditions import Gate
from halyard.engines.engine import EngineRefused
from halyard.engines.halyard import TITLE, HalyardProcess
from halyard.engines.output_files import write_outputs
from halyard.engines.peers import Peer
from halyard.engines.served import EngineDied, Executions, Served, ServedEngine
from halyard.engines.workload import Workload
from halyard.errors import HalyardError, NotExpressible, PackageMissing
from halyard.measurement import sustained
from halyard.model import Array, NnapiPart
from halyard.model.partitioned import PartitionedModel
from halyard.programs.driver_options import GPU_PROFILING, DriverOptions
from halyard.proto import halyard_pb2 as pb
from halyard.terminal.console import Terminal
from halyard.timing import machine, turns
from halyard.timing.turns import Amount

# Seconds between two turns: what the one before has left to do on other cores ends.
_GAP = 0.02
# Milliseconds of a first execution after which no second one is needed to plan with.
_LONG = 2000.0
# Seconds of executions in which nodes are timed, at most.
_PROFILE_SECONDS = 10.0


@dataclass(frozen=True)
class Benchmark:
    """`versions` are the peers', by name."""

    terminal: Terminal
    peers: Sequence[Peer]
    backends: Sequence[str] = ()
    runs: int = 50
    least_s: float = 0.0  # of each engine's executions, even if there were `runs` of them
    most_s: float = 10.0  # even if there were fewer; 0: no limit
    warmup: Executions = field(default_factory=Executions)  # of each, before its first turn
    versions: dict[str, str] = field(default_factory=dict)
    fast_math: bool = False  # ours may give rougher results
    relaxed: bool = False  # ours once more, for a model that need not be computed in float32
    profile: bool = False  # also what each node takes, once all times are taken
    clients: Sequence[int] = ()  # also so many clients at the same time
    burners: Burners | None = None  # that burn while anything is timed
    same_core: Sequence[int] = ()  # of these, all engines of one thread have the same in a round
    site: Site | None = None  # where ours runs; None: in a process here
    gate: Gate = field(default_factory=Gate)  # before anything is timed
    sustained_s: float = 0.0  # also a load of so many seconds
    output_folder: Path | None = None  # for what each engine gave

    def measure(
        self,
        benchmark_model: AnyModel,
        work: Workload,
        threads: int,
        into: list[ModelResult] | None = None,
    ) -> ModelResult:
        """`work`: the model's. Failures are in the result; engines that fail are out before any
        time is taken. `into` has the result as soon as there are times: what is interrupted keeps
        them."""
        title = f"{benchmark_model}, {threads} thread{'s' if threads > 1 else ''}"
        with self.terminal.step(f"{title}: the reference's outputs") as step:
            word = reference(benchmark_model, Repetitions(threads=threads))
            step.outcome = word.name if word.outputs is not None else word.reason
            step.unsure = word.outputs is None
        result = begun(benchmark_model, threads, word.name if word.outputs is not None else "")
        result.target = self.site.target.name if self.site is not None else ""
        is_relaxed = self.fast_math or work.model.model.relax_computation_float32_to_float16
        result.engines.append(EngineResult(OURS, TITLE, is_relaxed=is_relaxed))
        if self.relaxed:
            result.engines.append(EngineResult(RELAXED, f"{TITLE}, relaxed", is_relaxed=True))
        result.engines += [
            EngineResult(
                peer.name,
                peer.title,
                self.versions.get(peer.name, ""),
                is_relaxed=peer.is_relaxed,
                is_elsewhere=peer.is_elsewhere,
            )
            for peer in self.peers
        ]
        with contextlib.ExitStack() as stack:
            processes = self._prepare(stack, title, work, result, word)
            if into is not None:
                into.append(result)
            if OURS in processes:
                self._cool_down(result)
                with self._burning():
                    self._time(title, processes, result)
                    if self.sustained_s and result.ours.times_ms:
                        self._sustain(title, processes[OURS], result)
                if self.profile and result.ours.times_ms:
                    self._profile(title, processes[OURS], result)
        if self.clients and result.ours.times_ms:
            self._measure_clients(title, work, result, word)
        if not result.ours.times_ms:
            for engine in result.engines[1:]:
                engine.reason = engine.reason or "not timed: Halyard failed before"
        return result

    def engines(self, threads: int) -> dict[str, ServedEngine]:
        """Ours and the peers, by name."""
        others = {peer.name: peer.with_threads(threads) for peer in self.peers}
        if self.site is None:
            return {OURS: self.ours(threads), **others}
        options = self._options(threads)
        ours: dict[str, ServedEngine] = {OURS: self.site.engine(options)}
        if self.relaxed:
            ours[RELAXED] = self.site.engine(replace(options, fast_math=True))
        return {**ours, **others}

    def ours(
        self, threads: int, priorities: Sequence[pb.Priority] = (), *, share_process: bool = False
    ) -> HalyardProcess:
        return HalyardProcess(self._options(threads), priorities, share_process)

    def _options(self, threads: int) -> DriverOptions:
        more = (GPU_PROFILING,) if self.profile else ()
        return DriverOptions(self.backends, threads, self.fast_math, more=more)

    def _prepare(
        self,
        stack: contextlib.ExitStack,
        title: str,
        work: Workload,
        result: ModelResult,
        word: Reference,
    ) -> dict[str, Served]:
        """The processes of the engines whose outputs are right."""
        engines = self.engines(result.threads)
        processes: dict[str, Served] = {}
        with self.terminal.step(f"{title}: preparing and checking") as step:
            for engine in result.engines:
                step.now(engine.title)
                try:
                    given = stack.enter_context(_relaxed(work)) if engine.name == RELAXED else work
                    process = stack.enter_context(engines[engine.name].prepare(given))
                except (EngineRefused, NotExpressible, PackageMissing) as error:
                    # There is no word for the model, or nothing to write it with: no failure of a
                    # peer's.
                    engine.reason = str(error)
                    engine.failed = not engine.is_peer and self._is_in_litert
                    continue
                try:
                    take_prepared(engine, process, work, word)
                    if not engine.is_peer:
                        self._judge(engine, process.prepared(), result)
                except HalyardError as error:
                    engine.fail(str(error))
                if not engine.reason:
                    processes[engine.name] = process
                    self._write_outputs(result, engine, process)
            # A peer that disagrees, or dies, is told below; it is no failure of ours.
            step.failed = result.ours.failed
            step.unsure = bool(result.not_compared)
            step.outcome = "not compared" if step.unsure and not step.failed else ""
        return processes

    @property
    def _is_in_litert(self) -> bool:
        return self.site is not None and self.site.is_in_litert

    def _judge(self, engine: EngineResult, prepared: pb.CaseResult, result: ModelResult) -> None:
        if self._is_in_litert:
            tell_left(engine, prepared)
            result.take_parts(prepared)
        else:
            judge_placement(engine, prepared, self.backends)

    def _write_outputs(self, result: ModelResult, engine: EngineResult, process: Served) -> None:
        if self.output_folder is not None and result.benchmark_model is not None:
            title = result.benchmark_model.record().title
            name = f"{title}-{result.data_type}-{result.threads}-{engine.name}.npz"
            write_outputs(self.output_folder / name, result.benchmark_model, process.run())

    def _time(self, title: str, processes: dict[str, Served], result: ModelResult) -> None:
        engines = {engine.name: engine for engine in result.engines}
        with self.terminal.step(f"{title}: timing") as step:
            milliseconds = {}
            for name, process in processes.items():
                step.now(f"warming up {engines[name].title}")
                first = engines[name].first_ms or 0.0
                if first > _LONG and not self.warmup.least_s and self.warmup.count <= 1:
                    milliseconds[name] = first
                    continue
                try:
                    timings = process.series(self.warmup)
                except EngineDied as error:
                    engines[name].fail(str(error))
                    continue
                engines[name].warmup_ms = [timing.wall_ns / 1e6 for timing in timings]
                milliseconds[name] = statistics.median(engines[name].warmup_ms)
            is_same = self.same_core and result.threads == 1
            cores = CoreTurns(self.same_core) if is_same else None
            rounds = turns.plan(
                milliseconds,
                Amount(self.runs, self.least_s, self.most_s),
                cores.rounds if cores is not None else turns.ROUNDS,
            )
            for number, round_turns in enumerate(rounds):
                paces = []
                for turn in round_turns:
                    engine = engines[turn.engine]
                    if engine.failed:
                        continue
                    text = f"round {number + 1} of {len(rounds)}, {engine.title}"
                    step.share(number, len(rounds), text)
                    if cores is not None:
                        processes[turn.engine].keep_to([cores.of_round(number)])
                        paces.append(machine.measure_core_pace(cores.of_round(number)))
                    time.sleep(_GAP)
                    expected = milliseconds[turn.engine] * (turn.count + turn.warmup) / 100
                    try:
                        times = processes[turn.engine].time(
                            turn.count, turn.warmup, expected_s=expected
                        )
                    except EngineDied as error:
                        engine.fail(str(error))
                    else:
                        engine.take(times, processes[turn.engine].host_ns)
                if cores is not None:
                    paces.append(machine.measure_core_pace(cores.of_round(number)))
                    result.core_paces.append(min(paces))
            for process in processes.values() if cores is not None else ():
                process.keep_to(self.same_core)
            step.failed = result.ours.failed
            ratio = result.ratio_to_best_peer
            best = result.best_peer
            if ratio is not None and best is not None:
                step.outcome = f"{ratio:.2f} of {best.title}'s time"

    def _cool_down(self, result: ModelResult) -> None:
        """Also writes down in what state the device is then."""
        if self.site is not None:
            result.waited = conditions.cool(self.terminal, self.site.device, self.gate)
            result.conditions = conditions.read(self.site.device)

    def _sustain(self, title: str, process: Served, result: ModelResult) -> None:
        device = self.site.device if self.site is not None else None
        with self.terminal.step(f"{title}: under load for {self.sustained_s:g} s") as step:
            begin = time.monotonic()
            try:
                result.sustained = sustained.load(
                    process,
                    self.sustained_s,
                    lambda: conditions.read(device) if device else conditions.UNKNOWN,
                    lambda text: step.share(time.monotonic() - begin, self.sustained_s, text),
                )
                step.outcome = f"slowdown {result.sustained.slowdown:.2f}"
            except EngineDied as error:
                result.ours.fail(str(error))
                step.failed = True

    def _profile(self, title: str, process: Served, result: ModelResult) -> None:
        """In as many executions as counted, at most."""
        seconds = (result.ours.median_ms or 0.0) / 1e3
        count = max(1, min(len(result.ours.times_ms), int(_PROFILE_SECONDS / max(seconds, 1e-6))))
        with self.terminal.step(f"{title}: what each node takes") as step:
            try:
                result.profile = process.profile(count, 1, expected_s=10 * seconds * (count + 1))
            except EngineDied as error:
                result.ours.fail(str(error))
                step.failed = True

    def _burning(self) -> contextlib.AbstractContextManager[None]:
        return self.burners.burning() if self.burners is not None else contextlib.nullcontext()

    def _measure_clients(
        self, title: str, work: Workload, result: ModelResult, word: Reference
    ) -> None:
        """Beside the peer that is LiteRT, or the best one where LiteRT has no times."""
        many = result.clients = ManyClients()
        timed = {engine.name: engine for engine in result.engines if engine.times_ms}
        engine = timed.get("litert", result.best_peer)
        most = max(self.clients)

        def check(outputs: Sequence[Array]) -> Sequence[str]:
            said = compared(work, word, outputs)[1]
            return said.problems if said.is_wrong else []

        with (
            contextlib.ExitStack() as stack,
            self.terminal.step(f"{title}: {most} clients") as step,
        ):
            step.now("preparing and checking")
            sides: dict[str, clients.Side] = {}
            try:
                high = [pb.PRIORITY_HIGH, *[pb.PRIORITY_LOW] * (most - 1)]
                alike = [pb.PRIORITY_MEDIUM] * most
                kinds = {
                    "ours": self.ours(result.threads, alike),
                    clients.HIGH_BESIDE_LOW: self.ours(result.threads, high, share_process=True),
                }
                for name, ours in kinds.items():
                    sides[name] = clients.start(stack, [ours], work, check, clients_inside=True)
            except HalyardError as error:
                many.reason, many.failed, step.failed = str(error), True, True
                return
            if engine is None:
                many.reason = "no peer has times"
            else:
                [peer] = [peer for peer in self.peers if peer.name == engine.name]
                processes = [peer.with_threads(result.threads)] * most
                try:
                    sides["peer"] = clients.start(
                        stack, processes, work, check, clients_inside=False
                    )
                    many.peer, many.peer_title = peer.name, peer.title
                except HalyardError as error:
                    many.reason = str(error)
            slowest = max(item.median_ms or 0.0 for item in (result.ours, engine or result.ours))
            try:
                with self._burning():
                    reason = clients.measure(sides, self.clients, slowest, many.results, step.now)
                    many.reason = many.reason or reason
            except EngineDied as error:
                many.reason, many.failed, step.failed = str(error), True, True


def _relaxed(work: Workload) -> Workload:
    """The same model, which allows that its float32 is computed as float16."""
    model = work.model
    if isinstance(model, PartitionedModel):
        parts = tuple(
            replace(part, model=_allowing(part.model)) if isinstance(part, NnapiPart) else part
            for part in model.parts
        )
        return Workload(replace(model, model=_allowing(model.model), parts=parts), work.inputs)
    return Workload.of(_allowing(model.model), work.inputs)


def _allowing(model: pb.Model) -> pb.Model:
    relaxed = pb.Model()
    relaxed.CopyFrom(model)
    relaxed.relax_computation_float32_to_float16 = True
    return relaxed
