# SPDX-License-Identifier: Apache-2.0
"""The option --json of commands that list what there is."""

from pathlib import Path

import click

from halyard import output_file, records
from halyard.output_file import check_writable


def _checked(_context: click.Context, _option: click.Parameter, path: Path | None) -> Path | None:
    if path is not None:
        check_writable(path)
    return path


json_option = click.option(
    "--json",
    "json_path",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=_checked,
    metavar="FILE",
    help="Write it into this file, too.",
)


def write_json(path: Path | None, document: records.Document) -> None:
    """To the file that the option names, if it does."""
    if path is not None:
        output_file.write(path, records.encode(document))
