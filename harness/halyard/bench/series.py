# SPDX-License-Identifier: Apache-2.0
"""The measurements of halyard bench once a device is there: it looks for peers, and measures one
model after the other."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from halyard.bench.bench_report import Report
from halyard.bench.benchmark import Benchmark
from halyard.bench.results import Skipped
from halyard.bench.site import Site
from halyard.bench.table import (
    print_clients,
    print_model,
    print_nodes,
    print_peers,
)
from halyard.benchmark_model import BenchmarkModel, FileModel
from halyard.devices import Device, ServiceOptions
from halyard.devices.config import DeviceConfig
from halyard.engines import peers
from halyard.engines.peers import FoundPeer
from halyard.engines.workload import Workload
from halyard.errors import DeviceError, HalyardError
from halyard.measurement.measurement_text import print_sustained, show_parts
from halyard.model.partitioned import PartitionedModel
from halyard.runner.execution import EXECUTION_MODES
from halyard.terminal.console import Terminal
from halyard.transport.hal_version import Choice


def site_of(
    device: Device, config: DeviceConfig, mode: str, instance: str | None, hal: Choice
) -> Site:
    service = ServiceOptions(program=config.service.program, instance=config.service.instance)
    return Site(device, EXECUTION_MODES[mode], hal, instance, service)


def find_peers(
    terminal: Terminal, chosen: Sequence[peers.Peer], required: bool
) -> Sequence[FoundPeer]:
    if not chosen:
        return []
    with terminal.step("Looking for peers"):
        found = peers.find(chosen, required=required)
    print_peers(terminal, found)
    return found


def measure_all(
    terminal: Terminal,
    benchmark: Benchmark,
    benchmark_models: Sequence[BenchmarkModel | FileModel],
    counts: Sequence[int],
    report: Report,
    cool_down: float,
) -> None:
    for benchmark_model in benchmark_models:
        try:
            with terminal.step(f"Building {benchmark_model}"):
                is_whole = benchmark.site is not None and benchmark.site.is_in_litert
                if not is_whole:
                    _refuse_of_parts(benchmark_model, benchmark)
                work = Workload.of_model(benchmark_model)
                site = benchmark.site.reaching(benchmark_model.runnable) if benchmark.site else None
        except DeviceError:
            raise
        except HalyardError as error:
            skipped = Skipped.of(benchmark_model, str(error))
            report.skipped.append(skipped)
            terminal.detail(f"{'PROBLEM  ' if skipped.failed else ''}{error}")
            continue
        if not is_whole:
            show_parts(terminal, benchmark_model)
        with work:
            for count in counts:
                if cool_down and report.results:
                    with terminal.step(f"Cooling down for {cool_down:g} s"):
                        time.sleep(cool_down)
                here = replace(benchmark, site=site)
                result = here.measure(benchmark_model, work, count, report.results)
                print_model(terminal, result, report.peaks[count])
                print_sustained(terminal, result.sustained.record() if result.sustained else None)
                print_clients(terminal, result)
                print_nodes(terminal, result, report.peaks[count])


def _refuse_of_parts(benchmark_model: BenchmarkModel | FileModel, benchmark: Benchmark) -> None:
    """HalyardError, before anything is measured, for what can't be had of a model in parts."""
    model = benchmark_model.runnable
    if not isinstance(model, PartitionedModel):
        return
    if benchmark.clients:
        raise HalyardError(
            f"{model.words}: clients of one driver have no host's part between them, so that "
            "--clients is for models that NNAPI runs whole"
        )
    if benchmark.sustained_s:
        raise HalyardError(
            f"{model.words}: a part executes as often as the whole, one after the other, so that "
            "there is no load by the second: --sustained is for models that NNAPI runs whole"
        )
