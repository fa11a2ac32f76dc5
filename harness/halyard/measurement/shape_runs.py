# SPDX-License-Identifier: Apache-2.0
"""One prepared model that is executed in several shapes, each held to the reference."""

from __future__ import annotations

from collections.abc import Mapping

from halyard.benchmark_model import DynamicModel, FileModel
from halyard.engines.halyard import HalyardDevice
from halyard.measurement.measurement import Measurement, Repetition, measured
from halyard.model import Array
from halyard.programs.case_status import failures
from halyard.proto import halyard_pb2 as pb
from halyard.records.conditions import Conditions


def measure_shapes(
    engine: HalyardDevice,
    benchmark_model: DynamicModel,
    *,
    count: int = 1,
    warmup: int = 0,
    properties: Mapping[str, str] | None = None,
    conditions: Conditions | None = None,
) -> list[Measurement]:
    """A measurement of each shape, as measure() gives of one. They were prepared once, together."""
    result = engine.report(benchmark_model.case(), count, warmup)
    problems = failures(result)
    how = Repetition(engine, count, warmup, properties or {}, conditions=conditions)
    if problems and not result.examples:
        # It was not prepared: one measurement tells.
        return [measured(how, benchmark_model.benchmark_models[0], result, list, problems=problems)]
    found = []
    for each, example in zip(benchmark_model.benchmark_models, result.examples, strict=False):
        mine = pb.CaseResult()
        mine.CopyFrom(result)
        del mine.examples[:]
        mine.examples.append(example)
        found.append(_of_shape(how, each, mine))
    return found


def _of_shape(how: Repetition, benchmark_model: FileModel, result: pb.CaseResult) -> Measurement:
    [example] = result.examples

    def outputs() -> list[Array]:
        return benchmark_model.runnable.output_arrays(example)

    problems = failures(result)
    if not problems:
        problems = [
            f"output {info.name!r} has the shape {list(output.dimensions)}, not {list(info.shape)}"
            for info, output in zip(benchmark_model.runnable.outputs, example.outputs, strict=True)
            if tuple(output.dimensions) != info.shape
        ]
    return measured(how, benchmark_model, result, outputs, problems=problems)
