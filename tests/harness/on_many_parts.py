# SPDX-License-Identifier: Apache-2.0
"""Many converted models at once: all that NNAPI runs next goes to one process of the driver, and
the host's parts to ONNX Runtime."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from halyard.devices.host import HostDevice
from halyard.engines.original import fitted, run_part
from halyard.errors import HalyardError
from halyard.model import Array, Conversion, HostPart, NnapiPart, RunnableModel, dtype_of
from halyard.proto import halyard_pb2 as pb
from halyard.runner.execution import Target, run_cases

SECONDS = 60


@dataclass
class Run:
    """A conversion with its inputs, then with its outputs or why it has none."""

    conversion: Conversion
    inputs: Sequence[Array]
    outputs: list[Array] = field(default_factory=list)
    fault: str = ""

    def __post_init__(self) -> None:
        infos = self.conversion.inputs
        self.values = {info.name: each for info, each in zip(infos, self.inputs, strict=True)}
        self.waiting = list(self.conversion.parts)


def run_all(host: HostDevice, runs: Sequence[Run]) -> None:
    while any(run.waiting and not run.fault for run in runs):
        for run in runs:
            _run_on_host(run)
        ready = [run for run in runs if run.waiting and not run.fault]
        if ready:
            _run_on_nnapi(host, ready)
    for run in runs:
        if not run.fault:
            try:
                run.outputs = [
                    fitted(run.values[each.name], each) for each in run.conversion.outputs
                ]
            except (HalyardError, KeyError) as error:
                run.fault = f"an output is wrong: {type(error).__name__} {error}"


def _run_on_host(run: Run) -> None:
    """All of the host's parts up to the next of NNAPI's."""
    while run.waiting and isinstance(run.waiting[0], HostPart) and not run.fault:
        part = run.waiting.pop(0)
        try:
            given = [run.values[name] for name in part.inputs]
            results, _ = run_part(part, given, 1, 0, threads=1)
        # Whatever it is.
        except Exception as error:  # noqa: BLE001
            run.fault = f"the host's part fails: {error}"
            return
        run.values |= zip(part.outputs, results, strict=True)


def _run_on_nnapi(host: HostDevice, runs: Sequence[Run]) -> None:
    cases, running = [], []
    for number, run in enumerate(runs):
        part = run.waiting.pop(0)
        assert isinstance(part, NnapiPart)
        runnable = RunnableModel.of(part.model)
        try:
            given = [
                fitted(run.values[name], info)
                for name, info in zip(part.inputs, runnable.inputs, strict=True)
            ]
        except (HalyardError, KeyError) as error:
            run.fault = f"an input is wrong: {type(error).__name__} {error}"
            continue
        examples = [runnable.example_of(given)]
        cases.append(pb.TestCase(name=str(number), model=part.model, examples=examples))
        running.append((run, part))
    results = run_cases(host, cases, pb.RunOptions(timeout_s=SECONDS), Target.in_process())
    for (run, part), result in zip(running, results, strict=True):
        _take(run, part, result)


def _take(run: Run, part: NnapiPart, result: pb.CaseResult) -> None:
    if result.failed_stage != pb.STAGE_NONE or not result.examples:
        run.fault = f"the driver fails: {pb.Stage.Name(result.failed_stage)} {result.message}"
        return
    [example] = result.examples
    if example.status != pb.ERROR_STATUS_NONE:
        run.fault = f"the driver fails: {pb.ErrorStatus.Name(example.status)} {example.message}"
        return
    main = part.model.main
    for name, index, output in zip(part.outputs, main.output_indexes, example.outputs, strict=True):
        values = np.frombuffer(output.data, dtype_of(main.operands[index].type))
        run.values[name] = values.reshape(tuple(output.dimensions))
