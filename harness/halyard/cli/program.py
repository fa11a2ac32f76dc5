# SPDX-License-Identifier: Apache-2.0
"""The command `halyard`. Exit codes: 0 all went well, 1 something failed, 2 a wrong command."""

import importlib
import io
import logging
import pkgutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from halyard import cli as package
from halyard.cli import settings
from halyard.cli.group import Program, examples, flush
from halyard.terminal.console import printable

_EPILOG = (
    examples(
        "halyard devices",
        "halyard run --model mobilenet_v2 --type quant8",
        "halyard run --device vm --hal 1.0..1.3",
        "halyard conformance my_op.mod.py",
    )
    + "\n\nEach command has a --help with examples. Exit codes: 0 all went well, 1 something "
    "failed, 2 a wrong command, 130 and 143 ended by Ctrl-C and SIGTERM."
)


class _LogFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


@click.group(cls=Program, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="halyard")
@click.option("-v", "--verbose", is_flag=True, help="Log what is done.")
@click.option(
    "--settings",
    "settings_path",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    envvar=settings.VARIABLE,
    metavar="FILE",
    help="YAML with defaults of your own for options: run: {device: vm}. Left out: "
    f"${settings.VARIABLE}, or ~/.config/halyard/settings.yaml.",
)
@click.pass_context
def cli(context: click.Context, *, verbose: bool, settings_path: Path | None) -> None:
    """Deploys, proves and measures the Halyard NNAPI driver."""
    if (path := settings_path or settings.usual()) is not None:
        context.default_map = settings.load(path, cli)
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING)
    for handler in logging.getLogger().handlers:
        handler.setFormatter(_LogFormatter("%(name)s: %(message)s"))


def _commands() -> Iterator[click.Command]:
    """Of each module beside this one that has some."""
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        if module.name != __name__:
            yield from getattr(importlib.import_module(module.name), "COMMANDS", ())


for _command in _commands():
    cli.add_command(_command)


def main() -> None:
    # So that what was started is ended and what was made is removed.
    for ending in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(ending) is not signal.SIG_IGN:
            signal.signal(ending, lambda number, _: sys.exit(128 + number))
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for stream in (sys.stdout, sys.stderr):
        # A name that is no UTF-8, or an output that can't show all, ends no command.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        cli()
    except SystemExit as end:
        # Output that got lost is a failure, unless something worse is told already.
        sys.exit(end.code if flush() or end.code else 1)
