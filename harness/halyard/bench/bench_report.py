# SPDX-License-Identifier: Apache-2.0
"""All that a run of the benchmark found out: in words as it goes, and as JSON in the end."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from halyard import output_file, records
from halyard.bench import csv_file
from halyard.bench.pair import Pair
from halyard.bench.results import ModelResult, Skipped
from halyard.bench.site import Site
from halyard.bench.table import (
    print_left_out,
    print_own_rounds,
    print_peaks,
    print_ratios,
    print_summary,
)
from halyard.engines.peers import FoundPeer
from halyard.records import bench
from halyard.records.run import Device, NotCompared
from halyard.runner.execution import Target
from halyard.terminal.console import Terminal
from halyard.timing import machine
from halyard.timing.machine import Peak


@dataclass
class Report:
    """Grows with each model; `complete` once nothing is left to do."""

    found: Sequence[FoundPeer]
    peaks: dict[int, Peak]
    backends: Sequence[str]
    runs: int
    fast_math: bool = False  # ours may give rougher results
    burners: int = 0
    same_core: bool = False  # in a round, for all engines of one thread
    types_required: bool = False  # a model that does not come in a type is a failure
    site: Site | None = None  # where ours runs
    properties: Mapping[str, str] = field(default_factory=dict)  # of the device there
    results: list[ModelResult] = field(default_factory=list)
    pairs: list[Pair] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    complete: bool = False

    @property
    def ok(self) -> bool:
        """A peer that fails, or computes wrongly, is told of and left out: no fault of ours."""
        failed = any(result.failed for result in self.results)
        failed = failed or any(pair.failed for pair in self.pairs)
        skipped = any(item.failed or self.types_required for item in self.skipped)
        return self.complete and bool(self.results or self.pairs) and not failed and not skipped

    @property
    def not_compared(self) -> list[NotCompared]:
        """Results of ours."""
        sides = [side for pair in self.pairs for side in (pair.a, pair.b)]
        return [
            each
            for result in (*self.results, *(side.result for side in sides))
            for each in result.not_compared
        ]

    def print_end(self, terminal: Terminal) -> None:
        if any(peak.float32_gflops for peak in self.peaks.values()):
            terminal.heading("The machine's peak")
            print_peaks(terminal, self.peaks)
        if self.results:
            terminal.heading("Summary")
            print_summary(terminal, self.results, self.peaks)
            print_own_rounds(terminal, self.results)
            print_ratios(terminal, self.results)
        print_left_out(terminal, self.results)
        if not self.complete:
            terminal.line("It did not come to its end: this is what was measured until then.")

    def record(self) -> bench.Bench:
        return bench.Bench(
            device=self._device(),
            target=self._target(),
            pairs=[pair.record() for pair in self.pairs],
            version=_version(),
            date=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            machine=bench.Machine(
                cpu=machine.cpu_name(),
                architecture=platform.machine(),
                cores=os.cpu_count() or 0,
                system=platform.platform(),
                cpus=machine.cores(),
                features=machine.cpu_features(),
                peaks=list(self.peaks.values()),
            ),
            backends=list(self.backends),
            fast_math=self.fast_math,
            runs=self.runs,
            burners=self.burners,
            same_core=self.same_core,
            peers=[
                bench.Peer(
                    name=entry.peer.name,
                    title=entry.peer.title,
                    version=entry.version,
                    missing=entry.reason,
                )
                for entry in self.found
            ],
            ok=self.ok,
            complete=self.complete,
            results=[result.record(self.peaks[result.threads]) for result in self.results],
            not_compared=self.not_compared,
            skipped=[item.record() for item in self.skipped],
        )

    def _target(self) -> str:
        """Of all models, if it is the same."""
        targets = {result.target for result in self.results if result.target}
        if len(targets) == 1:
            return targets.pop()
        return self.site.target.name if self.site else Target.in_process().name

    def _device(self) -> Device:
        if self.site is None:
            return Device(serial="host", emulated=False, properties={})
        device = self.site.device
        return Device(
            serial=device.serial,
            emulated=device.is_emulated,
            properties=dict(self.properties),
        )

    def write(self, document: bench.Bench, json_path: Path | None, csv_path: Path | None) -> None:
        if json_path is not None:
            output_file.write(json_path, records.encode(document))
        if csv_path is not None:
            output_file.write(csv_path, csv_file.text(document).encode())


def _version() -> str:
    try:
        return importlib.metadata.version("halyard")
    except importlib.metadata.PackageNotFoundError:
        return ""
