# SPDX-License-Identifier: Apache-2.0
"""Options of commands that run conformance cases: which of them, how many at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import click

from halyard.cases.case import Case
from halyard.cli.options.filled import filled
from halyard.conformance.collection import collect
from halyard.conformance.run import SECONDS_PER_CASE, RunSettings
from halyard.errors import ConfigError

F = TypeVar("F", bound=Callable[..., None])

_EXISTING = click.Path(exists=True, path_type=Path)


@dataclass(frozen=True)
class CaseFiles:
    """Files and folders, each with cases of golden data or of specs."""

    files: Sequence[Path] = ()
    goldens: Sequence[Path] = ()
    specs: Sequence[Path] = ()

    def __bool__(self) -> bool:
        return bool(self.files or self.goldens or self.specs)

    def check(self) -> None:
        if not self:
            raise ConfigError("name cases: FILEs, --goldens or --specs")

    def cases(self, problems: list[str], *, derived: bool) -> list[Case]:
        """`problems` grows by what could not be read."""
        return collect(
            self.goldens, self.specs, derived=derived, rest=self.files, problems=problems
        )


def case_options(goldens: str = "Golden cases: a folder or a file.") -> Callable[[F], F]:
    """The command gets CaseFiles as `files`."""
    return filled(
        "files",
        CaseFiles,
        click.argument("files", nargs=-1, type=_EXISTING, metavar="[FILE]..."),
        click.option("--goldens", multiple=True, type=_EXISTING, help=goldens),
        click.option("--specs", multiple=True, type=_EXISTING, help="Specs: a folder or a file."),
    )


def pace_options(jobs: str, counted: str) -> Callable[[F], F]:
    """The command gets RunSettings as `settings`. `counted`: of what a timeout is."""
    return filled(
        "settings",
        RunSettings,
        click.option("--jobs", default=0, type=click.IntRange(0, 256), help=jobs),
        click.option(
            "--timeout",
            "seconds_per_case",
            default=SECONDS_PER_CASE,
            show_default=True,
            type=click.FloatRange(0.001, 3600),
            help=f"Seconds after which a {counted} counts as hung.",
        ),
    )
