# SPDX-License-Identifier: Apache-2.0
"""A user's own defaults for options: what they change, and how they are refused."""

from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from halyard.cli import settings
from halyard.cli.group import DefaultGroup
from halyard.cli.program import cli
from halyard.errors import ConfigError

Load = Callable[[str], settings.Defaults]


@click.group()
def program() -> None:
    pass


@program.command()
@click.option("--device", default="host")
@click.option("-n", "--repeat", default=10, type=click.IntRange(1, 100))
@click.option("--mode", default="sync", type=click.Choice(["sync", "burst"]))
@click.option("-a", "--fast-math", "fast", is_flag=True)
@click.option("--threads", default="1")
@click.option("--tag", multiple=True)
def run(**values: object) -> None:
    click.echo(" ".join(f"{name}={value}" for name, value in sorted(values.items())))


@program.group()
def vm() -> None:
    pass


@vm.command()
@click.option("--device", default="vm")
@click.option("--memory", default=1024)
def start(device: str, memory: int) -> None:
    click.echo(f"{device} {memory}")


@program.group(cls=DefaultGroup, default="measure")
def bench() -> None:
    pass


@bench.command()
@click.option("--runs", default=50)
@click.option("--device", default="host")
def measure(runs: int, device: str) -> None:
    click.echo(f"{device} {runs}")


@bench.command()
@click.option("--runs", default=50)
@click.option("--words", default="")
def pair(runs: int, words: str) -> None:
    click.echo(f"{runs} {words}")


@pytest.fixture
def load(tmp_path: Path) -> Load:
    def load(text: str) -> settings.Defaults:
        path = tmp_path / "settings.yaml"
        path.write_text(text)
        return settings.load(path, program)

    return load


def output(defaults: settings.Defaults, *words: str) -> str:
    result = CliRunner().invoke(program, words, default_map=defaults)
    assert result.exit_code == 0, result.output
    return result.output.strip()


def test_a_file_changes_defaults_and_the_command_line_goes_before(load: Load) -> None:
    defaults = load("run:\n  device: vm\n  repeat: 7\n  fast-math: true\n  tag: [a, b]\n")
    assert output(defaults, "run") == (
        "device=vm fast=True mode=sync repeat=7 tag=('a', 'b') threads=1"
    )
    assert "repeat=9" in output(defaults, "run", "--repeat", "9")


def test_a_list_is_what_has_commas_between(load: Load) -> None:
    assert "threads=1,2,4" in output(load("run: {threads: [1, 2, 4]}"), "run")


def test_a_command_of_a_command_has_its_own(load: Load) -> None:
    assert output(load("vm:\n  start: {memory: 2048}\n"), "vm", "start") == "vm 2048"


def test_what_stands_in_a_group_is_for_its_unnamed_command(load: Load) -> None:
    defaults = load("bench: {runs: 7, pair: {words: x}}")
    assert output(defaults, "bench") == output(defaults, "bench", "measure") == "host 7"
    assert output(defaults, "bench", "pair") == "50 x"
    named = load("bench: {runs: 7, measure: {runs: 8}}")
    assert output(named, "bench") == "host 8"


def test_all_goes_to_commands_of_commands(load: Load) -> None:
    defaults = load("all: {runs: 3}\nbench: {pair: {runs: 4}}\n")
    assert output(defaults, "bench") == "host 3"
    assert output(defaults, "bench", "pair") == "4"
    assert output(load("all: {device: right}"), "vm", "start") == "right 1024"


def test_all_goes_to_every_command_that_has_the_option(load: Load) -> None:
    defaults = load("run: {device: left}\nall: {device: right, repeat: 3}\n")
    assert "device=left" in output(defaults, "run")
    assert "repeat=3" in output(defaults, "run")
    assert "device=right" in output(load("all: {device: right}"), "run")


def test_an_empty_file_changes_nothing(load: Load) -> None:
    assert load("") == {}
    assert load("# nothing yet\n") == {}


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("run:\n  repeet: 3\n", 2, "repeet is not an option of halyard run; did you mean repeat?"),
        ("runn:\n  repeat: 3\n", 1, "runn is not a command of program; did you mean run?"),
        ("xyz: {}\n", 1, "there are all, bench, run, vm"),
        ("run:\n  device: vm\n  repeat: many\n", 3, "repeat: 'many' is not a valid integer"),
        ("run:\n  repeat: 101\n", 2, "repeat: 101 is not in the range 1<=x<=100"),
        ("run:\n  mode: fast\n", 2, "mode: 'fast' is not one of 'sync', 'burst'"),
        ("run:\n  fast-math: 1\n", 2, "fast-math must be true or false"),
        ("run:\n  device: {a: b}\n", 2, "device must be a value"),
        ("run:\n  device: true\n", 2, "device must be a value"),
        ("run: 3\n", 1, "run must be a mapping"),
        ("- run\n", 1, "the file must be a mapping"),
        ("run:\n  repeat: 1\n  repeat: 2\n", 3, "repeat is there twice"),
        ("all:\n  devize: vm\n", 2, "devize is not an option of any command; did you mean device?"),
        ("bench:\n  rnus: 3\n", 2, "rnus is not a command of bench; did you mean runs?"),
        ("vm:\n  begin: {}\n", 2, "begin is not a command of vm"),
    ],
)
def test_what_is_wrong_is_told_by_its_line(load: Load, text: str, line: int, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(text)
    assert f"settings.yaml:{line}: " in str(caught.value)
    assert words in str(caught.value)


def test_what_is_no_yaml_is_told(load: Load, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"(?s)settings\.yaml: .*line 1"):
        load("run: [")
    with pytest.raises(ConfigError, match="nowhere"):
        settings.load(tmp_path / "nowhere", program)


def test_the_user_s_own_file_is_found_where_the_variable_names_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(settings.VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert settings.usual() is None
    (tmp_path / "halyard").mkdir()
    (tmp_path / "halyard/settings.yaml").write_text("run: {repeet: 1}")
    result = CliRunner().invoke(cli, ["run"])
    assert result.exit_code == 2
    assert "settings.yaml:1: repeet" in result.output
    (tmp_path / "other.yaml").write_text("run: {device: nosuch:thing:here}")
    result = CliRunner().invoke(cli, ["--settings", str(tmp_path / "other.yaml"), "run"])
    assert "nosuch" in result.output
