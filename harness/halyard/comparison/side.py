# SPDX-License-Identifier: Apache-2.0
"""A side of a comparison: a device's driver, or another engine, asked for the outputs of models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np

from halyard.comparison.spread import Spread, variations
from halyard.engines.engine import EngineRefused, Library
from halyard.engines.halyard import HalyardDevice
from halyard.engines.litert import LiteRt
from halyard.engines.onnx_runtime import OnnxRuntime
from halyard.engines.parts import PartsRun
from halyard.engines.placement import others
from halyard.engines.workload import Workload
from halyard.errors import DeviceError, HalyardError, NotExpressible
from halyard.model import Array, NnapiPart, RunnableModel, half
from halyard.model.partitioned import PartitionedModel
from halyard.programs.case_status import failures
from halyard.proto import halyard_pb2 as pb
from halyard.runner.execution import run_cases
from halyard.transport import hal_version


@dataclass(frozen=True)
class Answer:
    """To one workload. No outputs: `reason` says why there are none."""

    outputs: Sequence[Array] | None = None
    reason: str = ""
    # The backend that ran each operation, by its index in the model, as far as the side tells.
    backends: dict[int, str] = field(default_factory=dict)
    # Of a model that NNAPI runs parts of: what the host's took of an execution's time, from 0 to 1.
    host_share: float | None = None
    # Why it is not the answer of the backends that were asked for, if none of them ran anything. A
    # part of a model may be one that they do not take.
    strange: str = ""


@dataclass(frozen=True)
class Tensors:
    """Values that a side computed inside a model, by operand, and why others are not there."""

    values: Mapping[int, Array]
    reasons: Mapping[int, str] = field(default_factory=dict)
    backends: Mapping[int, str] = field(default_factory=dict)
    requests: int = 1  # how many models it took


class Side(Protocol):
    @property
    def name(self) -> str:
        """As the user called it."""

    @property
    def version(self) -> str:
        """Of what has answered; empty before, and where it does not tell."""

    def run(self, works: Sequence[Workload]) -> list[Answer]:
        """An answer to each. What it can't run is an answer; DeviceError for a device that is not
        there any more."""

    def spread(
        self, runnable: RunnableModel, inputs: Sequence[Array], outputs: Sequence[Array]
    ) -> Spread | None:
        """How far what it gives is from its own, for a side that can tell."""
        del runnable, inputs, outputs
        return None

    def inside(self, runnable: RunnableModel, inputs: Sequence[Array]) -> Tensors | None:
        """Values inside the model, for a side that has a way of its own to tell them; None: by
        models whose temporaries are outputs, as any side."""
        del runnable, inputs
        return None

    def between(self, model: PartitionedModel, inputs: Sequence[Array]) -> Mapping[str, Array]:
        """Values that go from part to part, by the names of the parts' inputs. HalyardError where
        it does not tell."""
        del model, inputs
        raise EngineRefused(f"{self.name} does not tell what goes from part to part")

    def inside_part(self, part: NnapiPart, inputs: Sequence[Array]) -> Tensors | None:
        """As inside(), of a part of the model; `inputs` are the whole's."""
        del part, inputs
        return None


class HalyardSide(Side):
    """A service on a device, or the driver in the runner's process. `backends` are those that it
    was asked to run on; none: whatever it has."""

    def __init__(self, name: str, engine: HalyardDevice, backends: Sequence[str] = ()) -> None:
        self._name = name
        self._engine = engine
        self._backends = backends
        self._version = ""

    @property
    def name(self) -> str:
        return self._name

    @property
    def version(self) -> str:
        return self._version

    def run(self, works: Sequence[Workload]) -> list[Answer]:
        engine = self._engine
        if any(isinstance(work.model, PartitionedModel) for work in works):
            return [self._in_parts(work) for work in works]
        cases = [work.case for work in works]
        results = run_cases(
            engine.device, cases, engine.options, engine.target, driver=engine.driver
        )
        return [self._answer(*each) for each in zip(works, results, strict=True)]

    def _in_parts(self, work: Workload) -> Answer:
        """The host's as `halyard run` has them. Warm, since time is told."""
        try:
            with self._engine.prepare(work) as prepared:
                result = prepared.report(1, 1)
                host = prepared.host_ns if isinstance(prepared, PartsRun) else ()
        except DeviceError:
            raise
        except (HalyardError, ValueError) as error:
            return Answer(reason=str(error))
        answer = self._answer(work, result)
        if answer.outputs is None:
            return answer
        [timing] = result.examples[0].timings
        share = sum(host) / max(timing.wall_ns, 1)
        return replace(answer, backends=_of_parts(result.placement), host_share=share)

    def between(self, model: PartitionedModel, inputs: Sequence[Array]) -> Mapping[str, Array]:
        with Workload(model, inputs) as work, self._engine.prepare(work) as prepared:
            if problems := failures(prepared.report(1)):
                raise EngineRefused("; ".join(problems))
            return prepared.values if isinstance(prepared, PartsRun) else {}

    def _answer(self, work: Workload, result: pb.CaseResult) -> Answer:
        if result.version_string or result.target:
            hal = hal_version.format(result.hal_version)
            driver = f", {result.version_string}" if result.version_string else ""
            self._version = f"{result.target}, HAL {hal}{driver}"
        if problems := failures(result):
            return Answer(reason="; ".join(problems))
        backends = {
            operation: row.backend for row in result.placement for operation in row.operations
        }
        try:
            outputs = work.model.output_arrays(result.examples[0])
        except HalyardError as error:
            return Answer(reason=str(error))
        strange = others(result.placement, self._backends)
        return Answer(outputs, backends=backends, strange=strange)


