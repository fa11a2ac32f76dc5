# SPDX-License-Identifier: Apache-2.0
"""The command bench: our engine and its peers on the models of the zoo."""

import datetime
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from halyard import zoo
from halyard.bench import machine, peers
from halyard.bench.benchmark import Benchmark, PreparedFiles
from halyard.bench.results import ModelResult, Skipped
from halyard.bench.table import (
    print_left_out,
    print_model,
    print_nodes,
    print_peaks,
    print_peers,
    print_summary,
)
from halyard.cli_device import check_writable
from halyard.errors import ConfigError, HalyardError
from halyard.subject import Subject
from halyard.terminal import Terminal
from halyard.zoo import DataType

_TYPES = "float32,quant8_signed"


@click.command()
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
@click.option("--profile", is_flag=True, help="Tell what each node takes, once all are timed.")
@click.option(
    "--json", "json_path", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE"
)
def bench(
    *,
    models: str | None,
    types: str,
    size: int | None,
    width: float,
    threads: str,
    backends: str | None,
    peer_names: str | None,
    runs: int,
    profile: bool,
    json_path: Path | None,
) -> None:
    """Times models on this machine, beside other engines on the same weights."""
    names = _known(models, "--models", zoo.NAMES) if models is not None else list(zoo.NAMES)
    data_types = [DataType(name) for name in _known(types, "--types", list(map(str, DataType)))]
    counts = _thread_counts(threads)
    asked = _names(backends, "--backends") if backends is not None else []
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
    with terminal.step("Measuring the machine's peak"):
        peaks = machine.measure_peaks(counts)
    benchmark = Benchmark(
        terminal=terminal,
        peers=[entry.peer for entry in found if entry.available],
        backends=asked,
        runs=runs,
        versions={entry.peer.name: entry.version for entry in found},
        profile=profile,
    )
    results: list[ModelResult] = []
    skipped: list[Skipped] = []
    for name in names:
        for data_type in data_types:
            subject = Subject.of_zoo(name, data_type, size, width)
            try:
                with terminal.step(f"Building {subject}"):
                    files = PreparedFiles(subject, benchmark.peers)
            except ConfigError as error:
                skipped.append(Skipped(name, data_type, str(error)))
                terminal.detail(str(error))
                continue
            with files:
                for count in counts:
                    result = benchmark.measure(files, count)
                    print_model(terminal, result, peaks[count])
                    print_nodes(terminal, result, peaks[count])
                    results.append(result)
    with terminal.step("Measuring the machine's peak again"):
        peaks = {count: peaks[count].better(machine.measure_peak(count)) for count in counts}
    terminal.heading("The machine's peak")
    print_peaks(terminal, peaks)
    terminal.heading("Summary")
    print_summary(terminal, results, peaks)
    print_left_out(terminal, results)
    # What a peer can't do, or does wrong, is told and leaves it out: it is no fault of ours.
    failed = any(result.ours.failed for result in results)
    ok = bool(results) and not failed and not (types_asked and skipped)
    if json_path is not None:
        content = {
            "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "machine": {
                **machine.describe(),
                "peaks": [vars(peak) for peak in peaks.values()],
            },
            "backends": asked,
            "runs": runs,
            "peers": [
                {
                    "name": entry.peer.name,
                    "title": entry.peer.title,
                    "version": entry.version,
                    "missing": entry.reason,
                }
                for entry in found
            ],
            "ok": ok,
            "results": [result.as_json(peaks[result.threads]) for result in results],
            "skipped": [
                {"model": item.model, "type": str(item.data_type), "reason": item.reason}
                for item in skipped
            ],
        }
        _write_json(json_path, content)
    if not ok:
        sys.exit(1)


def _write_json(path: Path, content: dict[str, Any]) -> None:
    try:
        path.write_text(json.dumps(content, indent=2) + "\n")
    except OSError as error:
        raise HalyardError(f"{path}: {error.strerror}") from error


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


def _thread_counts(text: str) -> list[int]:
    names = _names(text, "--threads")
    for name in names:
        if not name.isascii() or not name.isdigit() or not 1 <= int(name) <= 64:
            raise ConfigError(f"--threads takes numbers from 1 to 64, not {name!r}")
    return [int(name) for name in names]
