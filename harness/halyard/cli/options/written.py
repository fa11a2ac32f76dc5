# SPDX-License-Identifier: Apache-2.0
"""The files that a command writes of what came out: --json, --csv, --junit, --results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import click

from halyard.cli.options import results
from halyard.cli.options.filled import Decorator, filled
from halyard.cli.options.json import json_option
from halyard.cli.options.results import results_option
from halyard.output_file import check_writable
from halyard.records import Document

F = TypeVar("F", bound=Callable[..., None])

FILE = click.Path(dir_okay=False, path_type=Path)


@dataclass(frozen=True)
class WrittenFiles:
    """None: that one is not asked for. ConfigError where one can't be written, before any work."""

    json_path: Path | None = None
    csv_path: Path | None = None
    junit_path: Path | None = None
    results_path: Path | None = None

    def __post_init__(self) -> None:
        for path in (self.csv_path, self.junit_path):
            if path is not None:
                check_writable(path)

    def keep(self, documents: Sequence[Document], device: str = "") -> None:
        """In the file of --results."""
        results.keep(self.results_path, documents, device)


def csv_option(rows: str) -> Callable[[F], F]:
    return click.option("--csv", "csv_path", type=FILE, metavar="FILE", help=f"A row for {rows}.")


junit_option = click.option("--junit", "junit_path", type=FILE, metavar="FILE")


def written_options(*others: Decorator) -> Callable[[F], F]:
    """Adds --json, --results and the others. The command gets WrittenFiles as `written`."""
    return filled("written", WrittenFiles, json_option, *others, results_option)
