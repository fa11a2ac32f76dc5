# SPDX-License-Identifier: Apache-2.0
"""The harness's description of the driver's options is the programs' own."""

import json
import subprocess
from typing import Any

import click
import pytest

from halyard.cli.bench import pair as bench_pair
from halyard.cli.bench import run as bench_run
from halyard.cli.run import run
from halyard.devices import ServiceOptions
from halyard.programs import native
from halyard.programs.driver_options import DriverOptions

Rows = dict[str, dict[str, Any]]

ALL = DriverOptions(
    backends=["CpuAcc", "CpuRef"], threads=2, fast_math=True, unsupported=["ADD", 3]
)


def listed(program: str) -> Rows:
    done = subprocess.run(
        [native.program(program), "--list-options"], capture_output=True, text=True, check=True
    )
    return {row["name"]: row for row in json.loads(done.stdout)["options"]}


@pytest.fixture(scope="module")
def rows() -> Rows:
    return listed(native.RUNNER)


def test_service_and_runner_have_the_same(rows: Rows) -> None:
    assert listed("service") == rows


@pytest.mark.parametrize(
    "words",
    [
        ALL.words(),
        ServiceOptions(
            backends=ALL.backends, threads=2, fast_math=True, unsupported=ALL.unsupported
        ).command_line(),
    ],
    ids=["runner", "service"],
)
def test_what_is_said_is_listed(rows: Rows, words: list[str]) -> None:
    by_word = {f"--{name}": row for name, row in rows.items()}
    by_word |= {f"-{row['letter']}": row for row in rows.values() if "letter" in row}
    said = {}
    for number, word in enumerate(words):
        if row := by_word.get(word):
            said[row["name"]] = "" if row["kind"] == "flag" else words[number + 1]
    assert said == {
        "compute": "CpuAcc,CpuRef",
        "number-of-threads": "2",
        "enable-fast-math": "",
        "unsupported-operations": "ADD,3",
    }


@pytest.mark.parametrize("command", [run, bench_run, bench_pair], ids=["run", "bench", "pair"])
def test_a_command_s_letters_mean_what_they_mean_to_the_driver(
    rows: Rows, command: click.Command
) -> None:
    letters = {row["letter"]: name for name, row in rows.items() if "letter" in row}
    names = {letter: f"--{name}" for letter, name in letters.items()}
    names["c"] = "--backends"  # which the driver calls --compute, as Arm's does
    checked = 0
    for parameter in command.params:
        for word in parameter.opts:
            if len(word) == 2 and word[1] in letters:
                assert names[word[1]] in parameter.opts
                checked += 1
    assert checked >= 2


def test_the_most_threads_are_the_driver_s(rows: Rows) -> None:
    [threads] = [each for each in run.params if each.name == "threads"]
    assert isinstance(threads.type, click.IntRange)
    assert threads.type.max == rows["number-of-threads"]["most"]
