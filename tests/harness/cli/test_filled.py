# SPDX-License-Identifier: Apache-2.0
"""Options that become a dataclass, and how long the functions of commands are."""

import ast
from dataclasses import dataclass
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import halyard.cli
from halyard.cli.group import DefaultGroup
from halyard.cli.options.filled import filled
from halyard.cli.program import cli

_SOURCES = sorted(Path(halyard.cli.__file__).parent.rglob("*.py"))
_MOST_LINES = 60
_MOST_PARAMETERS = 8


@dataclass(frozen=True)
class Inner:
    low: int
    high: int = 9


@dataclass(frozen=True)
class Outer:
    name: str
    inner: Inner
    unsaid: str = "as by default"

    def __post_init__(self) -> None:
        if self.name == "bad":
            raise click.UsageError("a bad name")


@click.command()
@filled(
    "outer",
    Outer,
    click.option("--name", default="x"),
    filled("inner", Inner, click.option("--low", type=int, default=1)),
)
@click.option("--beside", is_flag=True)
def command(*, outer: Outer, beside: bool) -> None:
    """Prints what it is given."""
    click.echo(f"{outer} {beside}")


def test_options_fill_a_dataclass_and_one_inside_it() -> None:
    done = CliRunner().invoke(command, ["--low", "3", "--beside"])
    made = Outer("x", Inner(3, 9), "as by default")
    assert done.output == f"{made} True\n"


def test_what_a_dataclass_refuses_is_a_wrong_command() -> None:
    done = CliRunner().invoke(command, ["--name", "bad"])
    assert (done.exit_code, "a bad name" in done.output) == (2, True)


def test_options_stand_in_the_help_in_their_order() -> None:
    text = CliRunner().invoke(command, ["--help"]).output
    places = [text.index(option) for option in ("--name", "--low", "--beside")]
    assert places == sorted(places)


def test_a_command_that_needs_no_name_takes_what_begins_with_none() -> None:
    @click.group(cls=DefaultGroup, default="run")
    def group() -> None:
        pass

    @group.command()
    @click.argument("words", nargs=-1)
    @click.option("--count", default=1)
    def run(words: tuple[str, ...], count: int) -> None:
        click.echo(f"run {words} {count}")

    @group.command()
    def other() -> None:
        click.echo("other")

    def output(*words: str) -> str:
        return CliRunner().invoke(group, words).output

    assert output() == "run () 1\n"
    assert output("a", "other") == output("run", "a", "other") == "run ('a', 'other') 1\n"
    assert output("--count", "2", "a") == "run ('a',) 2\n"
    assert output("other") == "other\n"
    assert "Commands:" in output("--help")


def functions() -> list[tuple[str, ast.FunctionDef]]:
    return [
        (f"{path.stem}.{node.name}", node)
        for path in _SOURCES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef)
    ]


def test_no_function_of_a_command_is_long() -> None:
    long = {
        name: lines
        for name, node in functions()
        if (lines := (node.end_lineno or 0) - node.lineno + 1) > _MOST_LINES
    }
    assert long == {}


def test_no_function_of_a_command_takes_many_parameters() -> None:
    many = {
        name: count
        for name, node in functions()
        if (count := len(node.args.posonlyargs + node.args.args + node.args.kwonlyargs))
        > _MOST_PARAMETERS
    }
    assert many == {}


@pytest.mark.parametrize("name", ["run", "bench", "devices", "vm"])
def test_commands_are_found_in_the_modules_that_have_them(name: str) -> None:
    assert name in cli.commands


def test_every_module_of_the_package_is_under_the_limits() -> None:
    """So that a folder that is left out is noticed."""
    assert {"run", "pair", "timing", "program"} <= {path.stem for path in _SOURCES}
