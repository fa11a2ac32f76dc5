# SPDX-License-Identifier: Apache-2.0
"""The option --results: where commands keep what they found out, for halyard report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from halyard.records import Document
from halyard.store import Origin, Store, check
from halyard.store.facts import named


def _checked(_context: click.Context, _option: click.Parameter, path: Path | None) -> Path | None:
    if path is not None:
        check(path)
    return path


results_option = click.option(
    "--results",
    "results_path",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=_checked,
    metavar="FILE",
    help="Add what came out to this SQLite file, too; halyard report shows it.",
)


def keep(path: Path | None, documents: Sequence[Document], device: str = "") -> None:
    """Adds them to the file; to none where none was asked for. Before anything is printed of them,
    or written: that may fail, and what was found out may have taken long. `device` is its name on
    the command line, by which it is known again. The origin of what a command of a group found is
    the group."""
    if path is None or not documents:
        return
    context = click.get_current_context()
    while context.parent is not None and context.parent.parent is not None:
        context = context.parent
    command = context.info_name or ""
    with Store.open(path) as store:
        store.add(*documents, origin=Origin(command, named(device)))
