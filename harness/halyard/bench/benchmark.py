# SPDX-License-Identifier: Apache-2.0
"""One model with so many threads: all engines prepared, checked, and then timed in turns."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from halyard.bench import clients, turns
from halyard.bench.burners import Burners
from halyard.bench.clients import ManyClients
from halyard.bench.results import OURS, EngineResult, ModelResult
from halyard.compare import Difference, allowed_steps, compare_all, disagreements
from halyard.driver_options import DriverOptions
from halyard.engines.engine import EngineRefused
from halyard.engines.halyard import TITLE, HalyardProcess
from halyard.engines.peers import Peer
from halyard.engines.process import EngineDied, EngineProcess, ProcessEngine
from halyard.engines.reference import Reference, Repetitions, reference
from halyard.engines.workload import Workload
from halyard.errors import HalyardError, NotExpressible, PackageMissing
from halyard.measurement import absent, shares
from halyard.model import Array
from halyard.model.multiply_adds import multiply_adds
from halyard.proto import halyard_pb2 as pb
from halyard.results import stage_name, status_name
from halyard.subject import Subject
from halyard.terminal import Terminal

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
    versions: dict[str, str] = field(default_factory=dict)
    fast_math: bool = False  # ours may give rougher results
    profile: bool = False  # also what each node takes, once all times are taken
    clients: Sequence[int] = ()  # also so many clients at the same time
    burners: Burners | None = None  # that burn while anything is timed

    def measure(
        self,
        subject: Subject,
        work: Workload,
        threads: int,
        into: list[ModelResult] | None = None,
    ) -> ModelResult:
        """`work`: the subject's. What fails is in the result; engines that fail are out before any
        time is taken. `into` has the result as soon as there are times: what is interrupted keeps
        them."""
        runnable = work.model
        title = f"{subject}, {threads} thread{'s' if threads > 1 else ''}"
        with self.terminal.step(f"{title}: LiteRT's word on the outputs"):
            word = reference(subject, Repetitions(threads=threads))
        result = ModelResult(
            model=subject.name,
            data_type=subject.data_type,
            size=subject.size,
            threads=threads,
            multiply_adds=multiply_adds(runnable.model),
            constant_bytes=runnable.constant_bytes,
            reference=word.name if word.outputs is not None else "",
        )
        result.engines.append(EngineResult(OURS, TITLE))
        result.engines += [
            EngineResult(peer.name, peer.title, self.versions.get(peer.name, ""))
            for peer in self.peers
        ]
        with contextlib.ExitStack() as stack:
            processes = self._prepare(stack, title, work, result, word)
            if into is not None:
                into.append(result)
            if OURS in processes:
                with self._burning():
                    self._time(title, processes, result)
                if self.profile and result.ours.times_ms:
                    self._profile(title, processes[OURS], result)
        if self.clients and result.ours.times_ms:
            self._measure_clients(title, work, result, word)
        if not result.ours.times_ms:
            for engine in result.engines[1:]:
                engine.reason = engine.reason or "not timed: Halyard failed before"
        return result

    def engines(self, threads: int) -> dict[str, ProcessEngine]:
        """Ours and the peers, by name."""
        others = {peer.name: peer.with_threads(threads) for peer in self.peers}
        return {OURS: self.ours(threads), **others}

    def ours(
        self, threads: int, priorities: Sequence[pb.Priority] = (), *, share_process: bool = False
    ) -> HalyardProcess:
        options = DriverOptions(self.backends, threads, self.fast_math)
        return HalyardProcess(options, priorities, share_process)

    def _prepare(
        self,
        stack: contextlib.ExitStack,
        title: str,
        work: Workload,
        result: ModelResult,
        word: Reference,
    ) -> dict[str, EngineProcess]:
        """The processes of the engines whose outputs are right."""
        engines = self.engines(result.threads)
        processes = {}
        with self.terminal.step(f"{title}: preparing and checking") as step:
            for engine in result.engines:
                step.now(engine.title)
                try:
                    process = stack.enter_context(engines[engine.name].prepare(work))
                except (EngineRefused, NotExpressible, PackageMissing) as error:
                    # There is no word for the model, or nothing to write it with: no failure.
                    engine.reason = str(error)
                    continue
                try:
                    _take(engine, process, work, word)
                    self._judge_placement(engine, process.prepared())
                except HalyardError as error:
                    engine.fail(str(error))
                if not engine.reason:
                    processes[engine.name] = process
            # A peer that disagrees, or dies, is told below; it is no failure of ours.
            step.failed = result.ours.failed
        return processes

    def _judge_placement(self, engine: EngineResult, prepared: pb.CaseResult) -> None:
        """If none that was asked for ran anything, the times would be another backend's."""
        if engine.name != OURS or engine.reason or not self.backends:
            return
        ran = {share.backend: share.nodes for share in shares(prepared.placement)}
        missing = absent(prepared.placement, self.backends)
        if not set(ran) & set(self.backends):
            engine.fail("; ".join(missing) or f"none of {','.join(self.backends)} ran a node")
            return
        total = len(prepared.placement)
        engine.notes += missing + [
            f"{backend} ran {nodes} of {total} nodes"
            for backend, nodes in ran.items()
            if backend not in self.backends
        ]

    def _time(self, title: str, processes: dict[str, EngineProcess], result: ModelResult) -> None:
        engines = {engine.name: engine for engine in result.engines}
        with self.terminal.step(f"{title}: timing") as step:
            milliseconds = {}
            for name, process in processes.items():
                first = engines[name].first_ms or 0.0
                try:
                    again = first if first > _LONG else process.time(1, 1)[0] / 1e6
                except EngineDied as error:
                    engines[name].fail(str(error))
                    continue
                milliseconds[name] = again
            rounds = turns.plan(milliseconds, self.runs)
            for number, round_turns in enumerate(rounds):
                for turn in round_turns:
                    engine = engines[turn.engine]
                    if engine.failed:
                        continue
                    step.now(f"round {number + 1} of {len(rounds)}, {engine.title}")
                    time.sleep(_GAP)
                    expected = milliseconds[turn.engine] * (turn.count + turn.warmup) / 100
                    try:
                        times = processes[turn.engine].time(
                            turn.count, turn.warmup, expected_s=expected
                        )
                    except EngineDied as error:
                        engine.fail(str(error))
                    else:
                        engine.times_ms += [nanoseconds / 1e6 for nanoseconds in times]
            step.failed = result.ours.failed
            ratio = result.ratio_to_best_peer
            best = result.best_peer
            if ratio is not None and best is not None:
                step.outcome = f"{ratio:.2f} of {best.title}'s time"

    def _profile(self, title: str, process: EngineProcess, result: ModelResult) -> None:
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
        timed = {engine.name: engine for engine in result.engines[1:] if engine.times_ms}
        engine = timed.get("litert", result.best_peer)
        most = max(self.clients)

        def check(outputs: Sequence[Array]) -> Sequence[str]:
            return _compared(work, word, outputs)[1]

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


