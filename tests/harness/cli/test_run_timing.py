# SPDX-License-Identifier: Apache-2.0
"""The times that halyard run tells: warm-up apart, executions for a time, lines for scripts."""

import csv
import json
import time
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from click.testing import CliRunner

from halyard import records
from halyard.bench import timed
from halyard.benchmark_model import FileModel
from halyard.cli import run as cli_run
from halyard.cli.program import cli
from halyard.devices import conditions
from halyard.devices.conditions import UNKNOWN
from halyard.engines.served import EngineDied
from halyard.errors import ConfigError
from halyard.measurement import sustained
from halyard.measurement.timing_options import TimingOptions
from halyard.model import RunnableModel
from halyard.model.partitioned import PartitionedModel
from halyard.records.conditions import Zone
from halyard.records.run import Run

SMALL = ("run", "--model", "small_classifier", "--size", "16", "--width", "0.35", "--threads", "1")


def ran(tmp_path: Path, *words: str) -> tuple[dict[str, Any], str]:
    """The JSON, and what was printed."""
    path = tmp_path / "run.json"
    done = CliRunner().invoke(cli, [*SMALL, *words, "--json", str(path)])
    assert done.exit_code == 0, done.output
    return json.loads(path.read_text()), done.output


def test_executions_before_those_that_count_stand_apart(tmp_path: Path) -> None:
    content, printed = ran(tmp_path, "--repeat", "7", "--warmup", "3")
    assert (content["warmup_ms"]["count"], content["timings_ms"]["count"]) == (3, 7)
    assert len(content["samples_ms"]) == 7
    assert content["samples_ms"][0] == content["timings_ms"]["first"]
    first = int(content["warmup_ms"]["first"] * 1000)
    assert f"First inference: {first}" in printed or f"First inference: {first + 1}" in printed
    assert "the median is within " in printed


def test_without_a_warm_up_the_first_execution_counts(tmp_path: Path) -> None:
    content, printed = ran(tmp_path, "--num-runs", "2", "--warmup", "0")
    assert content["warmup_ms"] is None
    assert content["timings_ms"]["count"] == 2
    assert "count=1 curr=" in printed
    assert "the median is within " not in printed


def test_executions_go_on_for_as_long_as_is_asked(tmp_path: Path) -> None:
    content, _ = ran(tmp_path, "--repeat", "2", "--min-secs", "0.2", "--warmup-secs", "0.1")
    for name, least in (("timings_ms", 190), ("warmup_ms", 90)):
        timings = content[name]
        assert timings["count"] * timings["max"] >= least
        assert timings["count"] > 2


def test_executions_end_when_their_time_is_over(tmp_path: Path) -> None:
    content, _ = ran(tmp_path, "--repeat", "100000", "--max-secs", "0.05")
    assert 1 <= content["timings_ms"]["count"] < 100_000


def test_a_run_is_a_row_of_csv(tmp_path: Path) -> None:
    table = tmp_path / "run.csv"
    content, _ = ran(tmp_path, "--repeat", "7", "--csv", str(table))
    with table.open(newline="") as file:
        [row] = csv.DictReader(file)
    assert (row["model"], row["type"], row["width"]) == ("small_classifier", "float32", "0.35")
    assert (row["engine"], row["target"], row["runs"]) == ("halyard", "in-process", "7")
    assert float(row["median_ms"]) == content["timings_ms"]["median"]
    assert float(row["first_ms"]) == content["warmup_ms"]["first"]
    assert (row["failed"], row["reason"]) == ("False", "")


def slowed(content: dict[str, Any], factor: float) -> dict[str, Any]:
    """As if each execution had taken so many times as long."""
    return {**content, "samples_ms": [factor * value for value in content["samples_ms"]]}


