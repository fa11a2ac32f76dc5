# SPDX-License-Identifier: Apache-2.0
"""A benchmark's output for other programs: CSV, lines of TFLite's benchmark_model, samples."""

import csv
import io
import json

import msgspec
import pytest
from rich.console import Console

from halyard import records
from halyard.bench import csv_file
from halyard.bench.results import EngineResult
from halyard.bench.table import print_model
from halyard.measurement import tflite_lines
from halyard.records.bench import Bench
from halyard.records.run import Model
from halyard.terminal.console import Terminal
from tests.harness.bench_documents import PEAK, document, engine, result


def test_the_lines_are_those_of_benchmark_model() -> None:
    warmup, counted, timings = tflite_lines.lines(
        119.515, 87.112, [51.629, 35.701], [52.162, 49.785, 51.0]
    )
    assert warmup == (
        "count=3 first=87112 curr=35701 min=35701 max=87112 avg=58147.3 std=21488 "
        "p5=35701 median=51629 p95=87112"
    )
    assert counted.startswith("count=3 first=52162 curr=51000 min=49785 max=52162 avg=50982.3 ")
    assert timings == (
        "Inference timings in us: Init: 119515, First inference: 87112, "
        "Warmup (avg): 58147.3, Inference (avg): 50982.3"
    )


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ([], "count=0"),
        ([7.0], "count=1 curr=7"),
        ([7.0, 7.4], "count=2 curr=7(all same)"),
    ],
)
def test_values_that_are_the_same_have_a_line_of_their_own(values: list[float], line: str) -> None:
    assert tflite_lines.count_line(values) == line


def test_they_are_printed_for_ours() -> None:
    out = io.StringIO()
    print_model(
        Terminal(Console(file=out, width=1000)),
        result(engine([[3.0, 5.0]]), engine([[1.0]], "litert")),
        PEAK,
    )
    lines = out.getvalue().splitlines()
    assert sum(line.startswith("count=") for line in lines) == 2
    assert (
        "count=2 first=3000 curr=5000 min=3000 max=5000 avg=4000 std=1000 p5=3000 median=3000 "
        "p95=5000"
    ) in lines
    assert (
        "Inference timings in us: Init: 2000, First inference: 9000, Warmup (avg): 7666.67, "
        "Inference (avg): 4000"
    ) in lines


def test_a_row_of_the_csv_has_what_an_engine_took() -> None:
    text = csv_file.text(document(result(engine([[3.0, 5.0]]), engine([[1.0]], "litert"))))
    ours, peer = csv.DictReader(io.StringIO(text))
    assert (ours["model"], ours["type"], ours["width"]) == ("small_classifier", "float32", "0.5")
    assert (ours["engine"], peer["engine"]) == ("halyard", "litert")
    assert (ours["runs"], ours["median_ms"], ours["warmup_ms"]) == ("2", "4.0", "7.0")
    assert (ours["prepare_ms"], ours["first_ms"], ours["backends"]) == ("2.0", "9.0", "CpuAcc")
    assert float(ours["p90_ms"]) == pytest.approx(4.8)
    assert ours["temperature_c"] == ours["slowdown"] == ours["median_low_ms"] == ""
    assert tuple(ours) == csv_file.COLUMNS


def test_an_engine_that_failed_has_its_reason_in_the_csv() -> None:
    failed = EngineResult("halyard", "Halyard")
    failed.fail("out, of luck")
    [row] = csv.DictReader(io.StringIO(csv_file.text(document(result(failed)))))
    assert (row["failed"], row["reason"], row["median_ms"]) == ("True", "out, of luck", "")


def test_an_engine_that_is_disputed_has_times_and_what_is_said_of_it_in_the_csv() -> None:
    disputed = engine([[3.0, 5.0]])
    disputed.disputed = "disagrees with LiteRT"
    [row] = csv.DictReader(io.StringIO(csv_file.text(document(result(disputed)))))
    assert (row["failed"], row["disputed"]) == ("False", "disagrees with LiteRT")
    assert row["median_ms"] == "4.0"


def test_the_json_keeps_executions_by_rounds() -> None:
    written = records.encode(document(result(engine([[3.0, 5.0], [4.0]]))))
    [read] = records.decode(written, Bench)
    ours = read.results[0].engines["halyard"]
    assert ours.rounds_ms == [[3.0, 5.0], [4.0]]
    assert ours.timings_ms is not None
    assert (ours.timings_ms.count, ours.timings_ms.median) == (3, 4.0)
    assert ours.warmup_ms is not None
    assert ours.warmup_ms.avg == 7.0
    assert json.loads(written)["results"][0]["benchmark_model"]["width"] == 0.5


def test_the_json_keeps_some_of_very_many_executions() -> None:
    rounds = [[float(1 + number % 7) for number in range(30_000)] for _ in range(10)]
    kept = document(result(engine(rounds))).results[0].engines["halyard"]
    assert kept.timings_ms is not None
    assert kept.timings_ms.count == 300_000
    assert [len(each) for each in kept.rounds_ms] == [1000] * 10


def test_what_has_failed_keeps_no_round() -> None:
    made = engine([[1.0], [2.0]])
    made.fail("later")
    assert (made.times_ms, made.rounds_ms) == ([], [])


def test_what_a_file_does_not_say_is_an_empty_cell_and_zero_is_zero() -> None:
    model = Model(name="model", file="model.tflite", seed=0)
    written = document(result(engine([[3.0]])))
    [only] = written.results
    only = msgspec.structs.replace(only, benchmark_model=model, size=0)
    text = csv_file.text(msgspec.structs.replace(written, results=[only]))
    [row] = csv.DictReader(io.StringIO(text))
    assert (row["width"], row["size"], row["failed"]) == ("", "0", "False")
