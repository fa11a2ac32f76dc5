# SPDX-License-Identifier: Apache-2.0
"""Inputs and outputs of a model on the command line."""

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from halyard.cli.options import completions
from halyard.errors import ConfigError
from halyard.model.input_files import InputFiles
from halyard.model.pixels import Layout, Pixels
from halyard.output_file import check_writable

Command = Callable[..., None]


def input_options(function: Command) -> Command:
    """Adds --input and what belongs to it; the command is handed what they say as `given`, and
    with --dynamic what is there several times as `several_given`."""

    @functools.wraps(function)
    def command(
        *,
        input_words: Sequence[str],
        layout: str | None,
        mean: str | None,
        scale: str | None,
        **others: Any,
    ) -> None:
        pixels = Pixels(
            Layout(layout) if layout else None, _numbers("--mean", mean), _numbers("--scale", scale)
        )
        given = InputFiles(tuple(input_words), pixels)
        given.check()
        if others.get("dynamic"):
            others["several_given"] = given.several()
        function(given=given, **others)

    for option in (
        click.option(
            "--scale",
            "scale",
            metavar="X[,X,X]",
            help="What (pixel - mean) is multiplied with, of all channels or of each.  [default of "
            "floats: 1/128; with --mean: 1]",
        ),
        click.option(
            "--mean",
            metavar="X[,X,X]",
            help="What is taken from each pixel, 0 to 255.  [default of floats: 128; with --scale: "
            "0]",
        ),
        click.option(
            "--layout",
            type=click.Choice([str(each) for each in Layout]),
            help="Of an input that is given as an image. Left out: as its shape says.",
        ),
        click.option(
            "--input",
            "input_words",
            multiple=True,
            metavar="[NAME=]FILE",
            shell_complete=completions.input_file,
            help="An input's value: .npy, an image (.png, .jpg), or raw bytes; .npz has several by "
            "their names. Without names in the model's order. Left out: what the seed gives.",
        ),
    ):
        command = option(command)
    return command


def output_option(function: Command) -> Command:
    """Adds --output; the command is handed a folder that is there as `output_folder`."""
    return click.option(
        "--output",
        "output_folder",
        type=click.Path(file_okay=False, path_type=Path),
        metavar="DIR",
        callback=_made,
        help="Folder for outputs as .npz, an array under each output's name, and for the inputs.",
    )(function)


def _made(_context: click.Context, _parameter: click.Parameter, path: Path | None) -> Path | None:
    """Before work is done whose result goes there."""
    if path is not None:
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"--output {path}: {error.strerror or error}") from error
        check_writable(path / "outputs.npz")
    return path


def _numbers(option: str, text: str | None) -> tuple[float, ...]:
    if text is None:
        return ()
    try:
        numbers = tuple(_number(each) for each in text.split(","))
    except ValueError as error:
        raise ConfigError(f"{option} {text}: these are no numbers with commas between") from error
    return numbers


def _number(text: str) -> float:
    """1/255 is one, too."""
    above, slash, below = text.partition("/")
    value = float(above) / float(below) if slash and float(below) else float(text)
    if not abs(value) < float("inf"):
        raise ValueError(text)
    return value