def _take(engine: EngineResult, process: EngineProcess, work: Workload, word: Reference) -> None:
    """What the engine says of itself, and whether its outputs are right. That a peer refuses a
    model is no failure; that its outputs are wrong is one."""
    prepared = process.prepared()
    engine.version = engine.version or prepared.version_string
    engine.prepare_ms = prepared.prepare_ns / 1e6
    if prepared.failed_stage != pb.STAGE_NONE:
        stage = stage_name(prepared.failed_stage).lower()
        status = (
            "" if prepared.status == pb.ERROR_STATUS_NONE else f"{status_name(prepared.status)}: "
        )
        message = f"{stage}: {status}{prepared.message}"
        if engine.name == OURS:
            engine.fail(message)
        engine.reason = message
        return
    engine.first_ms = prepared.examples[0].timings[0].wall_ns / 1e6
    engine.peak_memory_bytes = prepared.memory.peak_rss_bytes
    engine.base_memory_bytes = prepared.memory.base_rss_bytes
    engine.differences, problems = _compared(work, word, process.run())
    if engine.differences is None:
        engine.notes.append(f"its outputs are not compared: {word.reason}")
    if problems:
        engine.fail("; ".join(problems))


def _compared(
    work: Workload, word: Reference, outputs: Sequence[Array]
) -> tuple[Sequence[Difference] | None, Sequence[str]]:
    """How far the outputs are from the reference's, where it has any, and what is wrong with it."""
    if word.outputs is None:
        return None, []
    model = work.model.model
    differences = compare_all(work.model, word.outputs, outputs)
    operations = len(model.main.operations)
    return differences, disagreements(differences, operations, allowed_steps(model))
