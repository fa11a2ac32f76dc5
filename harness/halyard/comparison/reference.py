# SPDX-License-Identifier: Apache-2.0
"""The references that results are compared with: a file's own engine on this machine, and LiteRT
for a model that Halyard wrote."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from halyard.benchmark_model import AnyModel, FileModel
from halyard.comparison.spread import Spread, variations
from halyard.engines import litert
from halyard.engines.engine import EngineMissing, EngineRefused
from halyard.engines.litert import LiteRt
from halyard.engines.original import (
    ORIGINALS,
    engine_of,
    file_of,
    original_inputs,
    run_source,
)
from halyard.engines.workload import Workload
from halyard.errors import NotExpressible
from halyard.model import Array, RunnableModel, half
from halyard.model.fitting import fitted

# For its time: it is the device that is measured at length.
MOST_RUNS = 50


@dataclass(frozen=True)
class Repetitions:
    """How often a model runs, on how many threads (0: one per core)."""

    counted: int = 1
    warmup: int = 0
    threads: int = 0


@dataclass(frozen=True)
class Reference:
    """No outputs: `reason` says why there are none."""

    name: str = "LiteRT"
    outputs: Sequence[Array] | None = None  # in the types of the model's outputs
    milliseconds: Sequence[float] = ()
    threads: int = 0
    reason: str = ""
    spread: Spread | None = None  # its own; None: not known


@cache
def reference(benchmark_model: AnyModel, repetitions: Repetitions) -> Reference:
    if (
        isinstance(benchmark_model, FileModel)
        and benchmark_model.conversion.source.format in ORIGINALS
    ):
        return _original(benchmark_model, repetitions)
    runnable = benchmark_model.runnable
    inputs = benchmark_model.input_arrays()
    is_half = any(info.dtype == np.float16 for info in runnable.outputs)
    if is_half:
        # TFLite has no float16 kernels: the same numbers in float32 are the better word anyway.
        runnable = RunnableModel.of(half.widen(runnable.model))
        inputs = [_widened(values) for values in inputs]
    threads, counted, warmup = _bounded(repetitions)
    try:
        with Workload(runnable, inputs) as work, LiteRt(threads).prepare(work) as prepared:
            times = prepared.time(counted, warmup)
            outputs = prepared.run()
    except EngineMissing:
        return Reference(reason=litert.MISSING)
    except (NotExpressible, EngineRefused) as error:
        return Reference(reason=f"LiteRT can't run it: {error}")
    if is_half:
        infos = benchmark_model.runnable.outputs
        outputs = [values.astype(info.dtype) for info, values in zip(infos, outputs, strict=True)]
    name = "LiteRT in float32" if is_half else "LiteRT"
    others = variations(
        LiteRt(threads), lambda: _written(runnable), inputs, benchmark_model.runnable.outputs
    )
    spread = Spread(benchmark_model.runnable.outputs, outputs, others)
    return Reference(name, outputs, [each / 1e6 for each in times], threads, spread=spread)


@contextmanager
def _written(runnable: RunnableModel) -> Iterator[Path]:
    with Workload(runnable, []) as work:
        yield work.tflite()


def _original(benchmark_model: FileModel, repetitions: Repetitions) -> Reference:
    """Of the file as it is: what is read of it can't be wrong on both sides alike."""
    conversion, runnable = benchmark_model.conversion, benchmark_model.runnable
    threads, counted, warmup = _bounded(repetitions)
    inputs = original_inputs(conversion, benchmark_model.input_arrays())
    try:
        engine = engine_of(conversion.source.format, threads)
        outputs, times = run_source(engine, conversion.source, inputs, counted, warmup)
        fitting = [
            fitted(values, info) for values, info in zip(outputs, runnable.outputs, strict=True)
        ]
    except EngineMissing as error:
        return Reference(reason=f"{conversion.source.format}'s engine: {error}")
    except (EngineRefused, ValueError) as error:
        return Reference(reason=f"its own engine can't run it: {error}")
    others = variations(engine, lambda: file_of(conversion.source), inputs, runnable.outputs)
    spread = Spread(runnable.outputs, fitting, others)
    return Reference(engine.title, fitting, [each / 1e6 for each in times], threads, spread=spread)


def _bounded(repetitions: Repetitions) -> tuple[int, int, int]:
    """Threads, counted runs, and those before."""
    return (
        repetitions.threads or os.cpu_count() or 1,
        max(min(repetitions.counted, MOST_RUNS), 1),
        min(repetitions.warmup, MOST_RUNS),
    )


def _widened(values: Array) -> Array:
    return values.astype(np.float32) if values.dtype == np.float16 else values
