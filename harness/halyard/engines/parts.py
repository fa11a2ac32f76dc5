# SPDX-License-Identifier: Apache-2.0
"""Parts of a model one after another: NNAPI's on a device, the others on this machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import numpy as np

from halyard.engines.engine import EngineRefused, Prepared
from halyard.engines.original import fitted, run_part
from halyard.engines.workload import Workload
from halyard.model import Array, HostPart, NnapiPart, RunnableModel, Tensors
from halyard.model.partitioned import PartitionedModel
from halyard.proto import halyard_pb2 as pb
from halyard.results import failures

# Executes what NNAPI runs, with inputs: so often, after so many others.
Report = Callable[[Workload, int, int], pb.CaseResult]

# Sums over the parts.
_COUNTED = ("prepare_ns", "pieces", "bytes_between_pieces")
_MEMORY = ("constant_bytes", "arena_bytes")


class PartsRun(Prepared):
    """Each part runs as often as the whole is to, and then the next one: what a part takes is not
    disturbed by the others, and the whole takes what its parts do."""

    def __init__(self, work: Workload, report: Report, threads: int) -> None:
        assert isinstance(work.model, PartitionedModel)
        self._work = work
        self._model = work.model
        self._report = report
        self._threads = threads or os.cpu_count() or 1
        self._last: pb.CaseResult | None = None

    @property
    def tensors(self) -> Tensors:
        return self._work.tensors

    def report(self, count: int, warmup: int = 0) -> pb.CaseResult:
        """As of one model: times and memory are the parts' sums, placements stand one after
        another. That of the first part that fails, if one does."""
        values = {
            info.name: array
            for info, array in zip(self._model.inputs, self._work.inputs, strict=True)
        }
        whole = pb.CaseResult()
        times = np.zeros(count, np.int64)
        for number, part in enumerate(self._model.parts):
            if isinstance(part, HostPart):
                arrays, host_times = run_part(
                    part, [values[name] for name in part.inputs], count, warmup, self._threads
                )
                times += np.array(host_times, np.int64)
            else:
                result, arrays = self._nnapi(part, values, count, warmup)
                if failures(result):
                    result.message = f"part {number + 1}: {result.message}"
                    self._last = result
                    return result
                _add(whole, result, number)
            values.update(zip(part.outputs, arrays, strict=True))
        [example] = whole.examples or [whole.examples.add()]
        for timing, host in zip(example.timings, times, strict=True):
            timing.wall_ns += int(host)
        # The host's are not timed.
        del example.warmup_timings[:]
        del example.outputs[:]
        for info in self._model.outputs:
            output = fitted(values[info.name], info)
            example.outputs.add(data=output.tobytes(), dimensions=info.shape)
        self._last = whole
        return whole

    def _nnapi(
        self, part: NnapiPart, values: dict[str, Array], count: int, warmup: int
    ) -> tuple[pb.CaseResult, list[Array]]:
        model = RunnableModel.of(part.model)
        inputs = [
            fitted(values[name], info) for name, info in zip(part.inputs, model.inputs, strict=True)
        ]
        with Workload(model, inputs) as work:
            result = self._report(work, count, warmup)
        outputs = [] if failures(result) else model.output_arrays(result.examples[0])
        return result, outputs

    def run(self) -> list[Array]:
        result = self._last or self.report(1)
        if problems := failures(result):
            raise EngineRefused("; ".join(problems))
        return self._model.output_arrays(result.examples[0])

    def time(self, count: int, warmup: int = 0) -> list[int]:
        result = self.report(count, warmup)
        if problems := failures(result):
            raise EngineRefused("; ".join(problems))
        return [timing.wall_ns for timing in result.examples[0].timings]


def _add(whole: pb.CaseResult, result: pb.CaseResult, number: int) -> None:
    """Adds what a part says to what the parts before it say."""
    for row in result.placement:
        row.label = f"part {number + 1}: {row.label}"
        row.piece += whole.pieces
    for node in result.profile:
        node.label = f"part {number + 1}: {node.label}"
    if not whole.examples:
        whole.CopyFrom(result)
        return
    for name in _COUNTED:
        setattr(whole, name, getattr(whole, name) + getattr(result, name))
    for name in _MEMORY:
        total = getattr(whole.memory, name) + getattr(result.memory, name)
        setattr(whole.memory, name, total)
    whole.memory.peak_rss_bytes = max(whole.memory.peak_rss_bytes, result.memory.peak_rss_bytes)
    for rows in ("placement", "profile", "copies", "vanished"):
        getattr(whole, rows).extend(getattr(result, rows))
    _add_times(whole.examples[0].timings, result.examples[0].timings)


def _add_times(whole: Sequence[pb.Timing], more: Sequence[pb.Timing]) -> None:
    for mine, other in zip(whole, more, strict=True):
        mine.wall_ns += other.wall_ns
        for name in ("time_in_driver_ns", "time_on_device_ns"):
            if mine.HasField(name) and other.HasField(name):
                setattr(mine, name, getattr(mine, name) + getattr(other, name))
            else:
                mine.ClearField(name)
