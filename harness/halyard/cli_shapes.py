# SPDX-License-Identifier: Apache-2.0
"""Shapes of inputs on the command line."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import click

from halyard.model.shapes import Shapes

Command = Callable[..., None]


def shape_options(function: Command) -> Command:
    """Adds --shape and --dim; the command is handed what they say as `shapes`, and with --dynamic
    what they say several times as `several_shapes`."""

    @functools.wraps(function)
    def command(*, shape_words: Sequence[str], dim_words: Sequence[str], **others: Any) -> None:
        if others.get("dynamic"):
            several = Shapes.several(shape_words, dim_words)
            function(shapes=several[0], several_shapes=several, **others)
        else:
            function(shapes=Shapes.parse(shape_words, dim_words), **others)

    shape = click.option(
        "--shape",
        "shape_words",
        multiple=True,
        metavar="[NAME=]EXTENTS",
        help="Of an input that a file leaves open, or a .tflite file's input of another size; "
        "without its name where there is one. Several times for several.",
    )
    dim = click.option(
        "--dim",
        "dim_words",
        multiple=True,
        metavar="NAME=EXTENT",
        help="Of dimensions that a file leaves open, by their names, with commas between.",
    )
    return shape(dim(command))
