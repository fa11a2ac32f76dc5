# SPDX-License-Identifier: Apache-2.0
"""The command bench run: our engine on a device, its peers on this machine."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from halyard import zoo
from halyard.bench import cores as cpu_cores
from halyard.bench import gpu, peaks, standing
from halyard.bench.bench_report import Report
from halyard.bench.benchmark import Benchmark
from halyard.bench.benchmark_models import models_of
from halyard.bench.burners import Burners
from halyard.bench.series import find_peers, measure_all, site_of
from halyard.bench.site import Site
from halyard.benchmark_model import BenchmarkModel, FileModel
from halyard.cli.bench.counting import Counting, CountRequest, check_device, counting_options
from halyard.cli.bench.options import (
    OURS,
    Form,
    cores_option,
    device_option,
    form_options,
    standing_option,
    told,
)
from halyard.cli.group import examples
from halyard.cli.options import completions, lists
from halyard.cli.options.device import open_shown
from halyard.cli.options.driver import DriverChoice, driver_options
from halyard.cli.options.filled import filled
from halyard.cli.options.inputs import output_option
from halyard.cli.options.litert import NO_PROFILE, check_in_litert
from halyard.cli.options.reference import reference_option
from halyard.cli.options.timing import Baseline, baseline_options, timing_options
from halyard.cli.options.written import WrittenFiles, csv_option, written_options
from halyard.devices import Device, conditions, place_of
from halyard.devices.config import DeviceConfig
from halyard.engines import peers
from halyard.engines.peers import FoundPeer
from halyard.errors import ConfigError
from halyard.measurement.measurement_text import print_conditions
from halyard.measurement.timing_options import TimingOptions
from halyard.model import DataType
from halyard.programs.driver_options import DriverOptions
from halyard.terminal.console import Terminal
from halyard.timing import machine
from halyard.transport import hal_version

_TYPES = "float32,quant8_signed"

# Former options, which are commands now.
_MOVED = {
    "--compare": "halyard bench compare FILE FILE",
    "--operators": "halyard bench operators",
    "--show": "halyard bench show FILE",
    "--a": "halyard bench pair [MODEL] --a WORDS --b WORDS",
    "--b": "halyard bench pair [MODEL] --a WORDS --b WORDS",
}


class _Run(click.Command):
    """Says where options are that it had."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        for word in args:
            if word == "--":
                break
            name = word.partition("=")[0]
            if name in _MOVED and not ctx.resilient_parsing:
                raise click.UsageError(f"{name} is a command of its own: {_MOVED[name]}", ctx)
        return super().parse_args(ctx, args)


@dataclass(frozen=True)
class Models:
    """Of which models, in which types. ConfigError for a list that makes no sense."""

    models_argument: tuple[str, ...]
    models: str | None
    types: str
    form: Form

    @property
    def named(self) -> list[str]:
        """None of them where none is named. What a settings file says of --models gives way to
        arguments."""
        arguments, option = self.models_argument, self.models
        if not arguments:
            return [] if option is None else lists.names(option, "--models")
        if _is_typed("models"):
            raise ConfigError(f"--models {option}: the models are {', '.join(arguments)} already")
        return lists.distinct(list(arguments), "MODEL")

    @property
    def types_required(self) -> bool:
        """Whether a model that does not come in a type is a failure."""
        return _is_typed("types") and bool(self.named)

    def benchmark_models(self) -> list[BenchmarkModel | FileModel]:
        form = self.form
        zoo.check(form.size, form.width)
        there = list(map(str, DataType))
        return models_of(
            self.named or list(zoo.NAMES),
            [DataType(name) for name in lists.known(self.types, "--types", there)],
            form.size,
            form.width,
            option="--models",
            options=form.reading,
            given=form.given,
        )


def _is_typed(option: str) -> bool:
    source = click.get_current_context().get_parameter_source(option)
    return source is click.core.ParameterSource.COMMANDLINE


_model_options = filled(
    "models",
    Models,
    click.argument("models_argument", metavar="[MODEL]...", nargs=-1),
    click.option(
        "--models",
        metavar="LIST",
        shell_complete=completions.models,
        help="MODEL by another way: files, or of the zoo, with commas between: "
        f"{', '.join(zoo.NAMES)}. Left out: all of the zoo.",
    ),
    click.option(
        "--types",
        default=_TYPES,
        show_default=True,
        metavar="LIST",
        help=f"Of {', '.join(map(str, DataType))}.",
    ),
    form_options,
)


@dataclass(frozen=True)
class Load:
    """With how many threads, beside what, on which cores."""

    thread_counts: str
    peer_names: str | None
    clients: str | None
    burn: int
    cores: Sequence[int]
    same_core: bool

    def counts(self) -> list[int]:
        """Of threads. ConfigError for what makes no sense."""
        cpu_cores.check(self.cores)
        counts = lists.numbers(self.thread_counts, "--threads", 1, 64)
        if self.same_core and 1 not in counts:
            raise ConfigError("--same-core is for one thread: --threads 1")
        return counts

    def client_counts(self) -> list[int]:
        return [] if self.clients is None else lists.numbers(self.clients, "--clients", 1, 32)

    def peers(self, backends: Sequence[str]) -> list[peers.Peer]:
        if self.peer_names is None:
            return peers.usual(backends)
        return peers.named(",".join(lists.names(self.peer_names, "--peers")))


