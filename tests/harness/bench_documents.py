# SPDX-License-Identifier: Apache-2.0
"""Benchmarks as they are written, made of times that a test gives."""

from collections.abc import Sequence

import msgspec

from halyard.bench.bench_report import Report
from halyard.bench.results import EngineResult, ModelResult
from halyard.benchmark_model import BenchmarkModel
from halyard.model import DataType
from halyard.records.bench import Bench
from halyard.timing.machine import Peak

PEAK = Peak(1, "x", 10.0, "y", 100.0, 1.0, 1.0)


def engine(rounds_ms: Sequence[Sequence[float]], name: str = "halyard") -> EngineResult:
    made = EngineResult(name, name.title(), version="1.2", prepare_ms=2.0, first_ms=9.0)
    made.warmup_ms = [8.0, 6.0]
    for each in rounds_ms:
        made.take([round(value * 1e6) for value in each])
    return made


def result(*engines: EngineResult, model: str = "small_classifier") -> ModelResult:
    benchmark_model = BenchmarkModel(model, DataType.FLOAT32, 16, 0.5)
    made = ModelResult(
        model, DataType.FLOAT32, 16, 1, 1000, 0, "LiteRT", benchmark_model=benchmark_model
    )
    made.engines += engines
    return made


def document(*results: ModelResult, **changes: object) -> Bench:
    report = Report([], {1: PEAK}, ["CpuAcc"], 50, results=list(results), complete=True)
    return msgspec.structs.replace(report.record(), **changes)
