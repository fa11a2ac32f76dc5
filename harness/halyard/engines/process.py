# SPDX-License-Identifier: Apache-2.0
"""An engine in a process of its own, which prepares a model once and executes it when told to.

Our runner is one, and so are the other engines in processes of worker.py: all speak as
`halyard-runner --serve` does.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Protocol

import numpy as np

from halyard import delimited, native
from halyard.engines.engine import Engine, EngineRefused, Prepared
from halyard.engines.workload import Workload
from halyard.errors import HalyardError
from halyard.model import Array, Tensors
from halyard.proto import halyard_pb2 as pb

# Seconds that a process has to end by itself once it gets no more commands.
_GOODBYE = 2.0
# Bytes of what a process that died complained of.
_COMPLAINT = 2000


class EngineDied(HalyardError):
    """The process ended, stood still, or wrote what makes no sense."""


class ProcessEngine(Engine, Protocol):
    """An engine whose models are held by processes of their own."""

    def prepare(self, work: Workload) -> EngineProcess: ...


class EngineProcess(Prepared):
    """It runs only while it has something to do. In between it is stopped: threads that spin for
    work, as those of thread pools do for a while, take no time from the engine whose turn it is."""

    def __init__(
        self,
        name: str,
        command: Sequence[str | Path],
        tensors: Tensors | None = None,
        *,
        timeout: float = 300.0,
    ) -> None:
        """`timeout`: seconds for each answer, beyond what the caller adds. `tensors` are the
        model's, which the process does not tell."""
        self._name = name
        self._tensors = tensors or Tensors()
        self._prepared: pb.CaseResult | None = None
        self._timeout = timeout
        self._complaints: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (close() does)
        self._stream = delimited.Stream(pb.CaseResult)
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
        )

    @property
    def tensors(self) -> Tensors:
        return self._tensors

    def prepared(self) -> pb.CaseResult:
        """The first answer: memory, outputs, and how long it took; or why it is refused."""
        if self._prepared is None:
            self._prepared = self._answer(0)
            self._signal(signal.SIGSTOP)
        return self._prepared

    def run(self) -> list[Array]:
        return self.run_all()[0]

    def run_all(self) -> list[list[Array]]:
        """The outputs of the first execution of each of its clients. EngineRefused where it does
        not take the model."""
        result = self.prepared()
        if result.failed_stage != pb.STAGE_NONE:
            raise EngineRefused(f"{self._name}: {result.message}")
        return [self._arrays(example) for example in result.examples]

    def _arrays(self, example: pb.ExampleResult) -> list[Array]:
        try:
            return [
                np.frombuffer(output.data, info.dtype).reshape(info.shape).copy()
                for info, output in zip(self._tensors.outputs, example.outputs, strict=True)
            ]
        except ValueError as error:
            raise EngineDied(f"{self._name}: these are not its outputs: {error}") from error

    def time(self, count: int, warmup: int = 0, *, expected_s: float = 0.0) -> list[int]:
        result = self._command(f"run {count} {warmup}", expected_s)
        times = [timing.wall_ns for timing in result.examples[0].timings]
        if len(times) != count:
            raise self._died(f"{len(times)} times for {count} executions")
        return times

    def profile(
        self, count: int, warmup: int, *, expected_s: float = 0.0
    ) -> Sequence[pb.NodeProfile]:
        """What each node took in so many executions. Only our runner tells."""
        return self._command(f"profile {count} {warmup}", expected_s).profile

    def start_load(self, from_ns: int, until_ns: int, clients: int = 1) -> None:
        """Lets so many of its clients execute from now on; finish_load() is to follow."""
        self._send(f"load {from_ns} {until_ns} {clients}")

    def finish_load(self, *, expected_s: float = 0.0) -> list[Sequence[pb.Timing]]:
        """By client: the executions that lie in the time, whole or in part."""
        result = self._receive(expected_s)
        return [example.timings for example in result.examples]

    def _command(self, line: str, expected_s: float) -> pb.CaseResult:
        self._send(line)
        return self._receive(expected_s)

    def _send(self, line: str) -> None:
        self._signal(signal.SIGCONT)
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{line}\n".encode())
            self._process.stdin.flush()
        except OSError as error:
            raise self._died("it takes no more commands") from error

    def _receive(self, expected_s: float) -> pb.CaseResult:
        result = self._answer(expected_s)
        self._signal(signal.SIGSTOP)
        if result.failed_stage != pb.STAGE_NONE:
            raise self._died(f"an execution failed: {result.message}")
        return result

    def close(self) -> None:
        """Ends it, whatever it does."""
        if self._process.poll() is None:
            self._signal(signal.SIGCONT)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(_GOODBYE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._complaints.close()

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(number)

    def _answer(self, expected_s: float) -> pb.CaseResult:
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        deadline = time.monotonic() + self._timeout + expected_s
        while True:
            left = deadline - time.monotonic()
            ready, _, _ = select.select([descriptor], [], [], max(left, 0))
            if not ready:
                raise self._died(f"no answer for {self._timeout + expected_s:g} s")
            data = os.read(descriptor, 1 << 20)
            if not data:
                raise self._died("")
            try:
                for result in self._stream.feed(data):
                    return result
            except EngineDied:
                raise
            except HalyardError as error:
                raise self._died(str(error)) from error

    def _died(self, message: str) -> EngineDied:
        """With how it ended, if it has, and what it complained of."""
        words = [self._name]
        if message:
            words.append(message)
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = self._process.wait(_GOODBYE if not message else 0.1)
            words.append(
                f"killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
            )
        self._complaints.seek(0, os.SEEK_END)
        self._complaints.seek(max(0, self._complaints.tell() - _COMPLAINT))
        lines = self._complaints.read().decode(errors="replace").split("\n")
        complaint = [line for line in lines if line.strip()]
        if complaint:
            # The runner prints its usage after what is wrong.
            ours = [line for line in complaint if line.startswith(f"{native.RUNNER}: ")]
            words.append((ours or complaint)[-1].strip())
        return EngineDied(": ".join(words))
