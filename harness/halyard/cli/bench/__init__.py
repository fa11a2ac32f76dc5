# SPDX-License-Identifier: Apache-2.0
"""The commands `halyard bench …`. Words that no subcommand begins are those of `bench run`."""

from __future__ import annotations

import click

from halyard.cli.bench.compare import compare
from halyard.cli.bench.operators import operators
from halyard.cli.bench.pair import pair
from halyard.cli.bench.run import run
from halyard.cli.bench.show import show
from halyard.cli.group import DefaultGroup, examples


@click.group(
    cls=DefaultGroup,
    default="run",
    spelled={"--operators": "operators"},
    epilog=examples(
        "halyard bench mobilenet_v2 --types quant8_signed --threads 1",
        "halyard bench pair resnet_50 --a backends=CpuRef --b backends=CpuAcc",
        "halyard bench compare before.json after.json",
        "halyard bench run --help    # options that bench itself takes",
    ),
)
def bench() -> None:
    """Times models on a device, or on this machine beside other engines.

    `run` may be left out: halyard bench mobilenet_v2 is halyard bench run mobilenet_v2. A file that
    is named as a subcommand is told from it by its folder, as in ./show.
    """


for _command in (run, compare, show, pair, operators):
    bench.add_command(_command)

COMMANDS = (bench,)