def _of_parts(placement: Sequence[pb.Placement]) -> dict[int, str]:
    """Operations of all parts, and operators of the host's, one after another."""
    ran: dict[tuple[str, int | str], str] = {}
    for row in placement:
        part = row.label.partition(":")[0]
        for operation in row.operations or (row.label,):
            ran[part, operation] = row.backend
    return dict(enumerate(ran.values()))


class LibrarySide(Side):
    """An engine that is a Python package, on this machine. Models in float16 run in float32, as no
    such engine has all of its kernels: the same numbers are the better word anyway."""

    def __init__(self, name: str, engine: Library) -> None:
        self._name = name
        self._engine = engine

    @property
    def name(self) -> str:
        return self._name

    @property
    def version(self) -> str:
        return f"{self._engine.title} {self._engine.version}"

    def run(self, works: Sequence[Workload]) -> list[Answer]:
        return [self._answer(work) for work in works]

    def spread(
        self, runnable: RunnableModel, inputs: Sequence[Array], outputs: Sequence[Array]
    ) -> Spread | None:
        if not isinstance(self._engine, LiteRt | OnnxRuntime):
            return None
        wide = _widened(Workload(runnable, inputs))
        others = variations(
            self._engine, lambda: self._file_of(runnable), wide.inputs, runnable.outputs
        )
        return Spread(runnable.outputs, outputs, others)

    @contextmanager
    def _file_of(self, runnable: RunnableModel) -> Iterator[Path]:
        with _widened(Workload(runnable, [])) as work:
            yield work.tflite() if isinstance(self._engine, LiteRt) else work.onnx()

    def _answer(self, work: Workload) -> Answer:
        infos = work.model.outputs
        try:
            with _widened(work) as wide, self._engine.prepare(wide) as prepared:
                found = prepared.run()
        except (NotExpressible, EngineRefused) as error:
            return Answer(reason=str(error))
        outputs = [
            values.astype(info.dtype).reshape(info.shape)
            for info, values in zip(infos, found, strict=True)
        ]
        return Answer(outputs)


def _widened(work: Workload) -> Workload:
    is_half = any(
        operand.type == pb.OPERAND_TYPE_TENSOR_FLOAT16 for operand in work.model.model.main.operands
    )
    if not is_half or isinstance(work.model, PartitionedModel):
        return Workload(work.model, work.inputs, work.name)
    inputs = [
        values.astype(np.float32) if values.dtype == np.float16 else values
        for values in work.inputs
    ]
    return Workload(RunnableModel.of(half.widen(work.model.model)), inputs, work.name)


T = TypeVar("T")


def by_halves(
    wanted: Sequence[T], ask: Callable[[Sequence[Sequence[T]]], Sequence[Answer]]
) -> Iterator[tuple[Sequence[T], Answer]]:
    """Asks for all at once, and for halves of what is refused, down to single ones. Every answer
    but those that smaller ones took the place of."""
    waiting: list[Sequence[T]] = [wanted]
    while waiting:
        refused: list[Sequence[T]] = []
        for asked, answer in zip(waiting, ask(waiting), strict=True):
            if answer.outputs is None and len(asked) > 1:
                middle = len(asked) // 2
                refused += [asked[:middle], asked[middle:]]
            else:
                yield asked, answer
        waiting = refused
