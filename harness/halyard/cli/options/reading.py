# SPDX-License-Identifier: Apache-2.0
"""How a model is to be read, on the command line: shapes of its inputs, and which one of a file."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import click

from halyard.model.read_options import ReadOptions
from halyard.model.shapes import Shapes

Command = Callable[..., None]


def reading_options(function: Command) -> Command:
    """Adds --shape, --dim, --signature and --member; the command is handed what they say as
    `reading`, and with --dynamic what shapes are said several times as `several_shapes`."""

    @functools.wraps(function)
    def command(
        *,
        shape_words: Sequence[str],
        dim_words: Sequence[str],
        signature: str,
        member: str,
        **others: Any,
    ) -> None:
        if others.get("dynamic"):
            several = Shapes.several(shape_words, dim_words)
            others["several_shapes"] = several
            shapes = several[0]
        else:
            shapes = Shapes.parse(shape_words, dim_words)
        function(reading=ReadOptions(shapes, signature, member), **others)

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
    signature = click.option(
        "--signature",
        default="",
        metavar="NAME",
        help="Which of a .tflite file's signatures; left out: its first graph.",
    )
    member = click.option(
        "--member",
        default="",
        metavar="NAME",
        help="Which model of a .task file, as model.tflite or inner.task/model.tflite.",
    )
    return shape(dim(signature(member(command))))