_load_options = filled(
    "load",
    Load,
    click.option(
        "--threads",
        "thread_counts",
        default="1,2",
        show_default=True,
        metavar="LIST",
        help="Each is measured beside the peers with as many. More than this machine's cores are "
        "left out.",
    ),
    click.option(
        "--peers",
        "peer_names",
        metavar="LIST",
        help=f"Of {', '.join(peer.name for peer in peers.PEERS)}; torch, or a mode of it "
        "(torch-eager, torch-graph, torch-compile, torch-autotune), for a GPU. Left out: those "
        "that are installed, and torch beside GpuAcc.",
    ),
    click.option(
        "--clients",
        metavar="LIST",
        help="Also so many clients of one service at the same time, beside as many processes of "
        "LiteRT, and one of high priority beside others of low; 1,2,4,8 for instance.",
    ),
    click.option(
        "--burn",
        default=0,
        metavar="N",
        type=click.IntRange(0, 64),
        help="So many processes burn a core each while engines are timed.",
    ),
    cores_option,
    click.option(
        "--same-core",
        is_flag=True,
        help="With one thread all engines have the same core in a round, and the next one in the "
        "next round: for machines whose cores others use, too.",
    ),
)


@dataclass(frozen=True)
class BenchExtras:
    """Measurements to make and keep beside times."""

    relaxed: bool
    profile: bool
    output_folder: Path | None
    standing_folder: Path | None
    require_reference: bool
    counting: Counting


_extra_options = filled(
    "extras",
    BenchExtras,
    click.option(
        "--relaxed",
        is_flag=True,
        help="Also ours for a model that need not be computed in float32, beside peers that round.",
    ),
    click.option("--profile", is_flag=True, help="Tell what each node takes, once all are timed."),
    output_option,
    standing_option,
    reference_option,
    counting_options,
)


@click.command(
    cls=_Run,
    epilog=examples(
        "halyard bench mobilenet_v2 --types quant8_signed --threads 1",
        "halyard bench mobilenet_v1 resnet_50 --peers litert --json out.json",
        "halyard bench mobilenet_v2 --clients 1,4 --profile",
        "halyard bench model.tflite --device SERIAL --sustained 120",
        "halyard bench resnet_50 --baseline out.json --fail-above 5%",
        "halyard bench --threads 1,2,4 --standing benchmarks/results",
        "halyard bench mobilenet_v2 --count-instructions --device host-arm64",
    ),
)
@_model_options
@device_option
@driver_options(*OURS)
@_load_options
@timing_options("--runs", "--num-runs", runs=50, most_s=10.0)
@_extra_options
@baseline_options
@written_options(csv_option("each engine on each model"))
def run(
    *,
    models: Models,
    name: str,
    driver: DriverChoice,
    load: Load,
    timing: TimingOptions,
    extras: BenchExtras,
    baseline: Baseline,
    written: WrittenFiles,
) -> None:
    """Times models on a device, or on this machine beside other engines."""
    if extras.counting.count_instructions:
        terminal = Terminal()
        counted = _counting(models, name, driver, load, extras, baseline, written)
        if not counted.measure(terminal, written).ok:
            sys.exit(1)
        return
    earlier = baseline.read()
    request = Request.of(models, name, driver, load, timing, extras)
    terminal = Terminal()
    report = request.measure(terminal, written)
    document = report.record()
    if extras.standing_folder is not None:
        terminal.line(f"Kept in {standing.save(document, extras.standing_folder)}.")
    slower = baseline.is_slower(terminal, earlier, document)
    unsure = extras.require_reference and bool(document.not_compared)
    if not report.ok or slower or unsure:
        sys.exit(1)


def _counting(
    models: Models,
    name: str,
    driver: DriverChoice,
    load: Load,
    extras: BenchExtras,
    baseline: Baseline,
    written: WrittenFiles,
) -> CountRequest:
    """ConfigError for what makes no sense where nothing is timed."""
    config = place_of(name)
    check_device(name, config)
    driver.check_on(config)
    _refuse(
        {
            "--threads": _is_typed("thread_counts") and load.counts() != [1],
            "--peers": load.peer_names,
            "--clients": load.clients,
            "--burn": load.burn,
            "--cpus": load.cores,
            "--same-core": load.same_core,
            "--profile": extras.profile,
            "--output": extras.output_folder,
            "--standing": extras.standing_folder,
            "--baseline": baseline.path,
            "--csv": written.csv_path,
            "--results": written.results_path,
        },
        "is for times: with --count-instructions one thread of ours is counted, beside LiteRT's",
    )
    options = DriverOptions(driver.backends_on(config), threads=1, fast_math=driver.fast_math)
    return CountRequest(models.benchmark_models(), extras.counting, options, extras.relaxed)


