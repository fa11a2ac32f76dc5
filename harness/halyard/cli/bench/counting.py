# SPDX-License-Identifier: Apache-2.0
"""The option --count-instructions of bench run: instructions in place of time."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import click

from halyard import output_file, paths
from halyard.bench.results import Skipped
from halyard.benchmark_model import BenchmarkModel, FileModel
from halyard.cli.group import INTERRUPTED
from halyard.cli.options import lists
from halyard.cli.options.filled import filled
from halyard.cli.options.written import WrittenFiles
from halyard.counting import modelled_cycles
from halyard.counting.count_report import CountReport
from halyard.counting.count_table import print_cycles, print_model, print_summary
from halyard.counting.counted_process import emulator
from halyard.counting.emulated_core import CORES, EmulatedCore
from halyard.counting.instruction_counts import Counter
from halyard.counting.litert_arm64 import LiteRtForArm64
from halyard.devices.config import DeviceConfig
from halyard.engines.engine import EngineMissing
from halyard.errors import ConfigError, HalyardError
from halyard.model import DataType
from halyard.programs import native
from halyard.programs.driver_options import DriverOptions
from halyard.records.instruction_counts import encode
from halyard.terminal.console import Terminal
from halyard.vm.machine_type import ARM64


@dataclass(frozen=True)
class Counting:
    """Whether instructions are counted, and of what. ConfigError for a list that makes no sense."""

    count_instructions: bool = False
    processors: str | None = None
    hot_blocks: int = 0
    llvm_mca: str | None = None
    alone: bool = False

    def __post_init__(self) -> None:
        if not self.count_instructions:
            options = {
                "--processors": self.processors,
                "--hot-blocks": self.hot_blocks,
                "--llvm-mca": self.llvm_mca,
                "--alone": self.alone,
            }
            for option, value in options.items():
                if value:
                    raise ConfigError(f"{option} is for --count-instructions")
        self.cores()
        self.models()

    def cores(self) -> list[EmulatedCore]:
        names = list(CORES)
        if self.processors is not None:
            names = lists.known(self.processors, "--processors", names)
        return [CORES[name] for name in names]

    def models(self) -> list[str]:
        """Of which cores cycles are modelled."""
        if self.llvm_mca is None:
            return []
        return lists.known(self.llvm_mca, "--llvm-mca", modelled_cycles.MODELS)


# A dataclass of options gets a Counting as its field `counting`.
counting_options = filled(
    "counting",
    Counting,
    click.option(
        "--count-instructions",
        is_flag=True,
        help="Time nothing: count the arm64 instructions of an inference by class, in one thread, "
        "under QEMU, and those of LiteRT. With --device host-arm64.",
    ),
    click.option(
        "--processors",
        metavar="LIST",
        help=f"Of which to count instructions: {', '.join(CORES)}. Left out: all.",
    ),
    click.option(
        "--hot-blocks",
        default=0,
        metavar="N",
        type=click.IntRange(0, 1000),
        help="Also the N blocks with most of the instructions counted, disassembled.",
    ),
    click.option(
        "--llvm-mca",
        metavar="LIST",
        help="Also the cycles of what was counted by LLVM's models of cores: "
        f"{', '.join(modelled_cycles.MODELS)}.",
    ),
    click.option("--alone", is_flag=True, help="Count ours, and not LiteRT's."),
)


@dataclass(frozen=True)
class CountRequest:
    """The models and options of a count, once they are known to make sense."""

    benchmark_models: Sequence[BenchmarkModel | FileModel]
    counting: Counting
    driver: DriverOptions
    relaxed: bool

    def measure(self, terminal: Terminal, written: WrittenFiles) -> CountReport:
        """Prints, and writes --json, also of a run that is interrupted, which exits."""
        emulator()
        native.program(native.RUNNER, ARM64.uname)
        models = self.counting.models()
        if models:
            modelled_cycles.check()
        counter = Counter(self.driver, self._litert(terminal), self.counting.hot_blocks, models)
        report = CountReport(self.driver.backends, self.driver.fast_math)
        try:
            for model in self.benchmark_models:
                self._count(terminal, counter, model, report, relaxed=False)
                if self.relaxed and _has_float32(model):
                    self._count(terminal, counter, model, report, relaxed=True)
            report.complete = True
        except KeyboardInterrupt:
            sys.exit(INTERRUPTED)
        finally:
            if report.results:
                print_summary(terminal, report.results)
                print_cycles(terminal, report.results)
            if written.json_path is not None:
                output_file.write(written.json_path, encode(report.record()))
        return report

    def _count(
        self,
        terminal: Terminal,
        counter: Counter,
        model: BenchmarkModel | FileModel,
        report: CountReport,
        *,
        relaxed: bool,
    ) -> None:
        for core in self.counting.cores():
            title = f"{model}{', relaxed' if relaxed else ''} on {core.title}"
            try:
                with terminal.step(f"Counting {title}"):
                    result = counter.measure(model, core, relaxed=relaxed)
            except HalyardError as error:
                report.skipped.append(Skipped.of(model, str(error)).record())
                terminal.detail(str(error))
                return
            report.results.append(result)
            print_model(terminal, result)

    def _litert(self, terminal: Terminal) -> LiteRtForArm64 | None:
        if self.counting.alone:
            return None
        try:
            with terminal.step("Looking for LiteRT for arm64") as step:
                found = LiteRtForArm64.kept_in(paths.cache())
                step.outcome = found.version
        except EngineMissing as error:
            terminal.detail(str(error))
            return None
        return found


def _has_float32(model: BenchmarkModel | FileModel) -> bool:
    return isinstance(model, FileModel) or model.data_type is DataType.FLOAT32


def check_device(name: str, config: DeviceConfig) -> None:
    """ConfigError for a device whose instructions can't be counted."""
    if config.kind != "host" or config.machine != ARM64.name:
        raise ConfigError(f"--count-instructions is for --device host{ARM64.suffix}, not {name}")
    if config.cpu is not None:
        raise ConfigError("with --count-instructions it is --processors that names processors")
