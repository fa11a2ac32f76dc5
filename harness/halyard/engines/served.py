# SPDX-License-Identifier: Apache-2.0
"""A model that another process holds, which executes it when told to, in lines of text, and answers
with CaseResults.

Our runner is such a process with --serve, and so are the other engines in worker.py.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from halyard.engines.engine import Engine, EngineRefused, Prepared
from halyard.engines.workload import Workload
from halyard.errors import HalyardError
from halyard.model import Array, Tensors
from halyard.proto import halyard_pb2 as pb


class EngineDied(HalyardError):
    """The process ended, stood still, or wrote what makes no sense."""


@dataclass(frozen=True)
class Executions:
    """Executions, one after the other: so often at least and so long at least, but no longer than
    `most_s`, if that is not 0. There is one at least."""

    count: int = 1
    least_s: float = 0.0
    most_s: float = 0.0


class Served(Prepared):
    """A model that executes in other processes when it is told to."""

    @property
    def host_ns(self) -> Sequence[int]:
        """The time of parts that the host runs in each execution of the last time(), in
        nanoseconds; empty of a model that NNAPI runs whole."""
        return ()

    @abstractmethod
    def prepared(self) -> pb.CaseResult:
        """The first answer: memory, outputs, and how long it took; or why it is refused."""

    @abstractmethod
    def run_all(self) -> list[list[Array]]:
        """The outputs of the first execution of each of its clients. EngineRefused where it does
        not take the model."""

    def run(self) -> list[Array]:
        return self.run_all()[0]

    @abstractmethod
    def time(self, count: int, warmup: int = 0, *, expected_s: float = 0.0) -> list[int]: ...

    @abstractmethod
    def series(self, executions: Executions, *, expected_s: float = 0.0) -> Sequence[pb.Timing]: ...

    @abstractmethod
    def profile(
        self, count: int, warmup: int, *, expected_s: float = 0.0
    ) -> Sequence[pb.NodeProfile]:
        """Each node's times in so many executions. Only our runner tells."""

    def keep_to(self, cores: Sequence[int]) -> None:  # noqa: ARG002
        """Only these, from now on, where it is a process of this machine."""
        return


class ServedByLines(Served):
    """By one process. How a command is sent, and its answer received, is for those who know it."""

    def __init__(self, name: str, tensors: Tensors | None) -> None:
        """`tensors` are the model's, which the process does not tell."""
        self._name = name
        self._tensors = tensors or Tensors()
        self._prepared: pb.CaseResult | None = None

    @abstractmethod
    def _send(self, line: str) -> None:
        """EngineDied where it takes none."""

    @abstractmethod
    def _answer(self, expected_s: float, quiet_s: float = 0.0) -> pb.CaseResult:
        """Waits as long as answers may take, and for as long as the caller expects besides. There
        is none before `quiet_s`."""

    @abstractmethod
    def _died(self, message: str) -> EngineDied:
        """With whatever there is to say of how."""

    def _rest(self) -> None:
        """It has nothing to do until the next command."""
        return

    @property
    def tensors(self) -> Tensors:
        return self._tensors

    def prepared(self) -> pb.CaseResult:
        if self._prepared is None:
            self._prepared = self._answer(0)
            self._rest()
        return self._prepared

    def run_all(self) -> list[list[Array]]:
        result = self.prepared()
        if result.failed_stage != pb.STAGE_NONE:
            raise EngineRefused(f"{self._name}: {result.message}")
        return [self._arrays(example) for example in result.examples]

    def _arrays(self, example: pb.ExampleResult) -> list[Array]:
        try:
            return [
                np.frombuffer(output.data, info.dtype)
                .reshape(output.dimensions if info.is_open else info.shape)
                .copy()
                for info, output in zip(self._tensors.outputs, example.outputs, strict=True)
            ]
        except ValueError as error:
            raise EngineDied(f"{self._name}: these are not its outputs: {error}") from error

    def time(self, count: int, warmup: int = 0, *, expected_s: float = 0.0) -> list[int]:
        self._send(f"run {count} {warmup}")
        timings = _timings(self._receive(expected_s))
        if len(timings) != count:
            raise self._died(f"{len(timings)} times for {count} executions")
        return [max(timing.wall_ns, 1) for timing in timings]

    def series(self, executions: Executions, *, expected_s: float = 0.0) -> Sequence[pb.Timing]:
        """Each with its begin."""
        self._send(f"run {executions.count} 0 {executions.least_s:f} {executions.most_s:f}")
        longest = executions.most_s or executions.least_s
        timings = _timings(self._receive(expected_s + longest, min(executions.least_s, longest)))
        if not timings:
            raise self._died("no times")
        return timings

    def profile(
        self, count: int, warmup: int, *, expected_s: float = 0.0
    ) -> Sequence[pb.NodeProfile]:
        self._send(f"profile {count} {warmup}")
        return self._receive(expected_s).profile

    def _receive(self, expected_s: float, quiet_s: float = 0.0) -> pb.CaseResult:
        result = self._answer(expected_s, quiet_s)
        self._rest()
        if result.failed_stage != pb.STAGE_NONE:
            raise self._died(f"an execution failed: {result.message}")
        return result


class ServedEngine(Engine, Protocol):
    """An engine whose models are held by other processes."""

    def prepare(self, work: Workload) -> Served: ...


def _timings(result: pb.CaseResult) -> Sequence[pb.Timing]:
    return result.examples[0].timings if result.examples else []
