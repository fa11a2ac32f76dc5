# SPDX-License-Identifier: Apache-2.0
"""The command bench show: what a run of the benchmark found out, here or on another machine."""

from __future__ import annotations

from pathlib import Path

import click

from halyard.bench import show as tables
from halyard.bench import standing, timed
from halyard.cli.bench.options import standing_option
from halyard.cli.group import examples
from halyard.cli.options.reference import print_not_compared
from halyard.errors import ConfigError
from halyard.records.bench import Bench
from halyard.terminal.console import Terminal


@click.command(
    epilog=examples(
        "halyard bench show out.json",
        "halyard bench show out.json --standing benchmarks/results",
    )
)
@click.argument("file", type=click.Path(dir_okay=False, exists=True, path_type=Path))
@standing_option
def show(*, file: Path, standing_folder: Path | None) -> None:
    """Prints what a file of bench run --json says, and measures nothing."""
    terminal = Terminal()
    document = timed.read(file)
    if not isinstance(document, Bench):
        raise ConfigError(f"{file}: halyard bench --json has not written it")
    tables.show(terminal, document)
    print_not_compared(terminal, document.not_compared, len(document.results), "result")
    if standing_folder is not None:
        terminal.line(f"Kept in {standing.save(document, standing_folder)}.")
