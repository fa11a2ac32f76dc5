# SPDX-License-Identifier: Apache-2.0
"""The command bench operators: single operators at the shapes that real models have."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from halyard.bench import operators as single
from halyard.bench.benchmark import Benchmark
from halyard.bench.series import find_peers
from halyard.cli.group import examples
from halyard.cli.options.driver import backends_option
from halyard.cli.options.json import json_option, write_json
from halyard.engines import peers
from halyard.errors import ConfigError
from halyard.programs.backends import parse as parse_backends
from halyard.records.operators import Operator
from halyard.terminal.console import Terminal
from halyard.timing import machine


@click.command(
    epilog=examples(
        "halyard bench operators --operation TRANSPOSE",
        "halyard bench operators --operation PAD,MIRROR_PAD --json out.json",
    )
)
@click.option(
    "--operation",
    "names",
    metavar="LIST",
    help="NNAPI's names, with commas between. Left out: all that real models have.",
)
@click.option(
    "--most",
    default=single.MOST_OF_A_KIND,
    show_default=True,
    type=click.IntRange(1),
    help="So many of a kind and type, those first that take the longest.",
)
@click.option(
    "--threads",
    default=1,
    show_default=True,
    type=click.IntRange(1, 64),
    help="Of ours and of each peer.",
)
@click.option(
    "--runs",
    default=30,
    show_default=True,
    type=click.IntRange(1, 100_000),
    help="Executions of each that count.",
)
@click.option(
    "--peers",
    "peer_names",
    default="litert,onnxruntime",
    show_default=True,
    metavar="LIST",
    help="Those that are installed of these.",
)
@backends_option("Ours, in order of preference.")
@json_option
def operators(
    *,
    names: str | None,
    most: int,
    threads: int,
    runs: int,
    peer_names: str,
    backends: str | None,
    json_path: Path | None,
) -> None:
    """Times single operators at the shapes that real models have, beside the peers.

    The worst ratio to the fastest peer comes first. With one thread all engines have the same core
    in a round.
    """
    chosen = _chosen(names, most)
    terminal = Terminal()
    found = find_peers(terminal, peers.named(peer_names), required=False)
    versions = {each.peer.name: each.version for each in found if each.available}
    benchmark = Benchmark(
        terminal=terminal,
        peers=[each.peer for each in found if each.available],
        backends=parse_backends(backends) if backends is not None else (),
        runs=runs,
        most_s=2.0,
        versions=versions,
        same_core=machine.cores() if threads == 1 else (),
    )
    document = single.record(single.measure(benchmark, chosen, threads), versions, threads)
    terminal.heading("Operators")
    single.show(terminal, document)
    write_json(json_path, document)
    if any(each.median_ms is None for each in document.operators):
        sys.exit(1)


def _chosen(names: str | None, most: int) -> list[Operator]:
    """ConfigError for a name that no real model has."""
    listed = single.read()
    known = sorted({each.operation for each in listed})
    wanted = known if names is None else [name.strip().upper() for name in names.split(",")]
    if strange := [name for name in wanted if name not in known]:
        raise ConfigError(
            f"--operation: no real model has {', '.join(strange)}; there are {', '.join(known)}"
        )
    return single.heaviest([each for each in listed if each.operation in wanted], most)
