# SPDX-License-Identifier: Apache-2.0
"""The option --results: where commands keep what they found out, for halyard report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from halyard.records import Document
from halyard.store import Origin, Store, check


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
    """Adds them to the file; to none where none was asked for. `device` is its name on the command
    line, by which it is known again; of a YAML file that is the file's name."""
    if path is None or not documents:
        return
    name = Path(device).stem if device.endswith((".yaml", ".yml")) else device
    command = click.get_current_context().info_name or ""
    with Store.open(path) as store:
        store.add(*documents, origin=Origin(command, name))
