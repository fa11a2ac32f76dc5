# SPDX-License-Identifier: Apache-2.0
"""The command bench: our engine and its peers on the models of the zoo."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from halyard import machine, zoo
from halyard.backends import parse as parse_backends
from halyard.bench.benchmark import Benchmark
from halyard.bench.burners import Burners
from halyard.bench.report import Report
from halyard.bench.results import Skipped
from halyard.bench.table import print_clients, print_model, print_nodes, print_peers
from halyard.cli_group import INTERRUPTED, examples
from halyard.cli_results import keep, results_option
from halyard.engines import peers
from halyard.engines.workload import Workload
from halyard.errors import ConfigError
from halyard.model import DataType
from halyard.output_file import check_writable
from halyard.subject import Subject
from halyard.terminal import Terminal

_TYPES = "float32,quant8_signed"


@click.command(
    epilog=examples(
        "halyard bench --models mobilenet_v2 --types quant8_signed --threads 1",
        "halyard bench --models mobilenet_v1,resnet_50 --peers litert --json out.json",
        "halyard bench --models mobilenet_v2 --clients 1,4 --profile",
    )
)
@click.option(
    "--models",
    metavar="LIST",
    help=f"Of the zoo, with commas between: {', '.join(zoo.NAMES)}. Left out: all.",
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
@click.option("--threads", default="1,2", show_default=True, metavar="LIST")
@click.option(
    "-c",
    "--backends",
    metavar="NAMES",
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
    "--peers",
    "peer_names",
    metavar="LIST",
    help=f"Of {', '.join(peer.name for peer in peers.PEERS)}. Left out: those that are installed.",
)
@click.option(
    "--runs",
    default=50,
    show_default=True,
    type=click.IntRange(1, 100_000),
    help="Executions of each engine that count. Slow engines get fewer.",
)
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
@click.option("--profile", is_flag=True, help="Tell what each node takes, once all are timed.")
@click.option(
    "--json", "json_path", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE"
)
@results_option
def bench(
    *,
    models: str | None,
    types: str,
    size: int | None,
    width: float,
    threads: str,
    backends: str | None,
    fast_math: bool,
    peer_names: str | None,
    runs: int,
    clients: str | None,
    burn: int,
    cpus: str | None,
    profile: bool,
    json_path: Path | None,
    results_path: Path | None,
) -> None:
    """Times models on this machine, beside other engines on the same weights."""
    names = _known(models, "--models", zoo.NAMES) if models is not None else list(zoo.NAMES)
    data_types = [DataType(name) for name in _known(types, "--types", list(map(str, DataType)))]
    counts = _numbers(threads, "--threads", 1, 64)
    client_counts = _numbers(clients, "--clients", 1, 32) if clients is not None else []
    cores = _numbers(cpus, "--cpus", 0, 1023) if cpus is not None else []
    _check_cores(cores)
    asked = parse_backends(backends)
    zoo.check(size, width)
    chosen = list(peers.PEERS)
    if peer_names is not None:
        by_name = {peer.name: peer for peer in peers.PEERS}
        chosen = [by_name[name] for name in _known(peer_names, "--peers", list(by_name))]
    if json_path is not None:
        check_writable(json_path)
    context = click.get_current_context()
    types_asked = (
        context.get_parameter_source("types") is click.core.ParameterSource.COMMANDLINE
        and models is not None
    )
    terminal = Terminal()
    with terminal.step("Looking for peers"):
        found = peers.find(chosen, required=peer_names is not None)
    print_peers(terminal, found)
    with _pinned(cores), Burners(burn) as burners:
        with terminal.step("Measuring the machine's peak"):
            peaks = machine.measure_peaks(counts)
        report = Report(
            found,
            peaks,
            asked,
            runs,
            fast_math=fast_math,
            burners=burn,
            types_required=types_asked,
        )
        benchmark = Benchmark(
            terminal=terminal,
            peers=[entry.peer for entry in found if entry.available],
            backends=asked,
            runs=runs,
            versions={entry.peer.name: entry.version for entry in found},
            fast_math=fast_math,
            profile=profile,
            clients=client_counts,
            burners=burners,
        )
        subjects = [
            Subject.of_zoo(name, data_type, size, width)
            for name in names
            for data_type in data_types
        ]
        try:
            _measure(terminal, benchmark, subjects, counts, report)
        except KeyboardInterrupt:
            sys.exit(INTERRUPTED)
        finally:
            # Also of a run that is interrupted, or that something else ends.
            if report.complete or report.results:
                report.print_end(terminal)
            if json_path is not None:
                report.write(json_path)
            if report.complete or report.results:
                keep(results_path, [report.record()], "host")
    if not report.ok:
        sys.exit(1)


def _measure(
    terminal: Terminal,
    benchmark: Benchmark,
    subjects: Sequence[Subject],
    counts: Sequence[int],
    report: Report,
) -> None:
    for subject in subjects:
        try:
            with terminal.step(f"Building {subject}"):
                work = Workload.seeded(subject.runnable, subject.seed, str(subject))
        except ConfigError as error:
            report.skipped.append(Skipped(subject.name, subject.data_type, str(error)))
            terminal.detail(str(error))
            continue
        with work:
            for count in counts:
                result = benchmark.measure(subject, work, count, report.results)
                print_model(terminal, result, report.peaks[count])
                print_clients(terminal, result)
                print_nodes(terminal, result, report.peaks[count])
    with terminal.step("Measuring the machine's peak again"):
        for count in counts:
            report.peaks[count] = report.peaks[count].better(machine.measure_peak(count))
    report.complete = True


def _check_cores(cores: Sequence[int]) -> None:
    there = os.sched_getaffinity(0)
    if not set(cores) <= there:
        named = ",".join(map(str, sorted(there)))
        raise ConfigError(f"--cpus names a core that is not to be had; there are {named}")


@contextmanager
def _pinned(cores: Sequence[int]) -> Iterator[None]:
    """All that is started meanwhile has these cores; none: those that there are."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores or before)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _names(text: str, option: str) -> list[str]:
    names = [item.strip() for item in text.split(",")]
    if not all(names):
        raise ConfigError(f"{option} has an empty name")
    if len(set(names)) != len(names):
        raise ConfigError(f"{option} names something twice")
    return names


def _known(text: str, option: str, known: Sequence[str]) -> list[str]:
    names = _names(text, option)
    for name in names:
        if name not in known:
            raise ConfigError(f"{option}: no {name!r}, there are {', '.join(known)}")
    return names


def _numbers(text: str, option: str, low: int, high: int) -> list[int]:
    names = _names(text, option)
    for name in names:
        if not name.isascii() or not name.isdigit() or not low <= int(name) <= high:
            raise ConfigError(f"{option} takes numbers from {low} to {high}, not {name!r}")
    return [int(name) for name in names]
