# SPDX-License-Identifier: Apache-2.0
"""The command bench: our engine on a device, its peers on this machine, two that take turns."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from halyard import conditions, hal_version, machine, zoo
from halyard.backends import parse as parse_backends
from halyard.bench import baseline as baselines
from halyard.bench import cores as cpu_cores
from halyard.bench import gpu, peaks, show, standing, timed
from halyard.bench.benchmark import Benchmark
from halyard.bench.burners import Burners
from halyard.bench.pair import Spec
from halyard.bench.pair_run import PairRun
from halyard.bench.report import Report
from halyard.bench.subjects import subjects_of
from halyard.bench.table import print_conditions
from halyard.cli.bench_series import find_peers, measure_all, site_of
from halyard.cli.group import INTERRUPTED, examples
from halyard.cli.options import completions, lists
from halyard.cli.options.device import METAVAR, open_shown
from halyard.cli.options.inputs import input_options, output_option
from halyard.cli.options.json import json_option
from halyard.cli.options.reading import reading_options
from halyard.cli.options.reference import print_not_compared, reference_option
from halyard.cli.options.results import keep, results_option
from halyard.cli.options.timing import (
    Timing,
    baseline_options,
    check_baseline,
    cooling_options,
    sustained_option,
    timing_options,
)
from halyard.conditions import Gate
from halyard.devices import config_of
from halyard.engines import peers
from halyard.errors import ConfigError
from halyard.model import DataType
from halyard.model.input_files import InputFiles
from halyard.model.read_options import ReadOptions
from halyard.output_file import check_writable
from halyard.records.bench import Bench
from halyard.runner import EXECUTION_MODES
from halyard.terminal import Terminal

_TYPES = "float32,quant8_signed"


@click.command(
    epilog=examples(
        "halyard bench mobilenet_v2 --types quant8_signed --threads 1",
        "halyard bench mobilenet_v1 resnet_50 --peers litert --json out.json",
        "halyard bench mobilenet_v2 --clients 1,4 --profile",
        "halyard bench model.tflite --device SERIAL --sustained 120",
        "halyard bench resnet_50 --a backends=CpuRef --b backends=CpuAcc",
        "halyard bench resnet_50 --baseline out.json --fail-above 5%",
        "halyard bench --compare before.json after.json",
        "halyard bench --threads 1,2,4 --standing benchmarks/results",
    )
)
@click.argument("models_argument", metavar="[MODEL]...", nargs=-1)
@click.option(
    "--models",
    metavar="LIST",
    shell_complete=completions.models,
    help=f"MODEL by another way: files, or of the zoo, with commas between: {', '.join(zoo.NAMES)}."
    " Left out: all of the zoo.",
)
@click.option(
    "--types",
    default=_TYPES,
    show_default=True,
    metavar="LIST",
    help=f"Of {', '.join(map(str, DataType))}.",
)
@click.option(
    "--size", type=int, help="Of images, in pixels, or sequences, in steps. Left out: as published."
)
@click.option("--width", default=1.0, show_default=True, help="Of the layers, as a factor.")
@reading_options
@input_options
@click.option(
    "--threads",
    default="1,2",
    show_default=True,
    metavar="LIST",
    help="Each is measured beside the peers with as many. More than this machine's cores are left "
    "out.",
)
@click.option(
    "--device",
    "device_name",
    default="host",
    show_default=True,
    metavar=METAVAR,
    shell_complete=completions.device,
    help="Where ours runs. Peers are on this machine, and beside host alone.",
)
@click.option(
    "--mode",
    default="sync",
    show_default=True,
    type=click.Choice(list(EXECUTION_MODES)),
    help="How ours is executed.",
)
@click.option(
    "--instance",
    metavar="NAME",
    help="Use the service that is registered under this name, and start none.",
)
@click.option(
    "--hal",
    metavar=hal_version.METAVAR_OF_ONE,
    help=f"How ours is reached. {hal_version.NEWEST}",
)
@click.option(
    "-c",
    "--backends",
    metavar="NAMES",
    shell_complete=completions.backend_list,
    help="Ours, in order of preference. If none of them runs a node, that is a failure.",
)
@click.option(
    "-a",
    "--enable-fast-math",
    "fast_math",
    is_flag=True,
    help="Let ours compute with rougher results that are faster.",
)
@click.option(
    "--relaxed",
    is_flag=True,
    help="Also ours for a model that need not be computed in float32, beside peers that round.",
)
@click.option(
    "--peers",
    "peer_names",
    metavar="LIST",
    help=f"Of {', '.join(peer.name for peer in peers.PEERS)}; torch, or a mode of it (torch-eager, "
    "torch-graph, torch-compile, torch-autotune), for a GPU. Left out: those that are installed, "
    "and torch beside GpuAcc.",
)
@timing_options("--runs", "--num-runs", runs=50, most_s=10.0)
@sustained_option
@cooling_options
@click.option(
    "--a",
    "words_a",
    metavar="WORDS",
    help="With --b: two that take turns, on the first MODEL. Of model=, type=, device=, hal=, "
    "backends=, threads=, mode=, instance= and fast-math, with spaces between.",
)
@click.option("--b", "words_b", metavar="WORDS", help="The other one.")
@click.option(
    "--compare",
    "compared",
    nargs=2,
    type=click.Path(dir_okay=False, exists=True, path_type=Path),
    metavar="FILE FILE",
    help="Measure nothing: compare two --json, the earlier one first. The exit code is 1 where "
    f"ours is slower by more than {100 * baselines.NOISE:g} %, or --fail-above, and not by chance.",
)
@click.option(
    "--show",
    "shown",
    type=click.Path(dir_okay=False, exists=True, path_type=Path),
    metavar="FILE",
    help="Measure nothing: print what a --json of another run, or machine, says.",
)
@baseline_options
@click.option(
    "--clients",
    metavar="LIST",
    help="Also so many clients of one service at the same time, beside as many processes of LiteRT,"
    " and one of high priority beside others of low; 1,2,4,8 for instance.",
)
@click.option(
    "--burn",
    default=0,
    metavar="N",
    type=click.IntRange(0, 64),
    help="So many processes burn a core each while engines are timed.",
)
@click.option(
    "--cpus",
    metavar="LIST",
    help="The cores that all engines, and what burns, have; 0,1 for instance. Left out: all.",
)
@click.option(
    "--same-core",
    "same_core",
    is_flag=True,
    help="With one thread all engines have the same core in a round, and the next one in the next "
    "round: for machines whose cores others use, too.",
)
@click.option("--profile", is_flag=True, help="Tell what each node takes, once all are timed.")
@output_option
@json_option
@click.option(
    "--csv",
    "csv_path",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="A row for each engine on each model.",
)
@click.option(
    "--standing",
    "standing_folder",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    metavar="DIR",
    help="Keep the rounds' medians, of this run or of --show FILE, in a small file of DIR that is "
    "named after the processor.",
)
@reference_option
@results_option
def bench(
    *,
    models_argument: tuple[str, ...],
    models: str | None,
    types: str,
    size: int | None,
    width: float,
    reading: ReadOptions,
    given: InputFiles,
    threads: str,
    device_name: str,
    mode: str,
    instance: str | None,
    hal: str | None,
    backends: str | None,
    fast_math: bool,
    relaxed: bool,
    peer_names: str | None,
    timing: Timing,
    sustained: float,
    gate: Gate,
    cool_down: float,
    words_a: str | None,
    words_b: str | None,
    compared: tuple[Path, Path] | None,
    shown: Path | None,
    baseline: Path | None,
    fail_above: float | None,
    clients: str | None,
    burn: int,
    cpus: str | None,
    same_core: bool,
    profile: bool,
    output_folder: Path | None,
    json_path: Path | None,
    csv_path: Path | None,
    standing_folder: Path | None,
    require_reference: bool,
    results_path: Path | None,
) -> None:
    """Times models on a device, or on this machine beside other engines."""
    terminal = Terminal()
    written = {
        "--json": json_path,
        "--csv": csv_path,
        "--results": results_path,
        "--output": output_folder,
        "--shape and --dim": reading.shapes,
        "--signature": reading.signature,
        "--member": reading.member,
        "--input": given,
        "--require-reference": require_reference,
    }
    if compared is not None:
        written["--standing"] = standing_folder
        _refuse(written, "is for what is measured, and --compare measures nothing")
        before, after = map(timed.read, compared)
        allowed = baselines.NOISE if fail_above is None else fail_above
        sys.exit(1 if baselines.judge(terminal, before, after, allowed) else 0)
    if shown is not None:
        _refuse(written, "is for what is measured, and --show measures nothing")
        document = timed.read(shown)
        if not isinstance(document, Bench):
            raise ConfigError(f"--show {shown}: halyard bench --json has not written it")
        show.show(terminal, document)
        print_not_compared(terminal, document.not_compared, len(document.results), "result")
        if standing_folder is not None:
            terminal.line(f"Kept in {standing.save(document, standing_folder)}.")
        return
    check_baseline(baseline, fail_above)
    earlier = timed.read(baseline) if baseline is not None else None
    chosen_hal = hal_version.one_version(hal)
    named = _models(models_argument, models)
    names = named or list(zoo.NAMES)
    there = list(map(str, DataType))
    data_types = [DataType(name) for name in lists.known(types, "--types", there)]
    counts = lists.numbers(threads, "--threads", 1, 64)
    client_counts = lists.numbers(clients, "--clients", 1, 32) if clients is not None else []
    cores = lists.numbers(cpus, "--cpus", 0, 1023) if cpus is not None else []
    cpu_cores.check(cores)
    config = config_of(device_name)
    asked = parse_backends(backends, known=config.kind != "adb")
    zoo.check(size, width)
    subjects = subjects_of(
        names, data_types, size, width, option="--models", options=reading, given=given
    )
    is_here = device_name == "host"
    if instance is not None and config.kind == "host":
        raise ConfigError("--instance needs a service, and so a device")
    if not is_here:
        here: dict[str, object] = {
            "--peers": peer_names,
            "--clients": clients,
            "--burn": burn,
            "--cpus": cpus,
            "--same-core": same_core,
            "--profile": profile,
            "--standing": standing_folder,
        }
        _refuse(here, "is for this machine: --device host")
    if (words_a is None) != (words_b is None):
        raise ConfigError("--a and --b go together: two take turns")
    if words_a is not None:
        lone: dict[str, object] = {
            "--peers": peer_names,
            "--clients": clients,
            "--burn": burn,
            "--same-core": same_core,
            "--profile": profile,
            "--relaxed": relaxed,
            "--standing": standing_folder,
            "--sustained": sustained,
            "--baseline": baseline,
            "--output": output_folder,
        }
        _refuse(lone, "does not go with --a and --b")
    if burn and standing_folder is not None:
        raise ConfigError("--standing is for what is measured without --burn")
    chosen = peers.usual(asked)
    if peer_names is not None:
        chosen = peers.named(",".join(lists.names(peer_names, "--peers")))
    for path in (json_path, csv_path):
        if path is not None:
            check_writable(path)
    types_asked = click.get_current_context().get_parameter_source(
        "types"
    ) is click.core.ParameterSource.COMMANDLINE and bool(named)
    if words_a is not None and words_b is not None:
        common = Spec(
            names[0],
            data_types[0],
            device_name,
            asked,
            counts[0],
            fast_math,
            mode,
            instance,
            hal=chosen_hal,
        )
        specs = [
            common.parse(words, option, list(EXECUTION_MODES))
            for option, words in (("--a", words_a), ("--b", words_b))
        ]
        chosen = []
    if same_core and 1 not in counts:
        raise ConfigError("--same-core is for one thread: --threads 1")
    if is_here and words_a is None:
        counts, left_out = cpu_cores.enough_for(counts, cores)
        if left_out:
            terminal.line(left_out)
    with open_shown(terminal, device_name, config) as device:
        if is_here and words_a is None:
            gpu.check(asked)
        site = site_of(device, config, mode, instance, chosen_hal)
        found = find_peers(terminal, chosen, peer_names is not None) if is_here else []
        print_conditions(terminal, device, conditions.read(device))
        with cpu_cores.pinned(cores), Burners(burn) as burners:
            has_peaks = is_here and words_a is None
            found_peaks = peaks.measure(terminal, counts) if has_peaks else peaks.none(counts)
            report = Report(
                found,
                found_peaks,
                asked,
                timing.runs,
                fast_math=fast_math,
                burners=burn,
                same_core=same_core,
                types_required=types_asked,
                site=site,
                properties=device.properties(),
            )
            try:
                if words_a is not None:
                    run = PairRun(
                        terminal,
                        site,
                        device_name,
                        timing.stretch,
                        timing.amount,
                        gate,
                        reading,
                        given,
                    )
                    run.measure(specs, size, width, report)
                else:
                    benchmark = Benchmark(
                        terminal=terminal,
                        peers=[entry.peer for entry in found if entry.available],
                        backends=asked,
                        runs=timing.runs,
                        least_s=timing.least_s,
                        most_s=timing.most_s,
                        warmup=timing.stretch,
                        versions={entry.peer.name: entry.version for entry in found},
                        fast_math=fast_math,
                        output_folder=output_folder,
                        relaxed=relaxed,
                        profile=profile,
                        clients=client_counts,
                        burners=burners,
                        same_core=machine.cores() if same_core else (),
                        site=site,
                        gate=gate,
                        sustained_s=sustained,
                    )
                    measure_all(terminal, benchmark, subjects, counts, report, cool_down)
                    if is_here:
                        peaks.measure_again(terminal, report)
                report.complete = True
            except KeyboardInterrupt:
                sys.exit(INTERRUPTED)
            finally:
                # Also of a run that is interrupted, or that something else ends.
                document = report.record()
                if report.complete or report.results:
                    keep(results_path, [document], device_name)
                    report.print_end(terminal)
                    total = len(report.results) + 2 * len(report.pairs)
                    print_not_compared(terminal, document.not_compared, total, "result")
                report.write(document, json_path, csv_path)
    if standing_folder is not None:
        terminal.line(f"Kept in {standing.save(document, standing_folder)}.")
    slower = False
    if earlier is not None:
        terminal.heading("Beside the baseline")
        slower = baselines.judge(terminal, earlier, document, fail_above)
    unsure = require_reference and bool(document.not_compared)
    if not report.ok or slower or unsure:
        sys.exit(1)


def _models(arguments: Sequence[str], option: str | None) -> list[str]:
    """None of them where none is named. What a settings file says of --models gives way to
    arguments."""
    if not arguments:
        return [] if option is None else lists.names(option, "--models")
    source = click.get_current_context().get_parameter_source("models")
    if source is click.core.ParameterSource.COMMANDLINE:
        raise ConfigError(f"--models {option}: the models are {', '.join(arguments)} already")
    return lists.distinct(list(arguments), "MODEL")


def _refuse(options: Mapping[str, object], reason: str) -> None:
    for option, value in options.items():
        if value:
            raise ConfigError(f"{option} {reason}")