@dataclass(frozen=True)
class Request:
    """The command line's request, once it is known to make sense."""

    models: Models
    benchmark_models: Sequence[BenchmarkModel | FileModel]
    name: str
    config: DeviceConfig
    hal: hal_version.Choice
    backends: Sequence[str]
    driver: DriverChoice
    load: Load
    timing: TimingOptions
    extras: BenchExtras

    @classmethod
    def of(
        cls,
        models: Models,
        name: str,
        driver: DriverChoice,
        load: Load,
        timing: TimingOptions,
        extras: BenchExtras,
    ) -> Request:
        """ConfigError for what makes no sense."""
        hal = hal_version.one_version(driver.hal)
        config = place_of(name)
        if config.door is not None:
            check_in_litert(config.door, driver, _of_nnapi(load, extras))
        backends = driver.backends_on(config)
        load.counts()
        load.client_counts()
        load.peers(backends)
        driver.check_on(config)
        if name != "host" and config.door is None:
            _refuse(
                {
                    "--peers": load.peer_names,
                    "--clients": load.clients,
                    "--burn": load.burn,
                    "--cpus": load.cores,
                    "--same-core": load.same_core,
                    "--profile": extras.profile,
                    "--standing": extras.standing_folder,
                },
                "is for this machine: --device host",
            )
        if load.burn and extras.standing_folder is not None:
            raise ConfigError("--standing is for what is measured without --burn")
        benchmark_models = models.benchmark_models()
        return cls(
            models, benchmark_models, name, config, hal, backends, driver, load, timing, extras
        )

    @property
    def is_here(self) -> bool:
        """Whether peers are its measure."""
        return self.name == "host" or self.config.door is not None

    def measure(self, terminal: Terminal, written: WrittenFiles) -> Report:
        counts = self.load.counts()
        if self.is_here:
            counts, left_out = cpu_cores.enough_for(counts, self.load.cores)
            if left_out:
                terminal.line(left_out)
        with open_shown(terminal, self.name, self.config) as device:
            found: Sequence[FoundPeer] = []
            if self.is_here:
                gpu.check(self.backends)
                chosen = self.load.peers(self.backends)
                found = find_peers(terminal, chosen, self.load.peer_names is not None)
            site = site_of(device, self.config, self.driver.mode, self.driver.instance, self.hal)
            print_conditions(terminal, device, conditions.read(device))
            with cpu_cores.pinned(self.load.cores), Burners(self.load.burn) as burners:
                report = self._report(terminal, device, site, found, counts)
                with told(terminal, report, written, self.name):
                    benchmark = self._benchmark(terminal, site, found, burners)
                    cool_down = self.timing.cool_down
                    measure_all(
                        terminal, benchmark, self.benchmark_models, counts, report, cool_down
                    )
                    if self.is_here:
                        peaks.measure_again(terminal, report)
        return report

    def _report(
        self,
        terminal: Terminal,
        device: Device,
        site: Site,
        found: Sequence[FoundPeer],
        counts: Sequence[int],
    ) -> Report:
        return Report(
            found,
            peaks.measure(terminal, counts) if self.is_here else peaks.none(counts),
            self.backends,
            self.timing.runs,
            fast_math=self.driver.fast_math,
            burners=self.load.burn,
            same_core=self.load.same_core,
            types_required=self.models.types_required,
            site=site,
            properties=device.properties(),
        )

    def _benchmark(
        self, terminal: Terminal, site: Site, found: Sequence[FoundPeer], burners: Burners
    ) -> Benchmark:
        return Benchmark(
            terminal=terminal,
            peers=[entry.peer for entry in found if entry.available],
            backends=self.backends,
            runs=self.timing.runs,
            least_s=self.timing.least_s,
            most_s=self.timing.most_s,
            warmup=self.timing.warm_up,
            versions={entry.peer.name: entry.version for entry in found},
            fast_math=self.driver.fast_math,
            output_folder=self.extras.output_folder,
            relaxed=self.extras.relaxed,
            profile=self.extras.profile,
            clients=self.load.client_counts(),
            burners=burners,
            same_core=machine.cores() if self.load.same_core else (),
            site=site,
            gate=self.timing.gate,
            sustained_s=self.timing.sustained_s,
        )


def _of_nnapi(load: Load, extras: BenchExtras) -> dict[str, str | None]:
    """Options that LiteRT's runtime has no use for, and why."""
    return {
        "--clients": "is for clients of one driver" if load.clients is not None else None,
        "--relaxed": "is what a model of NNAPI's allows; --enable-fast-math lets ours round there"
        if extras.relaxed
        else None,
        "--profile": NO_PROFILE if extras.profile else None,
        "--standing": "keeps the driver's times alone, --device host"
        if extras.standing_folder is not None
        else None,
    }


def _refuse(options: Mapping[str, Any], reason: str) -> None:
    for option, value in options.items():
        if value:
            raise ConfigError(f"{option} {reason}")
