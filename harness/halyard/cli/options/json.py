# SPDX-License-Identifier: Apache-2.0
"""The option --json: what a command found out, for programs."""

from pathlib import Path

import click

from halyard import output_file, records
from halyard.output_file import STANDARD_OUTPUT, check_writable, standard_output_kept


def _checked(context: click.Context, _option: click.Parameter, path: Path | None) -> Path | None:
    if context.resilient_parsing:
        # A shell that completes the line: nothing is written.
        return path
    if path == STANDARD_OUTPUT:
        context.with_resource(standard_output_kept())
        return STANDARD_OUTPUT
    if path is not None:
        check_writable(path)
    return path


json_option = click.option(
    "--json",
    "json_path",
    type=click.Path(dir_okay=False, path_type=Path, allow_dash=True),
    callback=_checked,
    metavar="FILE",
    help="Write it into this file, too. -: to standard output, and all text to standard error.",
)


def write_json(path: Path | None, document: records.Document) -> None:
    """To the file that the option names, if it does."""
    if path is not None:
        output_file.write(path, records.encode(document))
