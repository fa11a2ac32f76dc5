# SPDX-License-Identifier: Apache-2.0
"""The command bench compare: two runs of the benchmark, by a statistical test."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from halyard.bench import baseline, timed
from halyard.cli.group import examples
from halyard.cli.options.timing import fail_above_option
from halyard.terminal.console import Terminal

_FILE = click.Path(dir_okay=False, exists=True, path_type=Path)


@click.command(
    epilog=examples(
        "halyard bench compare before.json after.json",
        "halyard bench compare before.json after.json --fail-above 5%",
    )
)
@click.argument("before", type=_FILE)
@click.argument("after", type=_FILE)
@fail_above_option
def compare(*, before: Path, after: Path, fail_above: float | None) -> None:
    """Compares two files of bench run --json, or of run --json, the earlier one first.

    The exit code is 1 where ours is slower by more than 3 %, or --fail-above, and not by chance.
    """
    earlier, now = timed.read(before), timed.read(after)
    allowed = baseline.NOISE if fail_above is None else fail_above
    if baseline.judge(Terminal(), earlier, now, allowed):
        sys.exit(1)