@pytest.mark.parametrize(("factor", "code"), [(0.01, 1), (100.0, 0)])
def test_a_run_is_compared_with_an_earlier_one(tmp_path: Path, factor: float, code: int) -> None:
    content, _ = ran(tmp_path, "--repeat", "60")
    before = tmp_path / "before.json"
    before.write_text(json.dumps(slowed(content, factor)))
    done = CliRunner().invoke(
        cli, [*SMALL, "--repeat", "60", "--baseline", str(before), "--fail-above", "5%"]
    )
    assert done.exit_code == code, done.output
    assert ("PROBLEM" in done.output) == (code == 1)
    assert "small_classifier float32 16 width 0.35, HAL " in done.output


def test_two_runs_are_compared_by_blocks_of_executions(tmp_path: Path) -> None:
    content, _ = ran(tmp_path, "--repeat", "60")
    [run] = records.decode(json.dumps(content).encode(), Run)
    assert [len(block) for block in timed._blocks(run.samples_ms)] == [6] * 10
    assert [len(block) for block in timed._blocks(run.samples_ms[:19])] == [19]
    assert timed._blocks([]) == []


def test_what_the_device_does_not_tell_is_said(tmp_path: Path) -> None:
    content, _ = ran(tmp_path, "--repeat", "1")
    found = content["conditions"]
    assert found["allowed_cpus"]
    assert (found["temperature_c"] is None) == any(
        "temperatures" in words for words in found["missing"]
    )


# ---- heat and load ------------------------------------------------------------------------------


def test_a_run_under_load_tells_what_becomes_of_its_pace(tmp_path: Path) -> None:
    table = tmp_path / "run.csv"
    content, printed = ran(tmp_path, "--repeat", "2", "--sustained", "0.2", "--csv", str(table))
    assert len(content["sustained"]["windows"]) == 10
    assert content["timings_ms"]["count"] == 2
    assert "the first window's pace over the last one's" in printed
    with table.open(newline="") as file:
        [row] = csv.DictReader(file)
    assert float(row["slowdown"]) == content["sustained"]["slowdown"]


def test_a_load_that_fails_fails_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(*_: object) -> None:
        raise EngineDied("out of breath")

    monkeypatch.setattr(sustained, "load", load)
    done = CliRunner().invoke(cli, [*SMALL, "--sustained", "1"])
    assert done.exit_code == 1
    assert "PROBLEM    out of breath" in done.output


def test_a_run_waits_until_the_device_is_cool_and_pauses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hot = msgspec.structs.replace(
        UNKNOWN, temperature_c=41.5, zones=[Zone(name="cpu", celsius=41.5)], missing=[]
    )
    monkeypatch.setattr(conditions, "read", lambda device: hot)
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    path = tmp_path / "run.json"
    words = ["--hal", "1.0..1.2", "--max-temperature", "40", "--cool-secs", "0"]
    done = CliRunner().invoke(cli, [*SMALL, *words, "--cool-down", "77", "--json", str(path)])
    assert done.exit_code == 0, done.output
    assert pauses.count(77) == 2, "not before the first"
    runs = json.loads(path.read_text())
    assert len(runs) == 3
    for each in runs:
        assert each["waited"]["reason"].endswith("it was measured all the same")
    assert "it has 41.5 °C, more than 40 °C" in done.output
    assert "temperature  41.5 °C (cpu)" in done.output


def test_in_what_state_the_device_is_stands_before_its_times(tmp_path: Path) -> None:
    _, printed = ran(tmp_path, "--repeat", "1")
    assert printed.index("affinity     cores ") < printed.index("time       median ")


def test_parts_are_executed_by_number_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = PartitionedModel.__new__(PartitionedModel)
    monkeypatch.setattr(FileModel, "runnable", cast("RunnableModel", parts))
    benchmark_model = FileModel(Path("model.onnx"))
    cli_run._check_seconds(benchmark_model, TimingOptions(10))
    for timing in (
        TimingOptions(1, warmup_s=2),
        TimingOptions(1, least_s=2),
        TimingOptions(1, most_s=2),
    ):
        with pytest.raises(ConfigError, match=r"model\.onnx runs in parts"):
            cli_run._check_seconds(benchmark_model, timing)
    with pytest.raises(ConfigError, match=r"or --sustained$"):
        cli_run._check_seconds(benchmark_model, TimingOptions(1, sustained_s=5.0))
