# SPDX-License-Identifier: Apache-2.0
"""Options that commands of the benchmark share, and how what they measured is told in the end."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click

from halyard.bench.bench_report import Report
from halyard.cli.group import INTERRUPTED
from halyard.cli.options import completions, lists
from halyard.cli.options.device import RUNTIME_METAVAR
from halyard.cli.options.driver import (
    backends_option,
    fast_math_option,
    hal_option,
    instance_option,
    mode_option,
)
from halyard.cli.options.filled import filled
from halyard.cli.options.inputs import input_options
from halyard.cli.options.reading import reading_options
from halyard.cli.options.reference import print_not_compared
from halyard.cli.options.written import WrittenFiles
from halyard.model.input_files import SEEDED, InputFiles
from halyard.model.read_options import USUAL, ReadOptions
from halyard.terminal.console import Terminal
from halyard.transport import hal_version

device_option = click.option(
    "--device",
    "name",
    default="host",
    show_default=True,
    metavar=RUNTIME_METAVAR,
    shell_complete=completions.runtime_device,
    help="Where ours runs. Peers are on this machine, beside host alone, or LiteRT with ours "
    "inside.",
)

# The options of a DriverChoice of the benchmark, but for threads.
OURS = (
    mode_option("How ours is executed.", "sync"),
    instance_option("Use the service that is registered under this name, and start none."),
    hal_option(f"How ours is reached. {hal_version.NEWEST}", hal_version.METAVAR_OF_ONE),
    backends_option(
        "Ours, in order of preference. If none of them runs a node, that is a failure."
    ),
    fast_math_option("Let ours compute with rougher results that are faster."),
)


@dataclass(frozen=True)
class Form:
    """How models are built and read, and what they are executed with."""

    size: int | None = None
    width: float = 1.0
    reading: ReadOptions = USUAL
    given: InputFiles = SEEDED


# The command gets a Form as `form`.
form_options = filled(
    "form",
    Form,
    click.option(
        "--size",
        type=int,
        help="Of images, in pixels, or sequences, in steps. Left out: as published.",
    ),
    click.option("--width", default=1.0, show_default=True, help="Of the layers, as a factor."),
    reading_options,
    input_options,
)


def _cores(context: click.Context, _option: click.Parameter, text: str | None) -> list[int]:
    if context.resilient_parsing or text is None:
        return []
    return lists.numbers(text, "--cpus", 0, 1023)


cores_option = click.option(
    "--cpus",
    "cores",
    metavar="LIST",
    callback=_cores,
    help="The cores that all engines, and what burns, have; 0,1 for instance. Left out: all.",
)

standing_option = click.option(
    "--standing",
    "standing_folder",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    metavar="DIR",
    help="Keep the rounds' medians in a small file of DIR that is named after the processor.",
)


@contextmanager
def told(terminal: Terminal, report: Report, written: WrittenFiles, device: str) -> Iterator[None]:
    """Keeps, prints and writes what was measured, also of a run that is interrupted, which exits,
    or that something else ends."""
    try:
        yield
        report.complete = True
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    finally:
        document = report.record()
        if report.complete or report.results:
            written.keep([document], device)
            report.print_end(terminal)
            total = len(report.results) + 2 * len(report.pairs)
            print_not_compared(terminal, document.not_compared, total, "result")
        report.write(document, written.json_path, written.csv_path)
