# SPDX-License-Identifier: Apache-2.0
"""The command save: a model of the zoo as a file."""

from pathlib import Path

import click

from halyard import output_file, zoo
from halyard.benchmark_model import BenchmarkModel
from halyard.cli.group import examples
from halyard.cli.options.json import json_option, write_json
from halyard.cli.options.model import DEFAULT, size_option, type_option, width_option
from halyard.model import DataType
from halyard.output_file import check_writable
from halyard.records.made import Saved
from halyard.terminal.console import Terminal, counted


@click.command(
    epilog=examples(
        "halyard save --model mobilenet_v2 --type quant8 model.pb",
        "halyard run model.pb --device vm",
    )
)
@click.option(
    "--model",
    default=DEFAULT,
    show_default=True,
    type=click.Choice(zoo.NAMES),
    metavar="NAME",
    help=f"Of {', '.join(zoo.NAMES)}.",
)
@type_option
@size_option
@width_option
@click.argument("path", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path))
@json_option
def save(
    *,
    model: str,
    type_name: str,
    size: int | None,
    width: float,
    path: Path,
    json_path: Path | None,
) -> None:
    """Writes a model of the zoo into FILE, as a serialised halyard.Model (halyard.proto)."""
    zoo.check(size, width)
    zoo.check_type(model, DataType(type_name))
    check_writable(path)
    terminal = Terminal()
    benchmark_model = BenchmarkModel.of_zoo(model, DataType(type_name), size, width)
    with terminal.step(f"Building {benchmark_model}"):
        data = benchmark_model.runnable.model.SerializeToString()
    output_file.write(path, data)
    terminal.line(f"{path}: {counted(len(data), 'byte')}; halyard run {path} runs it")
    write_json(json_path, Saved(model=benchmark_model.record(), file=str(path), bytes=len(data)))


COMMANDS = (save,)
