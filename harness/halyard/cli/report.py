# SPDX-License-Identifier: Apache-2.0
"""The command report: a page of what a file of results has."""

from __future__ import annotations

import datetime
import re
from pathlib import Path

import click

from halyard import output_file
from halyard.cli.group import examples
from halyard.cli.options import completions
from halyard.cli.options.json import json_option, write_json
from halyard.errors import ConfigError, HalyardError, PackageMissing
from halyard.html.results_page import plots_of, sections_of, written
from halyard.output_file import check_writable
from halyard.plots.plot import Plot, matplotlib
from halyard.records.made import Page
from halyard.store import Results
from halyard.terminal.console import Terminal


@click.command(
    epilog=examples(
        "halyard run --model mobilenet_v2 --device vm --results results.db",
        "halyard report results.db",
        "halyard report results.db -o page.html --png slides --device vm --since 7d",
        "halyard report lab1.db lab2.db -o both.html",
    )
)
@click.argument(
    "paths",
    metavar="FILE...",
    nargs=-1,
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Where the page goes. Left out: beside the first FILE, as .html.",
)
@click.option(
    "--png",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Also write each plot as a PNG, into this folder.",
)
@click.option(
    "--device",
    "devices",
    multiple=True,
    metavar="NAME",
    shell_complete=completions.device,
    help="Only this device's results; may be given several times.",
)
@click.option(
    "--since",
    metavar="DATE|DAYS",
    help="Only results since then: 2026-11-24, or 7d for the last seven days.",
)
@click.option("--no-plots", is_flag=True, help="Leave plots out, which take matplotlib.")
@json_option
def report(
    *,
    paths: tuple[Path, ...],
    output: Path | None,
    folder: Path | None,
    devices: tuple[str, ...],
    since: str | None,
    no_plots: bool,
    json_path: Path | None,
) -> None:
    """Makes a page of the results that other commands have kept in FILE (--results FILE).

    The page is one file, which needs no network and no other file. Of several FILEs it shows all
    together; where they come from several machines, a device is named with its machine.
    """
    if no_plots and folder is not None:
        raise ConfigError("--png writes plots, and --no-plots leaves them out")
    page = output or paths[0].with_suffix(".html")
    begin = _since(since)
    whole = [path.resolve() for path in paths]
    for path, real in zip(paths, whole, strict=True):
        if whole.count(real) > 1:
            raise ConfigError(f"{path} is there twice")
    if page.resolve() in whole:
        raise ConfigError(f"{page} is the file of results: name another one with -o")
    terminal = Terminal()
    if not no_plots:
        _check_plots()
    with Results(paths, devices, begin) as results:
        check_writable(page)
        sections = sections_of(results)
        plots = plots_of(sections)
        with terminal.step("Making the page") as step:
            content = written(results, sections, plots=not no_plots)
            output_file.write(page, content)
            step.outcome = f"{len(content) / 1024:.0f} KiB"
    drawn: list[Path] = []
    if folder is not None:
        with terminal.step("Drawing plots") as step:
            drawn = _write_plots(folder, plots)
            step.outcome = f"{len(plots)} in {folder}"
    terminal.line(f"report: {page}")
    document = Page(file=str(page), bytes=len(content), plots=list(map(str, drawn)))
    write_json(json_path, document)


def _check_plots() -> None:
    try:
        matplotlib()
    except PackageMissing as error:
        raise PackageMissing(f"{error}; --no-plots makes a page without them") from error


def _write_plots(folder: Path, plots: list[Plot]) -> list[Path]:
    """Their files."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HalyardError(f"{folder}: {error.strerror or error}") from error
    files = [folder / f"{plot.name}.png" for plot in plots]
    for file, plot in zip(files, plots, strict=True):
        output_file.write(file, plot.png())
    return files


def _since(text: str | None) -> str:
    """In ISO 8601, as far as it is told, which sorts as times do."""
    if text is None:
        return ""
    if days := re.fullmatch(r"(\d{1,5})d", text):
        begin = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=int(days[1]))
        return begin.isoformat(timespec="seconds")
    try:
        found = datetime.datetime.fromisoformat(text)
    except ValueError as error:
        raise ConfigError(f"--since {text}: give a date as 2026-11-24, or days as 7d") from error
    # Without a time zone it is UTC, as all times of the file are.
    aware = found.replace(tzinfo=datetime.UTC) if found.tzinfo is None else found
    return aware.astimezone(datetime.UTC).isoformat(timespec="seconds")


COMMANDS = (report,)
