# SPDX-License-Identifier: Apache-2.0
"""One model with so many threads: all engines prepared, checked, and then timed in turns."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from halyard import delimited, native
from halyard.bench import turns
from halyard.bench.engine_process import EngineDied, EngineProcess
from halyard.bench.multiply_adds import multiply_adds
from halyard.bench.peers import Peer
from halyard.bench.results import OURS, EngineResult, ModelResult
from halyard.compare import compare
from halyard.errors import HalyardError
from halyard.measurement import absent, allowed_steps, disagreements, shares, status_name
from halyard.proto import halyard_pb2 as pb
from halyard.runner import Target
from halyard.subject import Reference, Repetitions, Subject
from halyard.terminal import Step, Terminal

# Seconds between two turns: what the one before has left to do on other cores ends.
_GAP = 0.02
# Seconds without a line in a log after which it says what is being done.
_SILENCE = 20.0
# Milliseconds of a first execution after which no second one is needed to plan with.
_LONG = 2000.0
# Seconds of executions in which nodes are timed, at most.
_PROFILE_SECONDS = 10.0


class PreparedFiles:
    """A model in the forms that the engines load, in a folder that is gone afterwards."""

    def __init__(self, subject: Subject, peers: Sequence[Peer]) -> None:
        self.subject = subject
        self._folder = Path(tempfile.mkdtemp(prefix="halyard-bench-"))
        runnable = subject.runnable
        example = runnable.example(subject.seed)
        self.bundle = self._file(
            "bundle",
            delimited.write(
                [pb.TestCase(name=str(subject), model=runnable.model, examples=[example])]
            ),
        )
        # The peers have the model from a file of their own.
        self.case = self._file("case", delimited.write([pb.TestCase(examples=[example])]))
        options = pb.RunOptions(
            mode=pb.EXECUTION_MODE_SYNC,
            preference=pb.EXECUTION_PREFERENCE_FAST_SINGLE_ANSWER,
            priority=pb.PRIORITY_MEDIUM,
        )
        self.options = self._file("options", options.SerializeToString())
        self.models: dict[str, Path] = {}
        self.refusals: dict[str, str] = {}
        for peer in peers:
            try:
                self.models[peer.name] = self._file(
                    f"model.{peer.name}", peer.write(runnable.model)
                )
            except HalyardError as error:
                self.refusals[peer.name] = str(error)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def _file(self, name: str, content: bytes) -> Path:
        path = self._folder / name
        path.write_bytes(content)
        return path


class _Progress:
    """What a step is busy with: on a terminal always, in a log only if it takes long."""

    def __init__(self, terminal: Terminal, step: Step) -> None:
        self._terminal = terminal
        self._step = step
        self._last = time.monotonic()

    def now(self, text: str) -> None:
        self._step.now(text)
        now = time.monotonic()
        if not self._terminal.console.is_terminal and now - self._last > _SILENCE:
            self._last = now
            self._terminal.detail(text)


@dataclass(frozen=True)
class Benchmark:
    """`versions` are the peers', by name."""

    terminal: Terminal
    peers: Sequence[Peer]
    backends: Sequence[str] = ()
    runs: int = 50
    versions: dict[str, str] = field(default_factory=dict)
    profile: bool = False  # also what each node takes, once all times are taken

    def measure(self, files: PreparedFiles, threads: int) -> ModelResult:
        """What fails is in the result; engines that fail are out before any time is taken."""
        subject = files.subject
        runnable = subject.runnable
        title = f"{subject}, {threads} thread{'s' if threads > 1 else ''}"
        with self.terminal.step(f"{title}: LiteRT's word on the outputs"):
            reference = subject.reference(Repetitions(threads=threads))
        result = ModelResult(
            model=subject.name,
            data_type=subject.data_type,
            size=subject.size,
            threads=threads,
            multiply_adds=multiply_adds(runnable.model),
            constant_bytes=runnable.constant_bytes,
            reference=reference.name if reference.outputs is not None else "",
        )
        result.engines.append(EngineResult(OURS, "Halyard"))
        result.engines += [
            EngineResult(
                peer.name,
                peer.title,
                self.versions.get(peer.name, ""),
                reason=files.refusals.get(peer.name, "") or _threads_refused(peer, threads),
            )
            for peer in self.peers
        ]
        with contextlib.ExitStack() as stack:
            processes = self._prepare(stack, title, files, threads, result, reference)
            if OURS in processes:
                self._time(title, processes, result)
                if self.profile and result.ours.times_ms:
                    self._profile(title, processes[OURS], result)
        if not result.ours.times_ms:
            for engine in result.engines[1:]:
                engine.reason = engine.reason or "not timed: Halyard failed before"
        return result

    def _prepare(
        self,
        stack: contextlib.ExitStack,
        title: str,
        files: PreparedFiles,
        threads: int,
        result: ModelResult,
        reference: Reference,
    ) -> dict[str, EngineProcess]:
        """The processes of the engines whose outputs are right."""
        commands: dict[str, Sequence[str | Path]] = {OURS: self._runner(files, threads)}
        for peer, engine in zip(self.peers, result.engines[1:], strict=True):
            if not engine.reason:
                commands[peer.name] = peer.command(files.models[peer.name], files.case, threads)
        processes = {}
        with self.terminal.step(f"{title}: preparing and checking") as step:
            progress = _Progress(self.terminal, step)
            for engine in result.engines:
                if engine.name not in commands:
                    continue
                progress.now(engine.title)
                process = stack.enter_context(EngineProcess(engine.title, commands[engine.name]))
                try:
                    prepared = process.prepared()
                    _take(engine, prepared, files.subject, reference)
                    self._judge_placement(engine, prepared)
                except HalyardError as error:
                    engine.fail(str(error))
                if not engine.reason:
                    processes[engine.name] = process
            step.failed = any(engine.failed for engine in result.engines)
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
            progress = _Progress(self.terminal, step)
            milliseconds = {}
            for name, process in processes.items():
                first = engines[name].first_ms or 0.0
                try:
                    again = first if first > _LONG else process.run(1, 1)[0] / 1e6
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
                    progress.now(f"round {number + 1} of {len(rounds)}, {engine.title}")
                    time.sleep(_GAP)
                    expected = milliseconds[turn.engine] * (turn.count + turn.warmup) / 100
                    try:
                        times = processes[turn.engine].run(
                            turn.count, turn.warmup, expected_s=expected
                        )
                    except EngineDied as error:
                        engine.fail(str(error))
                    else:
                        engine.times_ms += [nanoseconds / 1e6 for nanoseconds in times]
            step.failed = any(engine.failed for engine in result.engines)
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

    def _runner(self, files: PreparedFiles, threads: int) -> Sequence[str | Path]:
        command: list[str | Path] = [
            native.program(native.RUNNER),
            "--serve",
            *("--target", Target.in_process().name),
            *("--bundle", files.bundle),
            *("--options", files.options),
            *("--results", "/dev/stdout"),
            *("--number-of-threads", str(threads)),
        ]
        return [*command, "-c", ",".join(self.backends)] if self.backends else command


def _threads_refused(peer: Peer, threads: int) -> str:
    return "" if peer.has_threads or threads == 1 else "it can't be told how many threads to use"


def _take(
    engine: EngineResult, prepared: pb.CaseResult, subject: Subject, reference: Reference
) -> None:
    """What the engine says of itself, and whether its outputs are right. That a peer refuses a
    model is no failure; that its outputs are wrong is one."""
    engine.version = engine.version or prepared.version_string
    engine.prepare_ms = prepared.prepare_ns / 1e6
    if prepared.failed_stage != pb.STAGE_NONE:
        stage = pb.Stage.Name(prepared.failed_stage).removeprefix("STAGE_").lower()
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
    outputs = subject.runnable.output_arrays(prepared.examples[0])
    if reference.outputs is None:
        engine.notes.append(f"its outputs are not compared: {reference.reason}")
        return
    engine.differences = [
        compare(info, wanted, found)
        for info, wanted, found in zip(
            subject.runnable.outputs, reference.outputs, outputs, strict=True
        )
    ]
    model = subject.runnable.model
    problems = disagreements(engine.differences, len(model.main.operations), allowed_steps(model))
    if problems:
        engine.fail("; ".join(problems))
