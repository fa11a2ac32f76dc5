# SPDX-License-Identifier: Apache-2.0
"""A result without a reference to be compared with is no success: run, bench and compare count it
and say why, in words and in JSON, and --require-reference makes it an exit code."""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from halyard.cli.program import cli
from halyard.comparison import reference as references
from halyard.engines.litert import MISSING
from halyard.timing import machine
from halyard.timing.machine import Peak
from tests.harness.onnx_models import Graph

pytest.importorskip("onnxruntime")

SMALL = ["small_classifier", "--size", "16", "--width", "0.35"]
RUN = ["run", *SMALL, "--repeat", "1"]
BENCH = ["bench", *SMALL, "--types", "float32", "--threads", "1", "--runs", "2"]
BENCH += ["--peers", "onnxruntime"]
PAIR = ["bench", "pair", *SMALL, "--runs", "2", "--a", "backends=CpuRef", "--b", "backends=CpuAcc"]
COMPARE = ["compare", "CpuRef", "CpuAcc", *SMALL, "--layers"]
REQUIRED = "--require-reference"


@pytest.fixture(autouse=True)
def no_peak(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "measure_peak", lambda threads: Peak(threads, "", 0, "", 0, 0, 0))


@pytest.fixture
def no_litert(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """References are kept, and this one is not to be."""
    monkeypatch.setitem(sys.modules, "ai_edge_litert", None)
    references.reference.cache_clear()
    yield
    references.reference.cache_clear()


def invoked(*words: str) -> Result:
    return CliRunner().invoke(cli, words)


def said(folder: Path, *words: str) -> Any:
    path = folder / "said.json"
    invoked(*words, "--json", str(path))
    return json.loads(path.read_text())


def marks(done: Result) -> dict[str, str]:
    """The mark before each step."""
    lines = [line.split(" ", 1) for line in done.output.splitlines() if line[:2] in MARKS]
    return {title: mark for mark, title in lines}


MARKS = ("✓ ", "✗ ", "? ")


def test_a_run_without_a_reference_is_told_at_the_end(tmp_path: Path, no_litert: None) -> None:
    done = invoked(*RUN)
    assert done.exit_code == 0, done.output
    assert done.output.splitlines()[-2:] == [
        "not compared: 1 of 1 run",
        f"    HAL AIDL-4: {MISSING}",
    ]
    [mark] = [mark for title, mark in marks(done).items() if title.startswith("Running on")]
    assert mark == "?"
    assert re.search(r"\? Running on .*: not compared \(", done.output)
    assert said(tmp_path, *RUN)["not_compared"] == [{"what": "HAL AIDL-4", "reason": MISSING}]
    assert invoked(*RUN, REQUIRED).exit_code == 1


def test_a_bench_without_a_reference_is_told_at_the_end(tmp_path: Path, no_litert: None) -> None:
    done = invoked(*BENCH)
    assert done.exit_code == 0, done.output
    what = "small_classifier float32, 1 thread"
    ending = f"not compared: 1 of 1 result\n    {what}: {MISSING}\n"
    assert ending in done.output
    unsure = [title for title, mark in marks(done).items() if mark == "?"]
    assert len(unsure) == 2
    assert "the reference's outputs: LiteRT is not installed" in unsure[0]
    assert "preparing and checking: not compared" in unsure[1]
    document = said(tmp_path, *BENCH)
    assert document["not_compared"] == [{"what": what, "reason": MISSING}]
    assert document["ok"], "it did not fail, and an option decides what that is worth"
    assert ending in invoked("bench", "show", str(tmp_path / "said.json")).output
    assert invoked(*BENCH, REQUIRED).exit_code == 1


def test_both_sides_of_two_count(tmp_path: Path, no_litert: None) -> None:
    assert len(said(tmp_path, *PAIR)["not_compared"]) == 2
    assert invoked(*PAIR, REQUIRED).exit_code == 1


@pytest.mark.parametrize("words", [RUN, BENCH, COMPARE], ids=lambda words: words[0])
def test_what_is_compared_is_good_with_the_option(tmp_path: Path, words: list[str]) -> None:
    pytest.importorskip("ai_edge_litert")
    done = invoked(*words, REQUIRED)
    assert done.exit_code == 0, done.output
    assert "not compared" not in done.output
    assert "?" not in marks(done).values()
    assert said(tmp_path, *words)["not_compared"] == []


def nothing(folder: Path) -> str:
    """The root of what is less than zero: no number, on either side."""
    g = Graph()
    x = g.op("Neg", g.op("Add", g.op("Abs", g.input("x", (2, 3))), g.constant(1)))
    path = folder / "nothing.onnx"
    path.write_bytes(g.model(g.op("Sqrt", x), x).SerializeToString())
    return str(path)


@pytest.mark.parametrize("words", [["run"], BENCH[:1]], ids=lambda words: words[0])
def test_an_output_without_numbers_is_not_compared(tmp_path: Path, words: list[str]) -> None:
    words = [*words, nothing(tmp_path)]
    if words[0] == "bench":
        words += ["--threads", "1", "--runs", "2", "--peers", "onnxruntime"]
    done = invoked(*words)
    assert done.exit_code == 0, done.output
    [each] = said(tmp_path, *words)["not_compared"]
    assert each["reason"] == ("Sqrt_5: all of 6 are NaN on both sides: nothing is compared")
    assert "not compared: 1 of 1" in done.output
    assert invoked(*words, REQUIRED).exit_code == 1


def test_what_failed_is_not_counted_as_not_compared(tmp_path: Path, no_litert: None) -> None:
    words = [*RUN, "--backends", "GpuAcc"]
    document = said(tmp_path, *words)
    assert not document["ok"]
    assert document["not_compared"] == []
    assert "\nnot compared:" not in invoked(*words).output


def test_layers_that_are_not_compared_are_told(tmp_path: Path) -> None:
    """Of the operations that a Selu becomes one alone gives what the file has a name for."""
    g = Graph()
    x = g.op("Selu", g.input("x", (2, 3)))
    path = tmp_path / "selu.onnx"
    path.write_bytes(g.model(g.op("Neg", x)).SerializeToString())
    words = ["compare", "onnxruntime", "CpuAcc", str(path), "--layers"]
    document = said(tmp_path, *words)
    layers = document["layers"]["layers"]
    unknown = [each for each in layers if each["verdict"] == "not compared"]
    assert 0 < len(unknown) < len(layers)
    assert document["not_compared"] == [
        {"what": each["label"], "reason": "the file has no such tensor"} for each in unknown
    ]
    done = invoked(*words)
    assert done.exit_code == 0, done.output
    assert f"not compared: {len(unknown)} of {1 + len(layers)} comparisons\n" in done.output
    assert done.output.splitlines()[-1] == (
        f"no layer diverges; {len(unknown)} of {len(layers)} layers were not compared"
    )
    assert invoked(*words, REQUIRED).exit_code == 1
    assert invoked(*words[:-1], REQUIRED).exit_code == 0, "of the outputs there is a word"


def test_a_side_that_gave_nothing_is_a_problem_and_not_compared(tmp_path: Path) -> None:
    words = ["compare", "CpuRef", "GpuAcc", *SMALL]
    document = said(tmp_path, *words)
    [each] = document["not_compared"]
    assert each["what"] == "seed 0"
    assert each["reason"].startswith("GpuAcc gave nothing: ")
    assert invoked(*words).exit_code == 1


@pytest.mark.parametrize(
    "words", [["run"], ["bench", "run"], ["bench", "pair"], ["compare"]], ids=" ".join
)
def test_the_option_is_in_the_help(words: list[str]) -> None:
    text = " ".join(invoked(*words, "--help").output.split())
    assert "--require-reference Exit with 1 where something was not compared" in text


def test_an_output_of_which_the_reference_says_nothing_is_not_compared(tmp_path: Path) -> None:
    """A sine of sums whose last bit is many turns."""
    g = Graph(3)
    sums = g.op("MatMul", g.input("x", (4, 256)), g.weights(256, 32))
    path = tmp_path / "bits.onnx"
    y = g.op("Sin", g.op("Mul", sums, g.constant(1e9)))
    path.write_bytes(g.model(y).SerializeToString())
    run = ["run", str(path), "--device", "host", "--repeat", "1"]
    bench = ["bench", str(path), "--threads", "1", "--runs", "2", "--peers", "litert"]
    compare = ["compare", "onnxruntime", "CpuAcc", str(path)]
    for words, total in ((run, "run"), (bench, "result"), (compare, "comparison")):
        done = invoked(*words)
        assert done.exit_code == 0, done.output
        assert f"not compared: 1 of 1 {total}" in done.output
        assert re.search("says nothing: .* with its inputs an ulp away is", done.output)
        assert invoked(*words, REQUIRED).exit_code == 1
